import json
import re
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.trial import Step, Trajectory
from scylla_gha.store.records import write_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.foreign import asked
from tests.support.records import make_arm, make_cell, make_plan, make_result, make_trial

CELLS = (make_cell("nop"), make_cell("oracle"))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    write_record(made.plan, make_plan(*CELLS))
    write_lines(made.results, [make_result(cell) for cell in CELLS])
    for cell in CELLS:
        write_record(made.cell(cell.id).trial, make_trial(cell))
    step = Step(source="agent", text="done")
    write_record(made.cell(CELLS[1].id).attempt(1).file("trajectory.json"), Trajectory(steps=(step,)))
    return made


def exported(folder: RunFolder, *more: str) -> str:
    done = asked("export", folder.root.name, "--runs", str(folder.root.parent), "--to", *more)
    if done.exception:
        raise done.exception
    return done.output


@pytest.mark.parametrize(
    ("form", "name", "holds"),
    [
        ("csv", "results.csv", "001-one--oracle--r01"),
        ("junit", "junit.xml", '<testcase classname="oracle"'),
        ("profile", "profile-rows.jsonl", '"scenarioId": "001-one"'),
        ("inspect", "inspect/*_demo-oracle_*.json", '"task": "demo"'),
        ("atif", "atif/001-one--oracle--r01.json", '"ATIF-v1.8"'),
    ],
)
def test_each_format_is_written_into_the_runs_folder(folder: RunFolder, form: str, name: str, holds: str) -> None:
    said = exported(folder, form)
    (place,) = folder.root.glob(name)
    assert holds in place.read_text()
    assert str(folder.root / name.split("/", 1)[0]) in said


def test_trials_without_a_trajectory_are_counted(folder: RunFolder) -> None:
    assert "no trajectory, so no file: 1 of 2 trials" in exported(folder, "atif")


def test_a_run_without_any_trajectory_has_nothing_for_atif(folder: RunFolder) -> None:
    write_lines(folder.results, [make_result(CELLS[0])])
    with pytest.raises(ConfigError, match="no trial has a trajectory"):
        exported(folder, "atif")


def test_an_arm_with_a_slash_in_its_name_stays_in_the_folder(folder: RunFolder, tmp_path: Path) -> None:
    cell = make_cell("../x/y")
    write_record(folder.plan, make_plan(cell, arms=(make_arm(id="../x/y"),)))
    write_lines(folder.results, [make_result(cell)])
    exported(folder, "inspect", "-o", str(tmp_path / "out"))
    (place,) = (tmp_path / "out").iterdir()
    assert json.loads(place.read_text())["eval"]["metadata"]["arm"] == "../x/y"


def test_inspect_logs_have_the_names_that_inspect_lists(folder: RunFolder) -> None:
    """Time, task and id: `inspect log list` and `inspect view bundle` pass over any other name."""
    exported(folder, "inspect")
    names = sorted(place.name for place in (folder.root / "inspect").iterdir())
    assert len(names) == 2
    for name in names:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[+-]\d\d-\d\d_[a-z0-9-]+_[0-9a-zA-Z]{22}\.json", name)
        told = json.loads((folder.root / "inspect" / name).read_text())["eval"]
        assert name.rsplit("_", 1)[1] == f"{told['task_id']}.json"


def test_a_file_is_not_written_over_a_folder(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder, and csv writes a file"):
        exported(folder, "csv", "-o", str(tmp_path))


def test_a_run_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "there is no plan" in str(asked("export", "none", "--to", "csv", "--runs", str(tmp_path)).exception)
