"""Uses of a skill, a sub-agent and an MCP server are counted for each agent CLI whose manifest knows their calls."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.providers.base import ToolRequest
from scylla_gha.providers.scripted import scripted_provider
from tests.support.agent_clis import FILES, MANIFESTS, attempts, evaluate, pinned
from tests.support.command import scylla
from tests.support.git import shell
from tests.support.provider import Body, Say, serve, tool_results
from tests.support.repository import write_tree

TIER = """\
id: T1
name: Ours
focus: Is it used?
sub_tests:
  - id: 01-all
    description: x
    treatment: {agent_files: [], skills: [greeting], agents: [reader], mcp_servers: [clock]}
  - {id: 02-skill, description: x, treatment: {agent_files: [], skills: [greeting]}}
"""
SERVER_TOOLS = {"qwen-code": ("tool_call", {"name": "mcp__clock__now", "arguments": {}})}
OF_A_SUB_AGENT = "You read all proofs."


def called(name: str) -> list[tuple[str, dict[str, Any]]]:
    """A call of the skill, of the sub-agent and of the server, in the CLI's names."""
    form = MANIFESTS[name].uses
    assert form is not None
    assert form.server_tool is not None
    (skill, skill_name), (agent, agent_name) = next(iter(form.skills.items())), next(iter(form.agents.items()))
    task = {agent_name: "reader", "prompt": "Read.", "description": "Read", "name": "reading"}
    server = SERVER_TOOLS.get(name, (form.server_tool.replace("{name}", "clock") + "now", {}))
    return [(skill, {skill_name: "greeting"}), (agent, task), server]


def make_root(root: Path) -> None:
    shell(write_tree(root, {**FILES, "config/tiers/T1.yaml": TIER}), "git init -q && git add -A")


def counts(root: Path) -> dict[str, int]:
    (attempt,) = attempts(root).values()
    assert attempt["outcome"] == "completed", attempt["reason"]
    uses = attempt["uses"]
    assert uses["refused"] == {}
    return dict(uses["counts"])


@pytest.mark.parametrize("name", ["copilot", "kimi-code", "opencode", "qwen-code"])
def test_each_kind_of_resource_is_counted(tmp_path: Path, name: str) -> None:
    calls = called(name)

    def answer(body: Body) -> Say:
        done = len(tool_results(body))
        if OF_A_SUB_AGENT in json.dumps(body.get("system")) or not body.get("tools") or done >= len(calls):
            return Say("Done.")
        return Say("I use it.", *calls[done])

    make_root(tmp_path)
    with serve(answer) as provider:
        said = evaluate(tmp_path, name, provider.url, variants=("T1/01-all",))
    assert said.code == 0, said.err
    assert counts(tmp_path) == {"skill/greeting": 1, "agent/reader": 1, "mcp/clock": 1}


@pytest.mark.parametrize(
    ("name", "command", "call"),
    [
        ("gemini-cli", "true", ToolRequest("c", "activate_skill", {"name": "greeting"})),
        ("codex", "cat ~/.codex/skills/greeting/SKILL.md", None),
    ],
)
def test_a_skill_is_used_by_its_tool_or_by_reading_it(
    tmp_path: Path, name: str, command: str, call: ToolRequest | None
) -> None:
    make_root(tmp_path)
    with scripted_provider(command, call) as url:
        said = evaluate(tmp_path, name, url, variants=("T1/02-skill",))
    assert said.code == 0, said.err
    assert counts(tmp_path) == {"skill/greeting": 1}


def test_a_skill_is_measured_with_another_agent(tmp_path: Path) -> None:
    labels = {"Write the deploy notes.": True, "What is 2 + 2?": False}
    queries = [{"query": text, "should_trigger": label} for text, label in labels.items()]
    skill = "---\nname: deploy\ndescription: Use when the user asks for deploy notes.\n---\nWrite NOTES.md.\n"
    write_tree(tmp_path, {"deploy/SKILL.md": skill, "deploy/evals/trigger-eval.json": json.dumps(queries)})

    def answer(body: Body) -> Say:
        asked = json.dumps(body["messages"][-1])
        return Say("I use it.", "skill", {"skill": "deploy"}) if "Write the deploy notes." in asked else Say("4")

    with serve(answer) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
        options = ("--agent", pinned("qwen-code"), "--yes", "--only", "triggers", "--trigger-repetitions", "1")
        said = scylla("skill", "deploy", *options, cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    assert "deploy: Fires on 1 of 1 ask and on 0 of 1 other." in said.out
    (path,) = tmp_path.glob("runs/skill-deploy-triggers/*write-the-deploy-notes*/trial.json")
    assert json.loads(path.read_text())["attempts"][-1]["requests"] == 1, "nothing is paid after the decision"
