from pathlib import Path

import pytest

from scylla_gha.collect.artifacts import ArtifactReader, ReceivedRows, missing_cells, read_artifacts, shard_bytes
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import WavePacking
from scylla_gha.model.trial import Outcome
from tests.support.records import make_excluded_result, make_plan, make_result
from tests.support.sent import CELLS, good, make_packing, rows_text, send

A, B = CELLS[:2]
LOST = make_excluded_result(A, Outcome.SANDBOX_ERROR)


def gathered(source: Path, packing: WavePacking | None = None, most: int = 1 << 30) -> ReceivedRows:
    return read_artifacts(source, ArtifactReader(make_plan(*CELLS), packing or make_packing()), most)


def row(found: ReceivedRows, cell: str) -> bytes:
    return found.rows[cell].text


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert gathered(tmp_path / "none") == ReceivedRows()


def test_one_bad_artifact_is_refused_whole_and_the_others_go_on(tmp_path: Path) -> None:
    send(tmp_path, good(A) + b"{}\n")
    send(tmp_path, good(*CELLS[2:]), shard=1)
    (tmp_path / "`rm`\n").mkdir()
    found = gathered(tmp_path)
    assert set(found.rows) == {CELLS[2].id, CELLS[3].id}
    assert [(one.artifact, one.reason[:20]) for one in found.refused] == [
        (r"'`rm`\n'", "its name does not ma"),
        ("scylla-rows-demo-000-1", "line 2 is not a row:"),
    ]
    assert (found.artifacts, found.latest_attempts) == (1, {1: 1})


def test_the_latest_attempt_stands(tmp_path: Path) -> None:
    for attempt in (10, 9):  # by number, not by name
        send(tmp_path, good(A, seconds=float(attempt)), attempt=attempt)
    assert row(gathered(tmp_path), A.id) == good(A, seconds=10.0)


def test_but_not_where_it_measures_nothing_and_an_earlier_one_does(tmp_path: Path) -> None:
    send(tmp_path, good(A, B), attempt=1)
    send(tmp_path, rows_text([LOST, make_result(B, seconds=9.0)]), attempt=2)
    found = gathered(tmp_path)
    assert (row(found, A.id), row(found, B.id)) == (good(A), good(B, seconds=9.0))


def test_of_attempts_that_measure_nothing_the_latest_stands(tmp_path: Path) -> None:
    send(tmp_path, rows_text([LOST]), attempt=1)
    send(tmp_path, rows_text([LOST.model_copy(update={"reason": "again"})]), attempt=2)
    assert b'"again"' in row(gathered(tmp_path), A.id)
    send(tmp_path, good(A), attempt=3)
    assert row(gathered(tmp_path), A.id) == good(A)


def test_a_refused_later_attempt_leaves_the_earlier_one(tmp_path: Path) -> None:
    send(tmp_path, good(A), attempt=1)
    send(tmp_path, b"{}\n", attempt=2)
    found = gathered(tmp_path)
    assert (row(found, A.id), len(found.refused)) == (good(A), 1)


def test_artifacts_of_an_earlier_plan_of_the_run_are_passed_over(tmp_path: Path) -> None:
    """All jobs were run again, the plan's included: what still holds of the first attempt came as reused rows."""
    send(tmp_path, good(A), attempt=1, said={"plan": "1" * 64})
    send(tmp_path, good(A), shard=7, attempt=1)
    send(tmp_path, good(A), attempt=2)
    send(tmp_path, good(A), shard=1, attempt=2, said={"plan": "1" * 64})
    found = read_artifacts(tmp_path, ArtifactReader(make_plan(*CELLS), make_packing(), 2), 1 << 30)
    assert (found.superseded, found.artifacts, set(found.rows)) == (2, 1, {A.id})
    assert [one.artifact for one in found.refused] == ["scylla-rows-demo-001-2"]  # of this attempt: that is no accident
    assert len(gathered(tmp_path).refused) == 3  # of no known attempt


def test_a_cell_is_unstarted_only_where_no_attempt_has_its_row(tmp_path: Path) -> None:
    send(tmp_path, good(A), attempt=1, said={"unstarted": {B.id: "time"}})
    send(tmp_path, good(B), attempt=2, said={"unstarted": {A.id: "again"}})
    assert gathered(tmp_path).unstarted == {}
    send(tmp_path, None, shard=1, said={"unstarted": {CELLS[2].id: "time"}})
    assert gathered(tmp_path).unstarted == {CELLS[2].id: "time"}


def test_all_rows_together_are_bounded(tmp_path: Path) -> None:
    for attempt in (1, 2, 3):
        send(tmp_path, good(A), attempt=attempt)
    most = 2 * len(good(A))
    found = gathered(tmp_path, most=most)
    (refused,) = found.refused
    assert refused.reason == f"all rows together exceed the limit of {most:,} bytes"
    assert shard_bytes(2) == 2 * 16_384 + 65_536


def test_a_folder_of_anything_else_is_named(tmp_path: Path) -> None:
    for at in range(10_001):
        (tmp_path / f"{at}").touch()
    with pytest.raises(ConfigError, match="contains more than 10000 entries; give the folder with one folder"):
        gathered(tmp_path)


def test_what_is_missing_is_told_with_the_reason(tmp_path: Path) -> None:
    shards = [[cell.id] for cell in CELLS[:3]]
    packing = make_packing(shards, reused=(CELLS[3].id,))
    send(tmp_path, b"")
    send(tmp_path, b"{}\n", shard=1)
    found = gathered(tmp_path, packing)
    assert missing_cells(packing, found, frozenset()) == {
        CELLS[0].id: "shard 000 (attempt 1) sent no row of this cell, and gave no reason",
        CELLS[1].id: f"the rows of shard 001 were refused: {found.refused[0].reason}",
        CELLS[2].id: "shard 002 sent nothing: its job failed, was cancelled, or has not run; re-run the failed jobs",
        CELLS[3].id: "its row should be reused, but is not in reused.jsonl; plan again",
    }
    assert CELLS[3].id not in missing_cells(packing, found, frozenset({CELLS[3].id}))


def test_the_files_of_the_only_artifact_may_lie_in_the_folder_itself(tmp_path: Path) -> None:
    found = gathered(send(tmp_path, good(*CELLS[2:]), shard=1, attempt=2))
    assert (set(found.rows), found.latest_attempts, found.refused) == ({cell.id for cell in CELLS[2:]}, {1: 2}, [])


def test_the_only_artifact_is_checked_as_any_other(tmp_path: Path) -> None:
    source = send(tmp_path, good(A), shard=1)  # a cell of shard 0
    assert [one.artifact for one in gathered(source).refused] == ["scylla-rows-demo-001-1"]
    (source / "manifest.json").write_text("{}")
    assert [(one.artifact, one.reason) for one in gathered(source).refused] == [
        ("'the only artifact'", "its name does not match a shard of this wave")
    ]


def test_artifacts_with_a_prefix_and_those_of_before_the_plan(tmp_path: Path) -> None:
    for attempt in (1, 2):
        place = send(tmp_path, good(A, seconds=float(attempt)), attempt=attempt)
        place.rename(place.with_name(f"base-{place.name}"))
    reader = ArtifactReader(make_plan(*CELLS), make_packing(), prefix="base-", since=2)
    found = read_artifacts(tmp_path, reader, 1 << 30)
    assert (found.superseded, row(found, A.id), found.refused) == (1, good(A, seconds=2.0), [])
    flat = read_artifacts(tmp_path / "base-scylla-rows-demo-000-1", reader, 1 << 30)
    assert (flat.superseded, flat.rows) == (1, {})
