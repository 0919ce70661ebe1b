"""A repository's own CLAUDE.md, .claude/ and .mcp.json, before a change and with it, with the real Claude Code CLI."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import scylla
from tests.support.git import shell
from tests.support.hello import hello
from tests.support.provider import Body, Provider, Say, serve
from tests.support.repository import write_tree

EXPERIMENT = """\
id: app
question: Do our files for agents help?
scenarios: [001-hello-world]
agents: [claude-code@2.1.332]
variants: [T0/00-empty, T0/01-vanilla]
models: [claude-sonnet-5]
repetitions: 1
baseline: t0-00-empty.claude-code.claude-sonnet-5
sandbox: host
limits: {timeout_seconds: 180, api_retries: 0}
"""
OWN = """\
id: T1
name: Ours
focus: Does our skill help?
sub_tests:
  - {id: 00-none, description: No file for agents, treatment: {agent_files: []}}
  - {id: 01-greet, description: Our skill, treatment: {agent_files: [.claude/skills/greet]}}
  - {id: 02-many, description: What Claude Code reads without a CLAUDE.md, treatment: {agent_files: [AGENTS.md]}}
"""
SKILL = "---\nname: greet\ndescription: How we greet. {}\n---\nPrint it.\n"
SERVER = """\
import json, sys
answers = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "clock", "version": "1"}},
           "tools/list": {"tools": [{"name": "now", "inputSchema": {"type": "object"}}]}}
for line in sys.stdin:
    call = json.loads(line)
    if call.get("id") is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answers.get(call["method"], {})}), flush=True)
"""
NAMED = ("00-none", "01-greet", "02-many")
ARM = "t0-01-vanilla.claude-code.claude-sonnet-5"


def obedient(body: Body) -> Say:
    """An agent that works only if a skill of the repository tells it to."""
    return hello(body) if "Write the script." in json.dumps(body) else Say("Done.")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A user's git repository, and beside it a checkout of a change to its files for agents."""
    base = write_tree(tmp_path / "base", {
        "config/experiments/app.yaml": EXPERIMENT,
        "config/tiers/T1.yaml": OWN,
        "CLAUDE.md": "We write Python.\n",
        ".claude/skills/greet/SKILL.md": SKILL.format("Use it always."),
        ".claude/agents/old.md": "---\nname: old\ndescription: Looks at old code.\n---\nLook.\n",
        ".claude/settings.local.json": "{}",
        "AGENTS.md": "We are many.\n",
    })  # fmt: skip
    shell(base, "git init -q && git add -A && git commit -qm base && git worktree add -qb change ../head")
    (tmp_path / "head/.claude/agents/old.md").unlink()
    server = {"mcpServers": {"clock": {"command": "python3", "args": ["-c", SERVER]}}}
    write_tree(tmp_path / "head", {
        ".claude/skills/greet/SKILL.md": SKILL.format("Write the script."),
        ".claude/agents/reader.md": "---\nname: reader\ndescription: Reads.\n---\nRead.\n",
        ".mcp.json": json.dumps(server),
    })  # fmt: skip
    shell(tmp_path / "head", "git add -A && git commit -qm change")
    return base


def evaluate(root: Path, provider: Provider, *options: str) -> dict[str, Any]:
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
    said = scylla("evaluate", "app", "--yes", "--json", "--jobs", "1", *options, cwd=root, env=env)
    assert said.code == 0, said.err
    report: dict[str, Any] = json.loads(said.out)
    return report


def attempt(root: Path, arm: str) -> dict[str, Any]:
    (path,) = root.glob(f"runs/app/**/001-hello-world--{arm}--r01/trial.json")
    last: dict[str, Any] = json.loads(path.read_text())["attempts"][-1]
    return last


def faults(attempt: dict[str, Any]) -> list[str]:
    """What its proof of delivery lacks, or has too much."""
    return [text for name in ("missing", "undeclared", "claimed") for text in attempt["delivery"][name]]


def test_a_change_of_the_files_for_agents_is_compared_without_naming_them(repository: Path) -> None:
    with serve(obedient) as provider:
        report = evaluate(repository, provider, "--head", "change")
    assert {arm["arm"]: arm["passed"] for arm in report["arms"]} == {f"{ARM}.base": 0, f"{ARM}.head": 1}
    changes = "added .claude/agents/reader.md, .mcp.json; changed {}; removed .claude/agents/old.md."
    assert report["notes"] == [f"{ARM}.head against {ARM}.base: {changes.format('.claude/skills/greet/SKILL.md')}"]
    before, after = attempt(repository, f"{ARM}.base"), attempt(repository, f"{ARM}.head")
    assert faults(before) == faults(after) == []
    assert before["agent_files"] == [".claude/agents/old.md", ".claude/skills/greet/SKILL.md", "AGENTS.md", "CLAUDE.md"]
    assert after["diff"]["files"] == ["hello.py"]
    first = next(text for text in map(json.dumps, provider.requests) if "Write the script." in text)
    assert ("mcp__clock__now" in first, "We write Python." in first, "reader" in first) == (True, True, True)
    assert "We are many." not in first


def test_variants_name_files_of_the_repository_by_path(repository: Path) -> None:
    shutil.copytree(repository.parent / "head/.claude", repository / ".claude", dirs_exist_ok=True)
    with serve(obedient) as provider:
        evaluate(repository, provider, *(part for name in NAMED for part in ("--variant", f"T1/{name}")))
    none, ours, many = (attempt(repository, f"t1-{name}.claude-code.claude-sonnet-5") for name in NAMED)
    assert (many["agent_files"], "We are many." in json.dumps(provider.requests)) == (["AGENTS.md"], True)
    assert (none["agent_files"], ours["agent_files"]) == ([], [".claude/skills/greet/SKILL.md"])
    assert (none["diff"]["files"], ours["diff"]["files"]) == ([], ["hello.py"])
    assert faults(none) == faults(ours) == faults(many) == []
