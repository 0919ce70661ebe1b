import json
from pathlib import Path

import pytest

from scylla_gha.store.records import write_lines, write_record
from tests.support.command import Said, scylla
from tests.support.frames import table
from tests.support.records import WHEN, make_experiment, make_plan

HIGH, LOW = ["PPPF", "PPFP", "PFPP", "PPPP"] * 3, ["FFPF", "FPFF", "PFFF", "FFFF"] * 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for at in range(10):
        passed = HIGH if at < 5 else LOW
        write_lines(tmp_path / f"runs/d{at}/results.jsonl", table({"arm": passed, "nop": ["FFFF"] * 12}))
    return tmp_path


def history(folder: Path, *args: str, **env: str) -> Said:
    said = scylla("history", *args, cwd=folder, env=env)
    assert "Traceback" not in said.err
    return said


def test_a_series_of_runs_is_a_table_with_a_curve_and_what_was_found(folder: Path) -> None:
    said = history(folder, *(f"d{at}" for at in range(10)), PYTHONIOENCODING="utf-8")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "arm  ▇▇▇▇▇▂▂▂▂▂"
    assert "  change down of pass_rate at d5: 81.2 % to 18.8 %" in said.out
    assert "d5              48         12     18.8 %  ▂          -62.5" in said.out
    assert "baseline: d0" in said.out
    assert said.out.isascii() is False
    assert history(folder, "d0", "d1", PYTHONIOENCODING="ascii").out.isascii()


def test_one_arm_a_pinned_run_and_its_margin(folder: Path) -> None:
    write_record(folder / "runs/d5/plan.json", make_plan(experiment=make_experiment(margin=0.2)))
    told = json.loads(history(folder, "runs/d1", "runs/d5", "--baseline", "d0", "--arm", "arm", "--json").out)
    assert (told["baseline"], told["margin"]) == ("d0", 0.2)
    (series,) = told["series"]
    assert [one["run"] for one in series["points"]] == ["d0", "d1", "d5"]
    assert [one["verdict"] for one in series["points"]] == [None, "not_enough_data", "worse"]
    assert told["notes"] == ["3 result sets are too few to look for changes of level: it takes 9"]


def test_epochs_of_one_file_are_told_apart_by_when_they_began(folder: Path) -> None:
    later = table({"arm": LOW}, epoch="b", started_at=WHEN.replace(year=2027))
    earlier = table({"arm": HIGH}, epoch="c", started_at=WHEN)
    write_lines(folder / "both.jsonl", [*later, *earlier])
    told = json.loads(history(folder, "both.jsonl", "--json").out)
    assert [(one["run"], one["epoch"]) for one in told["series"][0]["points"]] == [("both", "c"), ("both", "b")]
    assert told["baseline"] == "both@c"


def test_what_is_not_there_is_named(folder: Path) -> None:
    assert "d99: neither a file of rows" in history(folder, "d0", "d99").err
    said = history(folder, "d0", "--arm", "arn")
    assert said.code == 3
    assert '--arm arn: no row is of it; did you mean "arm"?; there are: arm, nop' in said.err
    assert history(folder).code == 2
