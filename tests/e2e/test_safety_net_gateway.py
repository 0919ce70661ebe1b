"""Real agent CLIs without a hook: the gateway replaces a destructive call, the agent reads why and goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.providers.scripted import scripted_provider
from tests.support.agent_clis import attempts, evaluate, write_experiment
from tests.support.command import scylla

DESTROY = "cd / && rm -rf srv/scylla-gha-nowhere; true"
CLIS = [
    ("codex", "openai-responses", "exec_command"),
    ("gemini-cli", "gemini", "run_shell_command"),
    ("qwen-code", "openai-chat", "run_shell_command"),
    ("kimi-code", "anthropic-messages", "Bash"),
    ("copilot", "openai-chat", "bash"),
    ("opencode", "anthropic-messages", "bash"),
]


def only(root: Path, name: str) -> dict[str, Any]:
    """The only row, or the trajectory of the only trial."""
    (path,) = root.glob(f"runs/probe/{name}")
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.parametrize(("name", "style", "tool"), CLIS)
def test_a_destructive_command_never_reaches_the_shell(tmp_path: Path, name: str, style: str, tool: str) -> None:
    with scripted_provider(DESTROY) as url:
        said = evaluate(tmp_path, name, url, api_style=style)
    (attempt,) = attempts(tmp_path).values()
    assert attempt["outcome"] == "completed", attempt["reason"]
    net = attempt["safety_net"]
    assert (net["by"], net["calls"], net["unseen"]) == ("gateway", 1, 0)
    assert net["blocked"] == [{"rule": "delete-outside", "tool": tool, "command": DESTROY}]
    steps = only(tmp_path, "*/attempt-1/trajectory.json")["steps"]
    results = [call["result"] for step in steps for call in step["tool_calls"]]
    assert any("[safety net] delete-outside: blocked" in str(result) for result in results), results
    row = only(tmp_path, "results.jsonl")
    assert (row["safety_net"], row["blocked_calls"], row["unseen_calls"]) == ("gateway", 1, 0)
    assert "the safety net is the gateway" in (tmp_path / "runs/probe/report.md").read_text(), said.err


def test_an_agent_without_tools_has_no_safety_net_and_planning_says_so(tmp_path: Path) -> None:
    write_experiment(tmp_path, "aider", ("T0/01-vanilla",))
    said = scylla("validate", "probe.yaml", cwd=tmp_path)
    assert "aider has no safety net (limits.safety_net)" in said.err + said.out
    write_experiment(tmp_path, "aider", ("T0/01-vanilla",), limits=", safety_net: false")
    said = scylla("validate", "probe.yaml", cwd=tmp_path)
    assert "no safety net" not in said.err + said.out
