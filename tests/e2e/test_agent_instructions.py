"""One instruction file for all agents: each CLI gets it in its own place, next to an arm without it, with proof."""

import json
from pathlib import Path

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.providers.scripted import scripted_provider
from tests.support.agent_clis import CLIS, MODELS, arm, attempts, first_requests, style, write_experiment
from tests.support.command import scylla
from tests.support.repository import write_tree

RULE = "Greet each reader of the code by the name of the moon."
PLACES = {
    "claude-code": "CLAUDE.md",
    "codex": "AGENTS.md",
    "copilot": "AGENTS.md",
    "gemini-cli": "GEMINI.md",
    "kimi-code": "AGENTS.md",
    "opencode": "AGENTS.md",
    "qwen-code": "AGENTS.md",
}


def test_each_agent_has_a_place_for_it_or_refuses_it(tmp_path: Path) -> None:
    assert {name: AGENTS[name].instruction_file for name in CLIS if AGENTS[name].instruction_file} == PLACES
    for name in set(CLIS) - PLACES.keys():
        write_probe(tmp_path, name)
        refused = scylla("validate", "probe.yaml", cwd=tmp_path)
        assert (refused.code, f"{name} cannot take instructions" in refused.err) == (3, True), refused.err


@pytest.mark.parametrize("name", sorted(PLACES))
def test_it_arrives_in_its_own_arm_alone(tmp_path: Path, name: str) -> None:
    write_probe(tmp_path, name)
    _, address, key = MODELS[style(name)]
    with scripted_provider() as url:
        env = {address: url, key: "sk-ant-canary-0123456789"}
        said = scylla("evaluate", "probe.yaml", "--yes", "--json", cwd=tmp_path, env=env)
    without, added = arm(name, "t0-01-vanilla"), arm(name, "t0-01-vanilla-with-house")
    made, texts = attempts(tmp_path), first_requests(tmp_path)
    assert set(made) == {without, added}, said.err
    for each in made.values():
        assert (each["outcome"], each["delivery"]["proved"]) == ("completed", True), each["reason"]
        assert each["diff"] is None or each["diff"]["files"] == []
    assert (RULE in texts[added], RULE in texts[without]) == (True, False)
    report = json.loads((tmp_path / "runs/probe/report.json").read_text())
    assert [(row["arm"], row["baseline"]) for row in report["comparisons"]] == [(added, without)]


def write_probe(root: Path, name: str) -> None:
    """An experiment of the agent with and without the file."""
    write_experiment(root, name, ("T0/01-vanilla",))
    probe = root / "probe.yaml"
    write_tree(root, {"probe.yaml": f"{probe.read_text()}instructions: house\n"})
    write_tree(root, {"config/instructions/house.md": f"# House rules\n\n{RULE}\n"})
