import hashlib
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.model.plan import Shard, WavePacking
from scylla_gha.pipeline.shard_worker import load_shard
from scylla_gha.store.records import write_record
from scylla_gha.store.run_folder import RunFolder, WavePaths
from tests.support.records import make_cell, make_experiment, make_plan

CELLS = (make_cell("oracle"), make_cell("nop"), make_cell("nop", 2))
FIRST, SECOND, THIRD = (cell.id for cell in CELLS)


def write(root: Path, *shards: Shard, left: tuple[str, ...] = ()) -> RunFolder:
    folder = RunFolder(root)
    write_record(folder.plan, make_plan(*CELLS, experiment=make_experiment(budget_usd=9.0)))
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
    write_record(folder.plan, make_plan(*CELLS))
    with pytest.raises(ConfigError, match="there is no such file; `scylla-gha plan demo --github` writes it"):
        load_shard(folder, 0)


def test_a_packing_that_lost_a_cell_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, Shard(number=0, cells=(FIRST, SECOND), minutes=1.0))
    with pytest.raises(ConfigError, match=f"{THIRD}: is lost"):
        load_shard(folder, 0)
