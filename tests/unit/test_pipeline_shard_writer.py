import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.model.plan import Shard, ShardManifest, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.pipeline.shard_worker import ShardCells, ShardWriter
from scylla_gha.store.records import read_record, write_record
from scylla_gha.store.run_folder import RunFolder, ShardPaths
from tests.support.library import write_scenario
from tests.support.records import make_cell, make_plan, make_result, make_scenario, make_trial

CELLS = tuple(make_cell("nop", repetition) for repetition in range(1, 41))
PLAN = make_plan(*CELLS)
SHARD = Shard(number=3, cells=tuple(cell.id for cell in CELLS), minutes=1.0)
PACKING = WavePacking(experiment="demo", plan="0" * 64, campaign="c", lanes=1, minutes=1.0, shards=(SHARD,),
                  footing={"agent nop": "1", "python": "3"})  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Library:
    write_scenario(tmp_path, make_scenario())
    return Library((tmp_path,))


def gathering(root: Path, *taken: Result) -> tuple[ShardWriter, ShardPaths]:
    shelf = ShardPaths(root / "shards" / "003")
    return ShardWriter(ShardCells(PLAN, PACKING, SHARD), 2, shelf, {row.cell: row for row in taken}), shelf


def manifest(shelf: ShardPaths) -> ShardManifest:
    found = read_record(shelf.manifest, ShardManifest)
    assert found is not None
    assert found.sha256 == hashlib.sha256(shelf.rows.read_bytes()).hexdigest()
    assert found.count == len(shelf.rows.read_text().splitlines())
    return found


def test_before_any_cell_all_are_missing(tmp_path: Path) -> None:
    made, shelf = gathering(tmp_path)
    missing = made.write()
    assert list(missing) == list(SHARD.cells)
    found = manifest(shelf)
    assert (found.shard, found.attempt, found.count, found.unstarted) == (3, 2, 0, missing)
    assert found.versions["agent nop"] == "1"
    assert set(found.versions) == {"scylla-gha", "python", "system", "agent nop"}


def test_rows_stand_in_the_shards_order_and_are_whole_after_each_cell(tmp_path: Path, library: Library) -> None:
    made, shelf = gathering(tmp_path, make_result(CELLS[1]))
    folder = RunFolder(tmp_path / "run")
    for cell in (CELLS[2], CELLS[0]):
        write_record(folder.cell(cell.id).trial, make_trial(cell))
        made.add(PLAN, cell, folder, library)
        manifest(shelf)
    rows = [json.loads(line)["cell"] for line in shelf.rows.read_text().splitlines()]
    assert rows == [CELLS[0].id, CELLS[1].id, CELLS[2].id]
    assert (made.count, manifest(shelf).carried) == (3, 1)


def test_reasons_are_those_that_were_given(tmp_path: Path) -> None:
    made, shelf = gathering(tmp_path, make_result(CELLS[0]))
    made.write({CELLS[0].id: "not so", CELLS[1].id: "no money", CELLS[3].id: "x" * 9_000})
    found = manifest(shelf).unstarted
    assert CELLS[0].id not in found
    assert found[CELLS[1].id] == "no money"
    assert found[CELLS[3].id] == "x" * 600
    assert found[CELLS[2].id].startswith("the job ended before the cell was started")


def test_a_cell_without_a_trial_adds_no_row(tmp_path: Path, library: Library) -> None:
    made, _ = gathering(tmp_path)
    made.add(PLAN, CELLS[0], RunFolder(tmp_path / "run"), library)
    assert made.count == 0


def test_many_lanes_lose_nothing(tmp_path: Path, library: Library) -> None:
    made, shelf = gathering(tmp_path)
    folder = RunFolder(tmp_path / "run")
    for cell in CELLS:
        write_record(folder.cell(cell.id).trial, make_trial(cell))
    with ThreadPoolExecutor(8) as lanes:
        list(lanes.map(lambda cell: made.add(PLAN, cell, folder, library), CELLS))
    assert manifest(shelf).count == len(CELLS)
