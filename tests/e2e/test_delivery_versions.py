"""Each proved version of Claude Code delivers each form of a part: tools in full or by name, skills whole or cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.scenario import FixtureSource
from scylla_gha.prepare.tools import cache_root
from tests.support.claude_versions import NEWEST, VERSIONS
from tests.support.command import Said, scylla
from tests.support.git import shell
from tests.support.materials import SERVER
from tests.support.provider import Body, Say, serve, tool_results
from tests.support.repository import environment, make_repository, write_greet_experiment, write_tree

TIER = """\
id: T1
name: Forms
focus: Forms of delivery
hypothesis: Definitions of tools and descriptions of skills stand in each request
assumes: [skill_descriptions, tool_definitions]
sub_tests:
  - {id: 01-full, description: All tools in full, treatment: {mcp_servers: [clock],
     settings: {env: {ENABLE_TOOL_SEARCH: "false"}}}}
  - {id: 02-named, description: Tools by name, treatment: {mcp_servers: [clock],
     settings: {env: {ENABLE_TOOL_SEARCH: "true"}}}}
  - {id: 03-hundred, description: A hundred skills, treatment: {skills: [HUNDRED],
     settings: {env: {ENABLE_TOOL_SEARCH: "false"}}}}
  - {id: 04-long, description: A skill whose description is cut, treatment: {skills: [long]}}
  - {id: 05-raised, description: The same within a higher limit, treatment: {skills: [long],
     settings: {skillListingMaxDescChars: 4000, env: {ENABLE_TOOL_SEARCH: "false"}}}}
"""
OWN_SETTINGS = """\
id: T2
name: Settings
focus: Settings in the front matter of a skill
sub_tests:
  - {id: 01-manual, description: Only the user calls it, treatment: {skills: [manual]}}
  - {id: 02-quiet, description: Only the model calls it, treatment: {skills: [quiet]}}
  - {id: 03-later, description: Listed when a file matches, treatment: {skills: [later]}}
  - {id: 04-all, description: All of them, treatment: {skills: [manual, quiet, later]}}
  - {id: 05-limit, description: A hundred skills, treatment: {skills: [HUNDRED], skill_listing: default}}
"""
HUNDRED = tuple(f"many-{number}" for number in range(100))
FILES = {
    "config/tiers/T1.yaml": TIER.replace("HUNDRED", ", ".join(HUNDRED)),
    "config/mcp/clock/server.yaml": "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n",
    "config/mcp/clock/clock.py": SERVER,
    "config/skills/long/SKILL.md": f"---\nname: long\ndescription: {'Long. ' * 400}\n---\nDo.\n",
    **{f"config/skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: {'Many. ' * 150}\n---\nDo.\n"
       for name in HUNDRED},
}  # fmt: skip
CANARY = "sk-ant-canary-0123456789"


def skill(name: str, front: str) -> str:
    return f"---\nname: {name}\ndescription: About {name}\n{front}---\nDo.\n"


SETTINGS = {
    "config/tiers/T2.yaml": OWN_SETTINGS.replace("HUNDRED", ", ".join(HUNDRED)),
    "config/skills/manual/SKILL.md": skill("manual", "disable-model-invocation: true\n"),
    "config/skills/quiet/SKILL.md": skill("quiet", "user-invocable: false\n"),
    "config/skills/later/SKILL.md": skill("later", "paths: ['*.zig']\n"),
    "config/skills/later/evals/evals.json": '{"evals": [{"prompt": "x", "expected_output": "CANARY-OF-EVALS"}]}',
}


def measured(root: Path, *args: str) -> tuple[Said, dict[str, Any]]:
    """Measure sub-tests on the host; what the command printed, and its rows by name."""
    said = scylla("tiers", "measure", *args, "--sandbox", "host", "--json", cwd=root,
                  env=environment(root, SCYLLA_CACHE=str(cache_root())))  # fmt: skip
    return said, {row["id"]: row for row in json.loads(said.out)}


@pytest.mark.parametrize("version", VERSIONS)
def test_forms_are_told_apart_and_a_cut_description_is_refused(tmp_path: Path, version: str) -> None:
    write_tree(tmp_path, FILES)
    names = ("T1/01-full", "T1/02-named", "T1/03-hundred", "T1/04-long", "T1/05-raised")
    said, rows = measured(tmp_path, *names, "--agent", f"claude-code@{version}")
    assert [name for name, row in rows.items() if not row["proved"]] == ["T1/04-long"]
    assert (rows["T1/01-full"]["deferred_tools"], rows["T1/03-hundred"]["short_skills"]) == (0, 0)
    assert rows["T1/03-hundred"]["characters"]["skills"] > 100 * 900
    assert rows["T1/02-named"]["tools"] < rows["T1/01-full"]["tools"] - rows["T1/02-named"]["deferred_tools"] + 3
    assert rows["T1/02-named"]["characters"]["mcp"] < 20 < rows["T1/01-full"]["characters"]["mcp"]
    faults = said.err.partition("delivery is not proved:\n")[2]
    assert "T1/04-long: missing: description of skill long (first request: not all of its 2,399 char" in faults
    assert "T1/04-long: contradicts the hypothesis of T1 (skill_descriptions): 1 skill without a whole desc" in faults
    assert "T1/02-named: contradicts the hypothesis of T1 (tool_definitions): " in faults
    assert "T1/01-full" not in faults
    assert said.code == 7


@pytest.mark.parametrize("is_plugin", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_skills_are_proved_as_their_front_matter_says(tmp_path: Path, version: str, is_plugin: bool) -> None:
    write_tree(tmp_path, {**FILES, **SETTINGS})
    if is_plugin:
        write_tree(tmp_path, {".claude-plugin/plugin.json": '{"name": "books"}'})
    said, rows = measured(tmp_path, "T2/*", "--agent", f"claude-code@{version}")
    assert {name: row["proved"] for name, row in rows.items()} == dict.fromkeys(sorted(rows), True), said.err
    late = {name for name, row in rows.items() if any("no session list it" in fact for fact in row["unverified"])}
    assert late == (set() if is_plugin else {"T2/03-later", "T2/04-all"})
    assert rows["T2/05-limit"]["short_skills"] > 50
    assert said.code == 0


def looking(body: Body) -> Say:
    """An agent that reads whatever of skills it finds in its HOME and workspace."""
    text = "cd; find . -name SKILL.md; grep -r CANARY-[O]F-EVALS . && echo found || echo none"
    return (
        Say("Done.")
        if any(message["role"] == "assistant" for message in body["messages"])
        else Say("I look.", "Bash", {"command": text})
    )


def test_expected_answers_of_a_skill_are_out_of_reach(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo").root
    write_tree(repo, {**FILES, **SETTINGS})
    write_greet_experiment(
        repo,
        agents=(f"claude-code@{NEWEST}",),
        variants=("T2/03-later",),
        models=("claude-sonnet-5",),
        baseline="t2-03-later.claude-code.claude-sonnet-5",
        sandbox="bubblewrap",
    )
    with serve(looking) as provider:
        env = environment(tmp_path, ANTHROPIC_API_KEY=CANARY, ANTHROPIC_BASE_URL=provider.url)
        said = scylla("evaluate", "greet", "--yes", "--json", cwd=repo, env={**env, "SCYLLA_CACHE": str(cache_root())})
    (path,) = repo.glob("runs/greet/*/trial.json")
    (attempt,) = json.loads(path.read_text())["attempts"]
    assert attempt["outcome"] == "completed", (attempt["reason"], said.err)
    (text,) = tool_results(provider.requests[-1])
    assert "./.claude/skills/later/SKILL.md" in text
    assert "none" in text.splitlines()


START = (
    "printf 'echo hi\\n' >greet.sh; git init -q; git add .; git commit -qm x; git bundle create -q ../start.bundle main"
)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_prompt_with_an_unknown_command_is_refused_or_ends_with_the_clis_words(tmp_path: Path, version: str) -> None:
    """Planning refuses it if it knows the start state; else the trial says what the CLI did with it."""
    repo = make_repository(tmp_path / "repo", beside={"prompt.md": "/nosuch do it\n"}).root
    arm = {
        "agents": (f"claude-code@{version}",),
        "variants": ("T0/01-vanilla",),
        "models": ("claude-sonnet-5",),
        "baseline": "t0-01-vanilla.claude-code.claude-sonnet-5",
        "sandbox": "bubblewrap",
    }
    write_greet_experiment(repo, **arm)
    with serve(lambda _: Say("Done.")) as provider:
        env = environment(tmp_path, ANTHROPIC_API_KEY=CANARY, ANTHROPIC_BASE_URL=provider.url)
        env |= {"SCYLLA_CACHE": str(cache_root())}
        said = scylla("evaluate", "greet", "--yes", "--json", cwd=repo, env=env)
        assert (said.code, provider.requests) == (3, []), said.err
        assert "scenario 101-greet: its prompt begins with /nosuch, which is no command of t0-01-vanilla." in said.err
        (tmp_path / "repo/start").mkdir()
        commit = shell(tmp_path / "repo/start", f"{START}; git rev-parse HEAD")
        source = FixtureSource(repo="./start.bundle", hash=commit)
        make_repository(repo, beside={"prompt.md": "/nosuch do it\n"}, source=source)
        write_greet_experiment(repo, **arm)
        said = scylla("evaluate", "greet", "--yes", "--json", cwd=repo, env=env)
    (path,) = repo.glob("runs/greet/*/trial.json")
    (attempt,) = json.loads(path.read_text())["attempts"]
    if provider.requests:  # 2.1.332 takes it as text
        assert attempt["outcome"] == "completed", attempt["reason"]
        return
    assert attempt["outcome"] == "fixture_error", (attempt["reason"], said.err)
    assert "begins with /nosuch, and the CLI ended without a request to the model (Unknown command" in attempt["reason"]


def test_a_version_without_an_inventory_is_proved_and_says_what_is_unverified(tmp_path: Path) -> None:
    version = ".".join((*NEWEST.split(".")[:2], str(int(NEWEST.split(".")[2]) - 1)))
    said, rows = measured(tmp_path, "T0/01-vanilla", "--agent", f"claude-code@{version}")
    (row,) = rows.values()
    assert (said.code, row["proved"]) == (0, True), said.err
    assert [fact.partition(":")[0] for fact in row["unverified"]] == ["what the CLI brings by itself"]


def searching(body: Body) -> Say:
    """An agent that loads the definition of the server's tool, and then calls it."""
    turn = sum(1 for message in body["messages"] if message["role"] == "assistant")
    search = Say("I search.", "ToolSearch", {"query": "select:mcp__clock__now"})
    return (search, Say("I ask.", "mcp__clock__now"), Say("Done."))[min(turn, 2)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_definition_that_is_loaded_later_is_seen_in_a_later_request(tmp_path: Path, version: str) -> None:
    repo = make_repository(tmp_path / "repo").root
    write_tree(repo, FILES)
    write_greet_experiment(repo, agents=(f"claude-code@{version}",), variants=("T1/02-named",),
                           models=("claude-sonnet-5",), baseline="t1-02-named.claude-code.claude-sonnet-5",
                           sandbox="bubblewrap")  # fmt: skip
    with serve(searching) as provider:
        env = environment(tmp_path, ANTHROPIC_API_KEY=CANARY, ANTHROPIC_BASE_URL=provider.url)
        env |= {"SCYLLA_CACHE": str(cache_root())}
        said = scylla("evaluate", "greet", "--yes", "--json", cwd=repo, env=env)
    (path,) = repo.glob("runs/greet/*/trial.json")
    (attempt,) = json.loads(path.read_text())["attempts"]
    assert attempt["outcome"] == "completed", (attempt["reason"], said.err)
    delivery = attempt["delivery"]
    assert (delivery["proved"], delivery["loaded_tools"]) == (True, ["mcp__clock__now"])
    assert "mcp__clock__now" in delivery["deferred_tools"]
    cell = path.parent.name
    text = scylla("show", cell, cwd=repo, env=env).out
    assert "proved; " in text
    assert "by name only (mcp__clock__now loaded later)" in text
