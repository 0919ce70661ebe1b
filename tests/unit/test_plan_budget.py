import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scylla_gha.errors import RefusedError
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.plan.budget import BudgetClaim, budgets_left, split_budget
from tests.support.records import make_experiment, make_result


def test_without_a_budget_nobody_has_a_part() -> None:
    assert split_budget("budget_usd", None, [BudgetClaim(1.0, 1.0, 1)] * 2) == [None, None]
    assert split_budget("budget_usd", 1.0, []) == []


def test_a_part_is_what_a_cell_may_need_and_the_rest_by_likely_cost() -> None:
    assert split_budget("budget_usd", 10.0, [BudgetClaim(1.0, 3.0, 5), BudgetClaim(1.0, 1.0, 5)]) == pytest.approx(
        [7.0, 3.0]
    )


@pytest.mark.parametrize("usd", [None, 0.0])
def test_where_the_cost_is_unknown_or_nothing_it_goes_by_cells(usd: float | None) -> None:
    assert split_budget("budget_usd", 9.0, [BudgetClaim(0.0, usd, 1), BudgetClaim(0.0, usd, 2)]) == pytest.approx(
        [3.0, 6.0]
    )


def test_a_shard_that_is_likely_to_cost_nothing_has_a_little() -> None:
    first, second = split_budget("budget_usd", 9.0, [BudgetClaim(0.0, 0.0, 1), BudgetClaim(0.0, 5.0, 2)])
    assert first is not None
    assert 0 < first < 0.001
    assert second == pytest.approx(9.0, abs=0.001)


def test_a_budget_of_which_a_job_could_start_nothing_is_refused() -> None:
    with pytest.raises(RefusedError) as caught:
        split_budget("budget_usd", 100.0, [BudgetClaim(2.0, 0.2, 10)] * 51)
    assert str(caught.value) == (
        "budget_usd: $100.00 are left for 51 jobs, each of which may need limits.usd for a single cell, "
        "$102.00 together, so some could start none; raise --budget-usd, lower limits.usd, or "
        "plan fewer jobs (--most-shards)"
    )


CLAIMS = st.builds(BudgetClaim, st.floats(0, 1), st.none() | st.floats(0, 1e4), st.integers(1, 500))


@example(100.0, [BudgetClaim(0.5, 5e-324, 1)])
@given(st.floats(100, 1e6), st.lists(CLAIMS, min_size=1, max_size=90))
def test_the_parts_are_the_whole_and_each_starts_a_cell(budget: float, claims: list[BudgetClaim]) -> None:
    parts = [part for part in split_budget("budget_usd", budget, claims) if part is not None]
    assert math.fsum(parts) == pytest.approx(budget)
    assert all(part > 0 and part >= claim.need for part, claim in zip(parts, claims, strict=True))


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
    with pytest.raises(RefusedError, match=rf"{field} of \$.* is spent: the stored rows cost"):
        budgets_left(experiment, [make_result(usd=1.0, judge_usd=0.5)])
