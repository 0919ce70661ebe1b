"""A change of a prompt against what it changes, with the real Claude Code CLI: both versions side by side."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import scylla
from tests.support.hello import hello
from tests.support.provider import Body, Provider, Say, serve
from tests.support.repository import write_tree

TIER = """\
id: T1
name: Prompts
focus: One that changes, and one that does not
sub_tests:
  - {{id: 00-mine, description: Ours, treatment: {{system_prompt: {{replace: {prompt}}}}}}}
  - {{id: 01-other, description: Another, treatment: {{system_prompt: {{replace: Sleep.}}}}}}
"""
EXPERIMENT = """\
id: probe
question: Is the new prompt better?
scenarios: [001-hello-world]
agents: [claude-code@2.1.332]
variants: [T1/00-mine, T1/01-other]
models: [claude-sonnet-5]
repetitions: 1
baseline: t1-01-other.claude-code.claude-sonnet-5
sandbox: host
limits: {timeout_seconds: 180, api_retries: 0}
"""
ARM = "t1-00-mine.claude-code.claude-sonnet-5"


def obedient(body: Body) -> Say:
    """An agent that works only where its system prompt tells it to."""
    return hello(body) if "Work." in json.dumps(body.get("system", "")) else Say("Done.")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A user's repository, and beside it a checkout of a change to it."""
    for name, prompt in (("base", "Rest."), ("head", "Work.")):
        write_tree(tmp_path / name, {"config/tiers/T1.yaml": TIER.format(prompt=prompt),
                                     "config/experiments/probe.yaml": EXPERIMENT})  # fmt: skip
    return tmp_path / "base"


def evaluate(root: Path, provider: Provider, *options: str) -> dict[str, Any]:
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
    said = scylla("evaluate", "probe", "--yes", "--json", "--jobs", "1", *options, cwd=root, env=env)
    assert said.code == 0, said.err
    report: dict[str, Any] = json.loads(said.out)
    return report


def test_only_the_changed_variant_runs_as_it_was_and_as_it_is(repository: Path) -> None:
    with serve(obedient) as provider:
        report = evaluate(repository, provider, "--head", "../head")
    assert {arm["arm"]: arm["passed"] for arm in report["arms"]} == {ARM: 0, f"{ARM}.head": 1}
    assert [(one["arm"], one["baseline"]) for one in report["comparisons"]] == [(f"{ARM}.head", ARM)]
    plan = json.loads((repository / "runs" / "probe" / "plan.json").read_text())
    asked = scylla("plan", "probe", "--json", "--runs", "elsewhere", cwd=repository)
    keys = {cell["arm"]: cell["key"] for cell in json.loads(asked.out)["cells"]}
    assert {cell["key"] for cell in plan["cells"] if cell["arm"] == ARM} == {keys[ARM]}


def test_a_change_that_touches_no_variant_has_nothing_to_compare(repository: Path) -> None:
    said = scylla("plan", "probe", "--head", ".", cwd=repository)
    assert (said.code, "nothing to compare" in said.err) == (6, True)


def test_a_plan_of_a_change_cannot_go_on_without_it(repository: Path) -> None:
    said = scylla("plan", "probe", "--head", "nowhere", cwd=repository)
    assert (said.code, "nowhere" in said.err) == (2, True)
