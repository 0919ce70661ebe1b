import json
from pathlib import Path

import pytest

from scylla_gha.store.records import write_lines, write_record
from tests.support.command import Said, scylla
from tests.support.frames import table
from tests.support.records import make_cell, make_experiment, make_plan
from tests.support.repository import environment, make_repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def power(repo: Path, *args: str) -> Said:
    said = scylla("power", *args, cwd=repo, env=environment(repo.parent))
    assert "Traceback" not in said.err
    return said


def test_without_a_pilot_it_goes_by_the_usual_variances_and_knows_no_cost(repo: Path) -> None:
    said = power(repo, "greet", "--json")
    told = json.loads(said.out)
    assert (told["arms"], told["comparisons"], told["variances"]) == (2, 1, [])
    assert told["basis"].startswith("the usual variances")
    assert {(one["usd"], one["minutes"]) for one in told["designs"]} == {(None, None)}
    assert told["at_hand"].startswith("the 1 scenario at hand can show no effect")
    assert not (repo / "runs").exists(), "nothing is written"


def test_stored_rows_are_the_pilot_and_say_what_a_design_costs(repo: Path) -> None:
    rows = table({"base": ["PFPF", "PPPF"] * 5, "mcp": ["PFPP", "PPFF"] * 5}, usd=0.5, judge_usd=0.25, seconds=60.0)
    run = repo / "runs" / "demo"
    write_lines(run / "results.jsonl", rows)
    cells = [make_cell(row.arm, row.repetition, row.scenario) for row in rows]
    write_record(run / "plan.json", make_plan(*cells, experiment=make_experiment(baseline="base")))
    told = json.loads(power(repo, "demo", "--effect", "0.3", "--json").out)
    assert [one["arm"] for one in told["variances"]] == ["mcp"]
    (own,) = [one for one in told["designs"] if (one["scenarios"], one["repetitions"]) == (10, 5)]
    assert (own["trials"], own["usd"], own["minutes"]) == (100, pytest.approx(75.0), pytest.approx(100.0))
    assert told["cheapest"]["sees"] is True
    text = power(repo, "greet", "--pilot", "demo").out
    assert "by the usual variances" in text, "rows of other arms tell nothing of these"


def test_what_is_no_effect_is_refused(repo: Path) -> None:
    assert power(repo, "greet", "--effect", "0").code == 2
    assert power(repo, "greet", "--pilot", "none").code == 3
