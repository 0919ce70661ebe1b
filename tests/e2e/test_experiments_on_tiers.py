"""Experiments on the tiers with the real Claude Code CLI and scripted answers: one scenario, one repetition.

Small ones run here, one of them on a scenario with GitHub. All of them run, in about ten minutes, by
`EXPERIMENTS=all pytest tests/e2e/test_experiments_on_tiers.py`.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import toolkit_root
from tests.support.command import NO_ENGINE, scylla
from tests.support.hello import hello
from tests.support.provider import Body, Say, serve, tool_results

SMALL = {"delegation": 4, "skills-against-tools": 5}
ALL = {**SMALL, "adjacent-tiers": 7, "prompt-blocks": 38, "full-ablation": 114}
RUN = ALL if os.environ.get("EXPERIMENTS") == "all" else SMALL
HELLO = "001-hello-world"
TRIAGE = "156-issue-triage-assign"
SCENARIOS = {"skills-against-tools": TRIAGE}  # its scenarios are those with GitHub alone
BY_GH = (toolkit_root() / "scenarios/github" / TRIAGE / "solution/solution.sh").read_text(encoding="utf-8")
JOBS = str(os.cpu_count() or 1)


def with_any_tools(body: Body) -> Say:
    """Answer as `hello`; an agent without the shell writes the file with a tool that it has."""
    tools = {tool.get("name") for tool in body.get("tools", ())}
    if not tools or "Bash" in tools:
        return hello(body)
    if tool_results(body):
        return Say("Done.")
    return Say("I write it.", "Write", {"file_path": "/home/workspace/hello.py", "content": 'print("Hello, World!")\n'})


def triaging(body: Body) -> Say:
    """Triage the issues with gh, which each arm has; judges are content."""
    if not body.get("tools"):
        return hello(body)
    return Say("Done.") if tool_results(body) else Say("I triage.", "Bash", {"command": BY_GH})


def evaluate(name: str, folder: Path) -> dict[str, Any]:
    """Run the experiment on one scenario, and return its report."""
    scenario = SCENARIOS.get(name, HELLO)
    with serve(triaging if scenario == TRIAGE else with_any_tools) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-1234567890",
               "DOCKER_HOST": NO_ENGINE}  # fmt: skip
        said = scylla("evaluate", name, "--scenario", scenario, "--repetitions", "1", "--jobs", JOBS, "--yes",
                      "--json", cwd=folder, env=env, seconds=1800)  # fmt: skip
    assert said.code == 0, said.err
    report: dict[str, Any] = json.loads(said.out)
    return report


@pytest.mark.parametrize("name", RUN)
def test_each_arm_works_and_its_treatment_is_proved(name: str, tmp_path: Path) -> None:
    report = evaluate(name, tmp_path)
    arms = RUN[name]
    assert report["counts"] == {"planned": arms, "ran": arms, "judged": arms, "scored": arms}, report["excluded"]
    assert report["delivery"] == [arms, arms]
    assert {arm["passed"] for arm in report["arms"]} == {1}
    assert report["hypothesis"]["status"] == "not_enough_data", "one scenario shows nothing"
    text = (tmp_path / "runs" / name / "report.md").read_text()
    assert "Five questions" in text
    assert "Hypothesis, not enough data: " in text
