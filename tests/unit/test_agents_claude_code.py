import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import AgentCommand, AgentTask, ModelAccess
from scylla_gha.config.materials import materials, read_agent
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Outcome
from scylla_gha.model.variant import AgentResources, McpServer, SubAgent, SystemPrompt, Treatment, Variant
from scylla_gha.variants import agent_resources
from tests.support.claude import DATA, ended_with
from tests.support.materials import ALL, FILES
from tests.support.repository import write_tree

ACCESS = ModelAccess(url="http://127.0.0.1:1", token="sk-scylla-of-this-trial")
OF_THE_HARNESS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL",
                  "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SCYLLA_CANARY")  # fmt: skip
UNDELIVERED = (
    "__pycache__/x.pyc",
    "evals/evals.json",
    "evals.json",
    "tests/t.py",
    "Testing/t.py",
    "results/r.json",
    "greeting-workspace/iteration-1/grading.json",
    ".git/objects/a",
)
ALWAYS = ["--print", "--verbose", "--output-format", "stream-json",
          "--permission-mode", "bypassPermissions", "--strict-mcp-config"]  # fmt: skip


def command(
    home: Path,
    treatment: Treatment = Treatment(),
    model: str | None = None,
    access: ModelAccess | None = None,
    resources: AgentResources = AgentResources(),
    **limits: Any,
) -> AgentCommand:
    given = TrialLimits.model_validate({"safety_net": False, **limits})
    task = AgentTask(
        prompt="Do it.",
        home=home,
        patch=home,
        limits=given,
        access=access,
        model=model,
        treatment=treatment,
        resources=resources,
    )
    return AGENTS["claude-code"].command(task, "/bin/claude")


@pytest.mark.parametrize(
    ("treatment", "flags"),
    [
        pytest.param({}, [], id="nothing named: the CLI's own defaults"),
        pytest.param({"setting_sources": ()}, ["--setting-sources", ""], id="no settings files"),
        pytest.param({"setting_sources": ("user", "project")}, ["--setting-sources", "user,project"], id="two of them"),
        pytest.param({"tools": ()}, ["--tools", ""], id="no tools"),
        pytest.param({"tools": ("Bash", "Edit")}, ["--tools", "Bash,Edit"], id="two tools"),
        pytest.param({"settings": {"a": ["x", None]}}, ["--settings", '{"a": ["x", null]}'], id="settings as JSON"),
    ],
)  # fmt: skip
def test_a_treatment_is_flags(tmp_path: Path, treatment: dict[str, Any], flags: list[str]) -> None:
    made = command(tmp_path, Treatment(**treatment))
    assert made.argv == ("/bin/claude", *ALWAYS, *flags)


@pytest.mark.parametrize(
    ("prompt", "flag", "text"),
    [
        (SystemPrompt(replace=""), "--system-prompt-file", ""),
        (SystemPrompt(append="Be brief."), "--append-system-prompt-file", "Be brief."),
        (SystemPrompt(append="word " * 100_000), "--append-system-prompt-file", "word " * 100_000),
    ],
    ids=["empty", "appended", "longer than a flag may be"],
)
def test_a_system_prompt_is_a_file(tmp_path: Path, prompt: SystemPrompt, flag: str, text: str) -> None:
    argv = command(tmp_path, Treatment(system_prompt=prompt)).argv
    assert argv == ("/bin/claude", *ALWAYS, flag, str(tmp_path / "system-prompt.md"))
    assert Path(argv[-1]).read_text() == text


def test_sub_agents_are_files_unless_no_file_of_the_user_is_read(tmp_path: Path) -> None:
    agent = SubAgent(name="reader", description='Reads: "all"', tools=("Read", "Grep"), prompt="You read.")
    resources = AgentResources(agents={"reader": agent})
    assert command(tmp_path, resources=resources).argv == ("/bin/claude", *ALWAYS)
    assert read_agent(tmp_path / ".claude" / "agents" / "reader.md") == agent
    bare = command(tmp_path, Treatment(setting_sources=()), resources=resources).argv
    assert bare[-4:-1] == ("--setting-sources", "", "--agents")
    assert json.loads(bare[-1]) == {
        "reader": {"description": 'Reads: "all"', "tools": ["Read", "Grep"], "prompt": "You read."}
    }


def test_a_flag_that_linux_would_refuse_is_refused_with_what_to_do(tmp_path: Path) -> None:
    agent = SubAgent(name="reader", description="Reads", prompt="word " * 30_000)
    with pytest.raises(ToolError, match="add `user` to setting_sources, so that sub-agents are files"):
        command(tmp_path, Treatment(setting_sources=()), resources=AgentResources(agents={"reader": agent}))


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({"model": "m"}, ["--model", "m"]),
        ({"turns": 7}, ["--max-turns", "7"]),
        ({"usd": 0.5}, []),  # the gateway keeps it: the CLI counts with prices of its own
    ],
)
def test_model_and_limits_are_flags(tmp_path: Path, given: dict[str, Any], flags: list[str]) -> None:
    assert list(command(tmp_path, **given).argv[len(ALWAYS) + 1 :]) == flags


def test_an_outfit_is_laid_into_home_and_named_by_flags(tmp_path: Path) -> None:
    root, home = write_tree(tmp_path / "root", FILES), tmp_path / "home"
    write_tree(root, {f"config/skills/greeting/{name}": b"" for name in UNDELIVERED})
    (root / "config/skills/greeting/examples.json").symlink_to("evals/evals.json")
    home.mkdir()
    variant = Variant(id="T1/00", treatment=ALL, materials=materials(ALL, (root,)))
    argv = command(home, resources=agent_resources(variant, (root,))).argv[len(ALWAYS) + 1 :]
    assert argv == ("--mcp-config", f"{home}/mcp.json")
    assert read_agent(home / ".claude" / "agents" / "reader.md").prompt == "You read."
    servers = json.loads((home / "mcp.json").read_text())
    clock = {"command": "python3", "args": [f"{home}/team/mcp/clock/clock.py"], "env": {}}
    assert servers == {"mcpServers": {"clock": clock}}
    assert files_below(home / "team") == {"mcp/clock/clock.py", "mcp/clock/server.yaml"}
    assert files_below(home / ".claude/skills") == {"greeting/SKILL.md", "greeting/words/hello.txt"}


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("sources", [None, ()])
def test_a_skill_of_a_plugin_is_delivered_as_the_plugin_with_nothing_else(tmp_path: Path, sources: Any) -> None:
    manifest = json.dumps({"name": "books", "version": "3.1.0", "hooks": "./hooks.json", "mcpServers": "./mcp.json"})
    root, home = write_tree(tmp_path / "root", {**FILES, ".claude-plugin/plugin.json": manifest}), tmp_path / "home"
    home.mkdir()
    treatment = Treatment(skills=("greeting",), setting_sources=sources)
    variant = Variant(id="T1/00", treatment=treatment, materials=materials(treatment, (root,)))
    argv = command(home, treatment=treatment, resources=agent_resources(variant, (root,))).argv
    assert argv[-2:] == ("--plugin-dir", f"{home}/plugins/books")
    assert files_below(home / "plugins/books") == {
        ".claude-plugin/plugin.json",
        "skills/greeting/SKILL.md",
        "skills/greeting/words/hello.txt",
    }
    delivered = json.loads((home / "plugins/books/.claude-plugin/plugin.json").read_text())
    assert sorted(delivered) == ["description", "name", "version"]
    (root / ".claude-plugin/plugin.json").write_text(manifest.replace("books", "ledgers"))
    assert materials(treatment, (root,)) != variant.materials, "the name is part of what the agent sees"


@pytest.mark.parametrize("manifest", ['{"name": "../../up"}', "[]", "{", '{"name": 3}'])
def test_a_manifest_without_a_valid_name_is_no_plugin(tmp_path: Path, manifest: str) -> None:
    root = write_tree(tmp_path / "root", {**FILES, ".claude-plugin/plugin.json": manifest})
    variant = Variant(id="T1/00", treatment=ALL, materials=materials(ALL, (root,)))
    assert agent_resources(variant, (root,)).plugins == {}


@pytest.mark.parametrize("sources", [(), ("project",), ("project", "local")])
def test_skills_need_the_users_settings(tmp_path: Path, sources: Any) -> None:
    root = write_tree(tmp_path / "root", FILES)
    with pytest.raises(ConfigError, match=r"setting_sources: leaves out `user`, and .* greeting .*; add `user`, or"):
        materials(Treatment(skills=("greeting",), setting_sources=sources), (root,))
    assert materials(Treatment(skills=("greeting",), setting_sources=("user",)), (root,))


def test_evals_of_a_skill_are_no_part_of_its_digest(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "root", FILES)
    before = materials(ALL, (root,))
    write_tree(root, {f"config/skills/greeting/{name}": b"" for name in UNDELIVERED})
    assert materials(ALL, (root,)) == before
    write_tree(root, {"config/skills/greeting/words/evals/greet.txt": b""})
    assert materials(ALL, (root,)) != before, "only at the top of its folder"


def test_descriptions_are_listed_whole_unless_the_variant_says_otherwise(tmp_path: Path) -> None:
    name = "SLASH_COMMAND_TOOL_CHAR_BUDGET"
    for place, listing, budget in (("a", None, "1000000"), ("b", "whole", "1000000"), ("c", "default", None)):
        (tmp_path / place).mkdir()
        treatment = Treatment.model_validate({"skill_listing": listing})
        assert command(tmp_path / place, treatment=treatment).env.get(name) == budget


@pytest.mark.parametrize(
    ("named", "flags"),
    [({"mcp_servers"}, ["--mcp-config"]), ({"skills"}, []), ({"agents"}, []), (set(), [])],
)
def test_what_is_not_named_is_not_laid_out(tmp_path: Path, named: set[str], flags: list[str]) -> None:
    root, home = write_tree(tmp_path / "root", FILES), tmp_path / "home"
    home.mkdir()
    treatment = Treatment.model_validate(ALL.model_dump(include=named))
    variant = Variant(id="T1/00", treatment=treatment, materials=materials(treatment, (root,)))
    argv = command(home, resources=agent_resources(variant, (root,))).argv[len(ALWAYS) + 1 :]
    assert [arg for arg in argv if arg.startswith("--")] == flags
    assert (home / "mcp.json").exists() is ("mcp_servers" in named)


def test_a_server_finds_its_folder_in_each_argument_and_its_command(tmp_path: Path) -> None:
    server = McpServer(description="x", command="{folder}/run", args=("--at={folder}", "x"), env={"A": "{folder}"})
    command(tmp_path, resources=AgentResources(mcp_servers={"clock": server}))
    folder = f"{tmp_path}/team/mcp/clock"
    assert json.loads((tmp_path / "mcp.json").read_text())["mcpServers"]["clock"] == {
        "command": f"{folder}/run", "args": [f"--at={folder}", "x"], "env": {"A": folder}}  # fmt: skip


def test_a_server_is_told_what_its_folder_is_called_where_the_agent_works(tmp_path: Path) -> None:
    server = McpServer(description="x", command="{folder}/run", args=("--at={folder}",))
    task = AgentTask(
        prompt="",
        home=tmp_path,
        patch=tmp_path,
        limits=TrialLimits(),
        resources=AgentResources(mcp_servers={"clock": server}),
        names={tmp_path: "/home/dev"},
    )
    AGENTS["claude-code"].command(task, "claude")
    made = json.loads((tmp_path / "mcp.json").read_text())["mcpServers"]["clock"]
    assert (made["command"], made["args"]) == ("/home/dev/team/mcp/clock/run", ["--at=/home/dev/team/mcp/clock"])


def test_the_prompt_is_no_argument(tmp_path: Path) -> None:
    assert "Do it." not in command(tmp_path).argv


def test_its_environment_is_the_way_to_the_gateway_and_its_own_switches(tmp_path: Path) -> None:
    made = command(tmp_path, access=ACCESS, api_retries=2)
    assert made.env == {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_API_KEY": "sk-scylla-of-this-trial",
        "CLAUDE_CONFIG_DIR": f"{tmp_path}/.claude",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "SLASH_COMMAND_TOOL_CHAR_BUDGET": "1000000",
    }
    assert (tmp_path / ".claude").is_dir()
    assert ACCESS.token not in made.argv


def test_without_access_it_is_given_no_way_to_a_model(tmp_path: Path) -> None:
    assert {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"}.isdisjoint(command(tmp_path).env)


@pytest.mark.parametrize("access", [ACCESS, None], ids=["with access", "without"])
@pytest.mark.parametrize("name", OF_THE_HARNESS)
def test_nothing_of_the_harnesss_environment_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, access: ModelAccess | None
) -> None:
    before = command(tmp_path, access=access)
    monkeypatch.setenv(name, "http://canary.example")
    made = command(tmp_path, access=access)
    assert "canary" not in repr(made)
    assert made == before


def program(folder: Path, script: str) -> str:
    place = write_tree(folder, {"claude": f"#!/bin/sh\n{script}\n"}) / "claude"
    place.chmod(0o755)
    return str(place)


@pytest.mark.parametrize(
    ("script", "version"),
    [("echo '2.1.197 (Claude Code)'", "2.1.197"), ("echo 2.1.0", "2.1.0"), ("echo '10.0.3-beta'", "10.0.3")],
)
def test_the_version_is_what_it_says(tmp_path: Path, script: str, version: str) -> None:
    assert AGENTS["claude-code"].version(program(tmp_path, script)) == version


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo '2.0.99 (Claude Code)'", r"is version 2\.0\.99, older than 2\.1\.0; update it, or pin a version"),
        ("echo Claudius", r"unknown answer 'Claudius'; is this claude-code\?"),
        ("echo 2.1", r"unknown answer '2\.1'"),
        ("echo broken >&2; exit 1", r"unknown answer 'broken'"),
    ],
)
def test_a_version_that_is_not_understood_is_refused(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        AGENTS["claude-code"].version(program(tmp_path, script))


def test_a_transcript_is_read_and_decided(tmp_path: Path) -> None:
    transcript = tmp_path / "t"
    transcript.write_bytes((DATA / "hang.jsonl").read_bytes())
    (tmp_path / "t.stderr").write_text("killed\n")
    reading = AGENTS["claude-code"].read(ended_with(transcript, 137))
    assert (reading.outcome, reading.turns, reading.version) == (Outcome.AGENT_ERROR, 1, "2.1.197")
    assert reading.reason == "the CLI ended with exit code 137 and no result: killed"
