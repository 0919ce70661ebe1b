from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.stored_cell import find_cell
from scylla_gha.model.plan import Cell
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.records import make_cell, make_plan

ONE, TEN, OTHER = make_cell("oracle", 1), make_cell("oracle", 10), make_cell("nop", 1, "002-two")


def planned(runs: Path, name: str, *cells: Cell) -> RunFolder:
    folder = RunFolder(runs / name)
    write_record(folder.plan, make_plan(*cells))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    planned(tmp_path, "demo", ONE, TEN, OTHER)
    return tmp_path


@pytest.mark.parametrize("name", ["002-two--nop--r01", "002", "*--nop--*", "00[2]*"])
def test_a_cell_is_found_by_its_id_its_beginning_or_a_glob(runs: Path, name: str) -> None:
    found = find_cell(runs, name, None)
    assert (found.id, found.run.root.name) == (OTHER.id, "demo")
    assert found.folder.root == runs / "demo" / OTHER.id


def test_a_whole_id_is_not_the_beginning_of_another(runs: Path) -> None:
    longer = OTHER.model_copy(update={"id": f"{OTHER.id}0"})
    planned(runs, "demo", OTHER, longer)
    assert find_cell(runs, OTHER.id, None).id == OTHER.id


def test_a_cell_that_is_no_longer_planned_is_found_by_its_records(runs: Path) -> None:
    gone = make_cell("gone")
    write_record(runs / "demo" / gone.id / "cell.json", gone)
    (runs / "demo" / "old").mkdir()
    assert find_cell(runs, "*gone*", None).id == gone.id


def complaint(runs: Path, name: str, experiment: str | None = None) -> str:
    with pytest.raises(ConfigError) as error:
        find_cell(runs, name, experiment)
    return str(error.value)


def test_what_is_not_there_has_a_near_name(runs: Path) -> None:
    assert complaint(runs, "002-two--nop--r02") == (
        f"{runs}: there is no cell '002-two--nop--r02' among 3 cells; did you mean \"002-two--nop--r01\"?"
    )
    assert complaint(runs, "zzz") == f"{runs}: there is no cell 'zzz' among 3 cells"
    assert complaint(runs, "001", "demi") == (
        f"{runs}: there is no run of the experiment 'demi'; did you mean \"demo\"?"
    )


def test_without_runs_it_says_what_to_do_first(tmp_path: Path) -> None:
    assert (
        complaint(tmp_path, "x") == f"{tmp_path}: there is no cell 'x' among 0 cells; run `scylla-gha evaluate` first"
    )
    assert "there is no such folder; run `scylla-gha evaluate` first" in complaint(tmp_path / "none", "x")


def test_several_are_listed(runs: Path) -> None:
    assert complaint(runs, "001") == (
        f"'001': matches 2 cells; name one of them:\n  {ONE.id} of demo\n  {TEN.id} of demo"
    )
    planned(runs, "many", *(make_cell("oracle", number) for number in range(1, 31)))
    assert complaint(runs, "001", "many").endswith("\n  and 10 more")


def test_a_cell_of_several_experiments_needs_its_experiment(runs: Path) -> None:
    planned(runs, "again", ONE)
    message = complaint(runs, ONE.id)
    assert message == f"'{ONE.id}': is a cell of several experiments: again, demo; choose with --experiment"
    assert find_cell(runs, ONE.id, "again").run.root.name == "again"
    assert find_cell(runs, ONE.id, "config/experiments/demo.yaml").run.root.name == "demo"


def test_a_plan_that_is_none_is_named(runs: Path) -> None:
    (runs / "demo" / "plan.json").write_text("{")
    assert "demo/plan.json: not a Plan" in complaint(runs, "001")
