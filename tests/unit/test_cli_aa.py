import json
from pathlib import Path

import pytest

from scylla_gha.store.records import write_lines, write_record
from tests.support.command import Said, scylla
from tests.support.frames import table
from tests.support.records import make_cell, make_experiment, make_plan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of three planned arms, of which two have rows."""
    rows = table({"base": ["PFPF", "PPPF", "FFPF"] * 4, "mcp": ["PFPP", "PPFF", "FPPF"] * 4})
    write_lines(tmp_path / "runs/demo/results.jsonl", rows)
    cells = [make_cell(row.arm, row.repetition, row.scenario) for row in rows]
    experiment = make_experiment(baseline="base", margin=0.1, seed=3)
    write_record(tmp_path / "runs/demo/plan.json", make_plan(*cells, make_cell("cli"), experiment=experiment))
    return tmp_path


def aa(folder: Path, *args: str) -> Said:
    said = scylla("aa-test", *args, cwd=folder)
    assert "Traceback" not in said.err
    return said


def test_each_arm_is_held_against_itself_with_the_plans_family_and_margin(folder: Path) -> None:
    told = json.loads(aa(folder, "demo", "--resamples", "60", "--json").out)
    assert (told["family"], told["margin"], told["resamples"]) == (2, 0.1, 60)
    assert [one["arm"] for one in told["arms"]] == ["base", "mcp"]
    assert told["left_out"] == ["cli"]
    assert told["over_all"]["verdicts"] == 120
    assert told["over_all"]["false_share"] <= 0.05


def test_it_is_a_table_for_people_and_rows_alone_will_do(folder: Path) -> None:
    (folder / "runs/demo/results.jsonl").rename(folder / "rows.jsonl")
    said = aa(folder, "rows.jsonl", "--resamples", "20")
    assert said.code == 0
    assert said.out.splitlines()[0] == "demo: each arm against itself; whatever a verdict finds is false"
    assert "each p is multiplied by 1, the comparisons of the experiment; the margin is 5 points" in said.out


def test_what_is_not_there_is_named(folder: Path) -> None:
    said = aa(folder, "nothing")
    assert (said.code, said.out) == (3, "")
    assert "nothing: neither a file of rows, nor a folder with results.jsonl, nor a run in runs" in said.err
