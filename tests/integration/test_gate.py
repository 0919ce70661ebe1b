"""A gate on a whole journey: six scenarios, which are just enough to show that an arm is better."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command import scylla
from tests.support.repository import SCENARIO, environment, make_repository, write_greet_experiment


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "repo").root
    first = root / "scenarios" / "core" / SCENARIO
    for number in range(102, 107):
        name = f"{number}-greet"
        shutil.copytree(first, first.with_name(name))
        told = first.with_name(name) / "scenario.yaml"
        told.write_text(told.read_text().replace(SCENARIO, name))
    return root


@pytest.mark.parametrize(("baseline", "code"), [("nop", 0), ("oracle", 10)])
def test_evaluate_ends_with_the_gates_own_code_and_leaves_the_report(repo: Path, baseline: str, code: int) -> None:
    write_greet_experiment(repo, scenarios=("*-greet",), repetitions=1, baseline=baseline, gate="better")
    said = scylla("evaluate", "greet", "--yes", cwd=repo, env=environment(repo.parent))
    assert said.code == code, said.err
    assert "note: smallest detectable pass rate difference (80 % power): " in said.err
    assert ("gate better does not hold: nop: worse: -100.0 points" in said.err) == bool(code)
    report = json.loads((repo / "runs/greet/report.json").read_text())
    assert [one["verdict"] for one in report["comparisons"]] == ["worse" if code else "better"]
    assert (repo / "runs/greet/report.md").exists()
