"""What a job has to spend, and that it does nothing where nothing is left; the rest is in tests/integration."""

import time
from pathlib import Path

import pytest

from scylla_gha.cli.assignment import assignment
from scylla_gha.cli.duty import Duty, Left, Terms, budgets_left, perform
from scylla_gha.cli.gathering import Gathering
from scylla_gha.cli.sources import Sources
from scylla_gha.config.library import Library
from scylla_gha.errors import RefusedError
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.shelves import Shelves
from scylla_gha.store import RunFolder
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
    given = assignment(folder, 0)
    taken = {cell.id: make_result(cell) for cell in given.plan.cells}
    gathering = Gathering(given.packing, given.shard, 2, Shelves(shop.run).shard(0), taken)
    library = Library((Path("/nowhere"),))
    terms = Terms(1, time.monotonic() + 60, yes=False, exposed=False)
    assert perform(Duty(given, folder, Sources(library), gathering), taken, terms) == Left({})
    assert (shop.manifest().count, shop.manifest().carried) == (4, 4)
