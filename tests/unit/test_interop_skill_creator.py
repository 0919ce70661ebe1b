"""Import of workspaces of skill-creator, in the layout and with the names of its `references/schemas.md`."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers import ImportedRows, ImportOptions, format_of, load_rows
from scylla_gha.interop.importers.skill_creator import read_skill_creator

GRADES = [{"text": "a", "passed": True, "evidence": "x"}, {"text": "b", "passed": False, "evidence": ""}]


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def run(folder: Path, passed: bool, **given: Any) -> None:
    grades = [{**GRADES[0], "passed": passed}, GRADES[0]]
    write(folder / "grading.json", {"expectations": grades, **given})
    write(folder / "timing.json", {"total_tokens": 84, "duration_ms": 2300, "total_duration_seconds": 2.3})


def loaded(folder: Path) -> ImportedRows:
    return load_rows(read_skill_creator(folder), "workspace", "skill-creator", "run", ImportOptions())


def test_a_run_becomes_a_row(tmp_path: Path) -> None:
    for configuration in ("with_skill", "without_skill"):
        for number in (1, 2, 10):
            is_with = configuration == "with_skill"
            run(tmp_path / f"iteration-1/eval-1/{configuration}/run-{number}", is_with)
    assert format_of(tmp_path) == "skill-creator"
    rows = loaded(tmp_path).rows
    assert [(row.scenario, row.arm, row.repetition, row.score, row.passed) for row in rows] == [
        *(("eval-1", "without_skill", number, 0.5, False) for number in (1, 2, 10)),
        *(("eval-1", "with_skill", number, 1.0, True) for number in (1, 2, 10)),
    ]
    assert {(row.seconds, row.total_tokens) for row in rows} == {(2.3, 84)}


def test_the_newest_iteration_and_runs_without_number_are_read(tmp_path: Path) -> None:
    run(tmp_path / "iteration-2/eval-a/with_skill", passed=True)
    run(tmp_path / "iteration-10/eval-a/with_skill", passed=False)
    (tmp_path / "iteration-10/eval-a/old_skill/outputs").mkdir(parents=True)
    table = read_skill_creator(tmp_path)
    assert [row.values["score"] for row in table.rows] == [None, 0.5]
    text = " ".join(table.notes)
    assert "only iteration-10, the newest, is read" in text
    assert "1 run has no readable grading.json" in text
    assert "too few to tell a difference from chance" in text


ODD: dict[str, tuple[Any, float | None]] = {
    "a grade that is no truth value": ([{**GRADES[0], "passed": "yes"}], None),
    "an assertion that is no object": (["a"], None),
    "none": ([], None),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_grades_are_unknown(tmp_path: Path, name: str) -> None:
    grades, score = ODD[name]
    write(tmp_path / "eval-1/with_skill/run-1/grading.json", {"expectations": grades})
    assert [row.values["score"] for row in read_skill_creator(tmp_path).rows] == [score]


def test_a_stated_rate_is_used_without_grades(tmp_path: Path) -> None:
    write(tmp_path / "eval-1/with_skill/run-1/grading.json", {"summary": {"pass_rate": 0.25}})
    assert read_skill_creator(tmp_path).rows[0].values["score"] == 0.25


def test_the_runs_without_the_skill_come_first_as_the_baseline(tmp_path: Path) -> None:
    for name in ("with_skill", "without_skill", "old_skill"):
        write(tmp_path / f"eval-1/{name}/run-1/grading.json", {"summary": {"pass_rate": 0.5}})
    arms = [row.values["arm"] for row in read_skill_creator(tmp_path).rows]
    assert arms == ["without_skill", "old_skill", "with_skill"]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains no run of skill-creator"):
        read_skill_creator(tmp_path)
