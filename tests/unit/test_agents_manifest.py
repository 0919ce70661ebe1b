"""An agent CLI that a manifest describes: its start, its transcript, and what it cannot take."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import AgentTask, ModelAccess, ProcessResult
from scylla_gha.agents.manifest import ManifestAgent
from scylla_gha.config import load_named
from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Outcome
from scylla_gha.model.variant import AgentResources, McpServer, SubAgent, SystemPrompt, Treatment, Variant
from scylla_gha.system.process import FinishedProcess
from scylla_gha.variants import prove_delivery
from tests.support.repository import write_tree

MANIFEST = """\
name: acme
package: {npm: "@acme/cli", program: acme, oldest: 1.2.0}
api_styles:
  anthropic-messages: {flags: [--api, messages], env: {BASE: "{gateway}/v1", KEY: "{token}"}}
start:
  flags: [run, --json]
  files: {.acme/settings.json: {json: {updates: false, limits: {turns: "{turns}", list: "{names}"}}}}
model: {flags: [-m, "acme/{model}"]}
turns: {env: {TURNS: "{turns}"}}
prompt: [-p, "{prompt}"]
treatment:
  system_prompt_append: {flags: [--add, "{text_file}"]}
  tools: {flags: [--tools, "{names}"]}
  settings: .acme/settings.json
  agents: {file: ".acme/agents/{name}.md", tools: {Read: view}, front: {name: "{name}", tools: "{tools}"}}
  mcp_servers: {file: .acme/settings.json, key: servers, entry: {run: "{argv}", with: "{env}"}, each: [--mcp, "{name}"]}
  agent_files: [ACME.md]
events:
  - {kind: start, when: {type: init}, version: about.version, model: model, tools: tools}
  - {kind: error, when: {type: text}, matches: {text: "^ERR "}, text: text}
  - {kind: delta, when: {type: text, part: true}, text: text}
  - {kind: message, when: {type: text}, text: text}
  - {kind: call, when: {type: tool}, name: tool, id: id, arguments: input, result: output, failed: error}
  - {kind: chat, when: {role: assistant}}
  - {kind: result, when: {role: tool}, id: tool_call_id, result: content}
  - {kind: blocks, when: {type: blocks}, blocks: content}
  - {kind: end, when: {type: end}, failed: status, text: why, code: kind}
outcomes:
  - {exit: [7], outcome: budget_exceeded}
  - {code: safety, outcome: refused}
  - {stderr: out of steps, outcome: budget_exceeded}
delivery: {tool_of_server: "^mcp_(.+?)_", instructions: "^From: (\\\\S+)$"}
"""


def agent(tmp_path: Path, **changes: str) -> ManifestAgent:
    """The agent of the manifest, with texts replaced."""
    text = MANIFEST
    for old, new in changes.items():
        text = text.replace(old, new)
    write_tree(tmp_path, {"config/agent-clis/acme.yaml": text})
    return ManifestAgent(load_named(tmp_path / "config/agent-clis/acme.yaml", AgentManifest, "name"))


def task(tmp_path: Path, **given: Any) -> AgentTask:
    (tmp_path / "home").mkdir(exist_ok=True)
    fields: dict[str, Any] = {
        "prompt": "Do it.",
        "home": tmp_path / "home",
        "patch": tmp_path / "none",
        "model": "m-1",
        "limits": TrialLimits(turns=9),
        "access": ModelAccess("http://gate", "dummy"),
        "workspace": tmp_path / "w",
    }
    return AgentTask(**{**fields, **given})


def settings(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "home/.acme/settings.json").read_text())


def test_the_start_has_flags_variables_and_files_of_each_part(tmp_path: Path) -> None:
    command = agent(tmp_path).command(task(tmp_path), "/bin/acme")
    assert command.argv == ("/bin/acme", "run", "--json", "--api", "messages", "-m", "acme/m-1", "-p", "Do it.")
    assert command.env == {"BASE": "http://gate/v1", "KEY": "dummy", "TURNS": "9"}
    assert settings(tmp_path) == {"updates": False, "limits": {"turns": 9, "list": "{names}"}}


def test_a_treatment_is_flags_files_and_settings_that_are_merged(tmp_path: Path) -> None:
    server = McpServer(description="x", command="clock", args=("-v",), env={"A": "b"})
    resources = AgentResources(
        mcp_servers={"time": server},
        agents={"reader": SubAgent(name="reader", description="Reads", tools=("Read",), prompt="Read: all.")},
    )
    treatment = Treatment(
        system_prompt=SystemPrompt(append="Take care."), tools=("view", "sh"), settings={"limits": {"usd": 2}, "x": [1]}
    )
    command = agent(tmp_path).command(task(tmp_path, treatment=treatment, resources=resources), "acme")
    home = tmp_path / "home"
    assert command.argv[7:] == (
        "--add",
        f"{home}/system-prompt.md",
        "--tools",
        "view,sh",
        "--mcp",
        "time",
        "-p",
        "Do it.",
    )
    assert (home / "system-prompt.md").read_text() == "Take care."
    assert settings(tmp_path) == {
        "updates": False,
        "limits": {"turns": 9, "list": "{names}", "usd": 2},
        "x": [1],
        "servers": {"time": {"run": ["clock", "-v"], "with": {"A": "b"}}},
    }
    assert (home / ".acme/agents/reader.md").read_text() == '---\nname: "reader"\ntools: ["view"]\n---\nRead: all.\n'


def test_a_prompt_that_is_too_long_for_an_argument_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="an argument of acme would have 131,072 bytes"):
        agent(tmp_path).command(task(tmp_path, prompt="x" * 131_072), "acme")


def test_a_model_of_another_api_is_refused(tmp_path: Path) -> None:
    access = ModelAccess("http://gate", "dummy", "openai-chat")
    with pytest.raises(ConfigError, match="acme cannot use the API openai-chat; it can use anthropic-messages"):
        agent(tmp_path).command(task(tmp_path, access=access), "acme")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("{gateway}/v1", "{gatewy}/v1", r"acme\.yaml:4: .*: unknown placeholder {gatewy}; there are: model, gateway"),
        ('"^ERR "', '"^ERR ("', "is not a regular expression: missing"),
        ('npm: "@acme/cli"', 'npm: "@acme/cli", pypi: acme', "give npm or pypi, not both"),
        ("kind: chat", "kind: chatter", "must be one of 'start'"),
        ('"^mcp_(.+?)_"', '"^mcp_.+?_"', "has no group; put the name to be found into"),
        ("anthropic-messages:", "anthropic:", "'anthropic-messages'"),
        ("agents: {file", "sub_agents: {file", "unknown key"),
    ],
)
def test_a_wrong_manifest_is_refused_with_its_line(tmp_path: Path, old: str, new: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        agent(tmp_path, **{old: new})


def ended(
    tmp_path: Path, lines: list[Any], code: int = 0, stderr: str = "", *, timed_out: bool = False
) -> ProcessResult:
    transcript, errors = tmp_path / "transcript.jsonl", tmp_path / "stderr.txt"
    transcript.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    errors.write_text(stderr)
    return ProcessResult(FinishedProcess(code, 1.0, timed_out=timed_out), 60.0, transcript, errors)


INIT = {"type": "init", "about": {"version": "1.2.3"}, "model": "m-1", "tools": ["sh", {"name": "mcp_time_now"}]}
END = {"type": "end", "status": "success"}


def test_all_forms_of_events_are_one_conversation(tmp_path: Path) -> None:
    lines: list[Any] = [
        INIT,
        "no JSON",
        "[1]",
        {"type": "other"},
        {"type": "text", "text": "I ", "part": True},
        {"type": "text", "text": "look.", "part": True},
        {"type": "tool", "tool": "sh", "id": "1", "input": {"c": "ls"}, "output": "a\nb", "error": False},
        {"type": "tool", "tool": "sh", "id": "2", "input": {}, "output": [{"text": "no"}], "error": "denied"},
        {
            "role": "assistant",
            "content": "So.",
            "tool_calls": [{"id": "3", "function": {"name": "view", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "3", "content": "text"},
        {"type": "blocks", "content": [{"type": "text", "text": "And"}, {"type": "tool_use", "id": "4", "name": "x"}]},
        {"type": "blocks", "content": [{"type": "tool_result", "tool_use_id": "4", "content": "y", "is_error": True}]},
        {"type": "text", "text": "Done."},
        END,
    ]
    summary = agent(tmp_path).read(ended(tmp_path, lines))
    assert (summary.outcome, summary.version, summary.proves_end) == (Outcome.COMPLETED, "1.2.3", False)
    steps = summary.trajectory.steps
    calls = [(call.name, call.result, call.failed) for step in steps for call in step.tool_calls]
    assert [step.text for step in steps] == ["I look.", "", "So.", "And", "Done."]
    assert calls == [("sh", "a\nb", False), ("sh", "no", True), ("view", "text", False), ("x", "y", True)]
    assert summary.trajectory.final_message == "Done."


@pytest.mark.parametrize(
    ("lines", "code", "stderr", "outcome", "reason"),
    [
        ([INIT, END], 0, "", "completed", "ended by itself"),
        ([INIT], 0, "", "agent_error", "no report of its end"),
        ([INIT, {"type": "text", "text": "ERR 500"}], 1, "", "agent_error", "exit code 1: ERR 500"),
        ([INIT, {"type": "text", "text": "ERR 500"}, {"type": "text", "text": "On."}, END], 0, "", "completed", ""),
        ([INIT, {"type": "end", "status": "error", "why": "broke"}], 0, "", "agent_error", "broke"),
        ([{"type": "end", "status": "error", "why": "broke"}, END], 0, "", "agent_error", "broke"),
        ([{"type": "end", "status": "error", "kind": "safety"}], 0, "", "refused", "end of the kind safety"),
        ([INIT], 7, "", "budget_exceeded", ""),
        ([INIT], 1, "out of steps", "budget_exceeded", "out of steps"),
        ([INIT], 1, "Traceback\nit is out of steps now\nBye", "budget_exceeded", "it is out of steps now"),
        ([], 127, "not found", "agent_error", "not found"),
    ],
)
def test_the_outcome_is_claimed_by_the_first_rule(
    tmp_path: Path, lines: list[Any], code: int, stderr: str, outcome: str, reason: str
) -> None:
    summary = agent(tmp_path).read(ended(tmp_path, lines, code, stderr))
    assert (summary.outcome, reason in summary.reason) == (outcome, True), summary.reason


def test_a_process_that_was_ended_at_its_limit_is_late_whatever_it_wrote(tmp_path: Path) -> None:
    assert agent(tmp_path).read(ended(tmp_path, [INIT, END], -15, timed_out=True)).outcome is Outcome.TIMEOUT


REQUEST = {
    "model": "m-1",
    "system": [{"type": "text", "text": "You are Acme.\nTake care.\nFrom: ACME.md\n\nWe greet."}],
    "tools": [{"name": "sh"}, {"name": "mcp_time_now"}],
    "messages": [{"role": "user", "content": "Do it. Reads &amp; writes"}],
}


def test_a_treatment_is_proved_by_the_texts_of_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w/ACME.md").write_text("We\n  greet.\n")
    resources = AgentResources(
        agents={"reader": SubAgent(name="reader", description="Reads & writes", prompt="x")},
        agent_files={"ACME.md": tmp_path / "w/ACME.md", "src/ACME.md": tmp_path / "w/none", "CLAUDE.md": tmp_path},
    )
    treatment = Treatment(mcp_servers=("time",), system_prompt=SystemPrompt(append="Take care."))
    made = agent(tmp_path)
    declared = made.declare(task(tmp_path, treatment=treatment, resources=resources), tmp_path / "w")
    request = tmp_path / "request.json"
    request.write_text(json.dumps(REQUEST))
    result = ended(tmp_path, [INIT])
    assert prove_delivery(declared, made.observe(result.transcript, request), None).proved
    request.write_text(json.dumps(REQUEST).replace("We greet", "We shout").replace("writes", "rests"))
    faults = prove_delivery(declared, made.observe(result.transcript, request), None).missing
    assert faults == ("sub-agent reader (first request)", "instructions of ACME.md (first request)")
    bare = made.declare(task(tmp_path), tmp_path / "w")
    undeclared = prove_delivery(bare, made.observe(result.transcript, request), None).undeclared
    assert undeclared == ("MCP server time",)


def test_parts_without_a_line_are_named(tmp_path: Path) -> None:
    reader = "---\nname: reader\ndescription: x\ntools: [Read, Bash]\n---\nRead.\n"
    write_tree(tmp_path, {"config/agents/reader.md": reader})
    treatment = Treatment(
        system_prompt=SystemPrompt(replace=""),
        skills=("s",),
        agents=("reader",),
        setting_sources=("project",),
        skill_listing="default",
        agent_files=("CLAUDE.md",),
    )
    variant = Variant(id="v", treatment=treatment, materials={"agent_files/CLAUDE.md": "0"})
    arm = Arm(id="a", agent="acme", version="1", model="m-1", variant=variant)
    assert list(agent(tmp_path).unsupported(arm, (tmp_path,))) == [
        "system_prompt.replace",
        "skills",
        "setting_sources",
        "agents: tool Bash of reader",
        "agent_files",
    ]


def test_a_users_manifest_is_an_agent_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent(tmp_path)
    assert "acme" not in AGENTS
    monkeypatch.chdir(tmp_path)
    assert AGENTS["acme"].api_styles == ("anthropic-messages",)
    assert {"oracle", "claude-code", "qwen-code", "acme"} <= set(AGENTS)
    assert Library.here(tmp_path).agent_manifest("acme").package.program == "acme"


def test_a_change_of_the_manifest_changes_its_digest_and_a_comment_does_not(tmp_path: Path) -> None:
    digest = agent(tmp_path).digest
    assert agent(tmp_path, **{"name: acme\n": "name: acme  # a comment\n"}).digest == digest
    assert agent(tmp_path, **{"acme/{model}": "{model}"}).digest != digest


def test_the_tools_of_declared_resources_are_no_surprise(tmp_path: Path) -> None:
    made = agent(tmp_path, **{"delivery: {tool": "uses: {skills: {recall: lore}, agents: {ask: who}}\ndelivery: {tool"})
    declared = made.declare(task(tmp_path, treatment=Treatment(skills=("s",))), tmp_path / "w")
    assert declared.side_tools == ("recall",)
    assert made.declare(task(tmp_path), tmp_path / "w").side_tools == ()
