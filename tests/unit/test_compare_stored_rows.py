from pathlib import Path

import pytest

from scylla_gha.compare.result_set import plan_beside, read_rows, rows_file
from scylla_gha.errors import ConfigError
from scylla_gha.store import write_lines, write_record
from tests.support.frames import row
from tests.support.records import make_plan

ROWS = [row("arm", "001-a", 1), row("arm", "001-a", 1), row("arm", "001-a", 1, epoch="later")]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_lines(tmp_path / "runs" / "demo" / "results.jsonl", ROWS)
    return tmp_path / "runs" / "demo"


def test_a_run_is_found_by_name_folder_or_file(run: Path) -> None:
    expected = run / "results.jsonl"
    assert {rows_file(named, run.parent) for named in ("demo", str(run), str(expected), "x/demo.yaml")} == {expected}


def test_what_is_nowhere_is_named(run: Path) -> None:
    with pytest.raises(ConfigError, match=r"^none: neither a file of rows, nor a folder .* nor a run in .*runs; run"):
        rows_file("none", run.parent)


def test_each_row_is_taken_once_and_an_epoch_is_another_row(run: Path) -> None:
    assert [one.epoch for one in read_rows(run / "results.jsonl")] == ["", "later"]


def test_no_row_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ConfigError, match=r"empty.jsonl: holds no row; nothing was run$"):
        read_rows(tmp_path / "empty.jsonl")


def test_the_plan_beside_the_rows_is_known_where_there_is_one(run: Path) -> None:
    assert plan_beside(run / "results.jsonl") is None
    write_record(run / "plan.json", make_plan())
    assert plan_beside(run / "results.jsonl") == make_plan()
