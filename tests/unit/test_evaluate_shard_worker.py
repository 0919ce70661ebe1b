"""Shards: their cells, their rows, and a job without work; running jobs is tested in tests/integration."""

import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.shard_worker import (
    ShardCells,
    ShardOptions,
    ShardOutcome,
    ShardWriter,
    load_shard,
    run_shard,
)
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.model.plan import Shard, ShardManifest, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.store import read_record, write_record
from scylla_gha.store.run_folder import RunFolder, ShardPaths, WavePaths
from tests.support.library import write_scenario
from tests.support.records import make_cell, make_experiment, make_plan, make_result, make_scenario, make_trial
from tests.support.shards import make_shop


def test_where_every_row_is_there_nothing_is_opened(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan("--most-shards", "1")
    folder = RunFolder(shop.run)
    shard_cells = load_shard(folder, 0)
    taken = {cell.id: make_result(cell) for cell in shard_cells.plan.cells}
    writer = ShardWriter(shard_cells, 2, WavePaths(shop.run).shard(0), taken)
    library = Library((Path("/nowhere"),))
    options = ShardOptions(1, time.monotonic() + 60, yes=False, exposed=False)
    assert run_shard(shard_cells, folder, ConfigSources(library), writer, options) == ShardOutcome({})
    assert (shop.manifest().count, shop.manifest().carried) == (4, 4)


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
    paths = ShardPaths(root / "shards" / "003")
    return ShardWriter(ShardCells(PLAN, PACKING, SHARD), 2, paths, {row.cell: row for row in taken}), paths


def manifest(paths: ShardPaths) -> ShardManifest:
    found = read_record(paths.manifest, ShardManifest)
    assert found is not None
    assert found.sha256 == hashlib.sha256(paths.rows.read_bytes()).hexdigest()
    assert found.count == len(paths.rows.read_text().splitlines())
    return found


def test_before_any_cell_all_are_missing(tmp_path: Path) -> None:
    made, paths = gathering(tmp_path)
    missing = made.write()
    assert list(missing) == list(SHARD.cells)
    found = manifest(paths)
    assert (found.shard, found.attempt, found.count, found.unstarted) == (3, 2, 0, missing)
    assert found.versions["agent nop"] == "1"
    assert set(found.versions) == {"scylla-gha", "python", "system", "agent nop"}


def test_rows_stand_in_the_shards_order_and_are_whole_after_each_cell(tmp_path: Path, library: Library) -> None:
    made, paths = gathering(tmp_path, make_result(CELLS[1]))
    folder = RunFolder(tmp_path / "run")
    for cell in (CELLS[2], CELLS[0]):
        write_record(folder.cell(cell.id).trial, make_trial(cell))
        made.add(PLAN, cell, folder, library)
        manifest(paths)
    rows = [json.loads(line)["cell"] for line in paths.rows.read_text().splitlines()]
    assert rows == [CELLS[0].id, CELLS[1].id, CELLS[2].id]
    assert (made.count, manifest(paths).carried) == (3, 1)


def test_reasons_are_those_that_were_given(tmp_path: Path) -> None:
    made, paths = gathering(tmp_path, make_result(CELLS[0]))
    made.write({CELLS[0].id: "not so", CELLS[1].id: "no money", CELLS[3].id: "x" * 9_000})
    found = manifest(paths).unstarted
    assert CELLS[0].id not in found
    assert found[CELLS[1].id] == "no money"
    assert found[CELLS[3].id] == "x" * 600
    assert found[CELLS[2].id].startswith("the job ended before the cell was started")


def test_a_cell_without_a_trial_adds_no_row(tmp_path: Path, library: Library) -> None:
    made, _ = gathering(tmp_path)
    made.add(PLAN, CELLS[0], RunFolder(tmp_path / "run"), library)
    assert made.count == 0


def test_many_lanes_lose_nothing(tmp_path: Path, library: Library) -> None:
    made, paths = gathering(tmp_path)
    folder = RunFolder(tmp_path / "run")
    for cell in CELLS:
        write_record(folder.cell(cell.id).trial, make_trial(cell))
    with ThreadPoolExecutor(8) as lanes:
        list(lanes.map(lambda cell: made.add(PLAN, cell, folder, library), CELLS))
    assert manifest(paths).count == len(CELLS)


THREE_CELLS = (make_cell("oracle"), make_cell("nop"), make_cell("nop", 2))


FIRST, SECOND, THIRD = (cell.id for cell in THREE_CELLS)


def write(root: Path, *shards: Shard, left: tuple[str, ...] = ()) -> RunFolder:
    folder = RunFolder(root)
    write_record(folder.plan, make_plan(*THREE_CELLS, experiment=make_experiment(budget_usd=9.0)))
    digest = hashlib.sha256(folder.plan.read_bytes()).hexdigest()
    write_record(
        WavePaths(root).packing,
        WavePacking(experiment="demo", plan=digest, campaign="c", lanes=1, minutes=1.0, shards=shards, left=left),
    )
    return folder


def test_a_job_has_its_cells_alone_in_its_order_with_its_part_of_the_budgets(tmp_path: Path) -> None:
    one = Shard(number=0, cells=(THIRD, SECOND), minutes=1.0, budget_usd=2.0, role_budget_usd=RoleBudgets(judge=1.0))
    given = load_shard(write(tmp_path, one, left=(FIRST,)), 0)
    assert [cell.id for cell in given.plan.cells] == [THIRD, SECOND]
    assert [arm.id for arm in given.plan.arms] == ["nop"]
    experiment = given.plan.experiment
    assert (experiment.budget_usd, experiment.role_budget_usd) == (2.0, RoleBudgets(judge=1.0))
    assert given.shard == one


def test_a_shard_that_is_not_there_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, Shard(number=0, cells=(FIRST, SECOND, THIRD), minutes=1.0))
    with pytest.raises(ConfigError, match=r"--shard 1: .*shards.json has the shards 0 to 0$"):
        load_shard(folder, 1)


def test_without_a_packing_it_says_who_writes_it(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "demo")
    write_record(folder.plan, make_plan(*THREE_CELLS))
    with pytest.raises(ConfigError, match="there is no such file; `scylla-gha plan demo --github` writes it"):
        load_shard(folder, 0)


def test_a_packing_that_lost_a_cell_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, Shard(number=0, cells=(FIRST, SECOND), minutes=1.0))
    with pytest.raises(ConfigError, match=f"{THIRD}: is lost"):
        load_shard(folder, 0)
