import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scylla_gha.errors import RefusedError
from scylla_gha.plan.budget import BudgetClaim, split_budget


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
        "budget_usd: $100.00 are for 51 jobs, each of which may need limits.usd for a single cell, $102.00 together, "
        "so some could start none; raise --budget-usd, lower limits.usd, or plan fewer jobs (--most-shards)"
    )


CLAIMS = st.builds(BudgetClaim, st.floats(0, 1), st.none() | st.floats(0, 1e4), st.integers(1, 500))


@example(100.0, [BudgetClaim(0.5, 5e-324, 1)])
@given(st.floats(100, 1e6), st.lists(CLAIMS, min_size=1, max_size=90))
def test_the_parts_are_the_whole_and_each_starts_a_cell(budget: float, claims: list[BudgetClaim]) -> None:
    parts = [part for part in split_budget("budget_usd", budget, claims) if part is not None]
    assert math.fsum(parts) == pytest.approx(budget)
    assert all(part > 0 and part >= claim.need for part, claim in zip(parts, claims, strict=True))
