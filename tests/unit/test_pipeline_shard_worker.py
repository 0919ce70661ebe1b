"""What a job has to spend, and that it does nothing where nothing is left; the rest is in tests/integration."""

import time
from pathlib import Path

import pytest

from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import RefusedError
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.pipeline.shard_worker import (
    ShardOptions,
    ShardOutcome,
    ShardWriter,
    load_shard,
    run_shard,
)
from scylla_gha.plan.budget import budgets_left
from scylla_gha.store.run_folder import RunFolder, WavePaths
from tests.support.records import make_experiment, make_result
from tests.support.shards import make_shop


def test_what_is_left_of_budgets_is_told_by_role() -> None:
    experiment = make_experiment(budget_usd=10.0, role_budget_usd=RoleBudgets(agent=5.0, judge=3.0))
    left = budgets_left(experiment, [make_result(usd=1.0, judge_usd=0.5), make_result(usd=None, judge_usd=None)])
    assert (left.budget_usd, left.role_budget_usd) == (8.5, RoleBudgets(agent=4.0, judge=2.5))
    assert budgets_left(make_experiment(), [make_result(usd=1.0)]) == make_experiment()


@pytest.mark.parametrize(
    ("budgets", "field"),
    [({"agent": 1.0}, "role_budget_usd.agent"), ({"judge": 0.5}, "role_budget_usd.judge")],
)
def test_a_role_whose_budget_is_spent_is_named(budgets: dict[str, float], field: str) -> None:
    experiment = make_experiment(role_budget_usd=RoleBudgets.model_validate(budgets))
    with pytest.raises(RefusedError, match=rf"{field} of \$.* is spent: the rows that are there cost"):
        budgets_left(experiment, [make_result(usd=1.0, judge_usd=0.5)])


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
