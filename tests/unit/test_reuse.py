import datetime
from pathlib import Path

from scylla_gha.config.library import Library
from scylla_gha.reuse import reusable, stored_rows
from scylla_gha.store import write_lines
from tests.support.library import write
from tests.support.records import WHEN, make_cell, make_plan, make_result

CELL = make_cell()
PLAN = make_plan(CELL)
LATER = WHEN + datetime.timedelta(hours=1)


def test_the_newest_row_under_the_same_key_is_taken(tmp_path: Path) -> None:
    rows = [make_result(CELL, started_at=when, seconds=seconds) for when, seconds in ((WHEN, 1.0), (LATER, 2.0))]
    write_lines(tmp_path / "a" / "results.jsonl", [*rows, make_result(CELL, key="other", seconds=3.0)])
    found = reusable([tmp_path], PLAN, Library((tmp_path,)))
    assert {name: row.seconds for name, row in found.items()} == {CELL.id: 2.0}


def test_a_row_that_is_too_old_is_not_taken(tmp_path: Path) -> None:
    write_lines(tmp_path / "rows.jsonl", [make_result(CELL, started_at=WHEN)])
    for limit, count in ((WHEN, 1), (LATER, 0)):
        plan = PLAN.model_copy(update={"not_before": limit})
        assert len(reusable([tmp_path / "rows.jsonl"], plan, Library((tmp_path,)))) == count


def test_what_is_no_row_is_passed_over_and_what_is_not_there_has_none(tmp_path: Path) -> None:
    write(tmp_path / "rows.jsonl", 'no row\n{"cell": 1}\n' + make_result(CELL).model_dump_json() + "\n")
    assert [row.cell for row in stored_rows([tmp_path / "none", tmp_path / "rows.jsonl"])] == [CELL.id]
