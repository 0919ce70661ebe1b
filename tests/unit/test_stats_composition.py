import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.composition import budget_area, budget_curve, shares
from tests.support.numbers import FIXED

TRIES = st.lists(st.tuples(st.floats(0, 10), st.booleans()), min_size=1, max_size=15)


@FIXED
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 9)), min_size=1, max_size=9))
def test_shares_are_of_the_sums_and_sum_to_one(units: list[tuple[int, int, int]]) -> None:
    found = shares(units)
    assert found is not None
    assert found.sum() == pytest.approx(1)
    assert found[0] == pytest.approx(sum(unit[0] for unit in units) / sum(map(sum, units)))
    assert shares(units[::-1]) == pytest.approx(found)


def test_one_large_unit_outweighs_small_ones() -> None:
    assert shares([[1, 0], [1, 0], [0, 98]]) == pytest.approx(np.array([0.02, 0.98]))


@pytest.mark.parametrize("parts", [[0, 0], [[0, 0], [0, 0]], [], [[]]])
def test_nothing_has_no_parts(parts: list[float]) -> None:
    assert shares(parts) is None


def test_negative_and_unknown_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="must not be below 0"):
        shares([1, -1])
    with pytest.raises(ValueError, match="NaN"):
        shares([1, np.nan])


@FIXED
@given(TRIES)
def test_a_curve_counts_who_succeeds_within_the_budget_and_its_area_is_the_mean_of_it(
    tries: list[tuple[float, bool]],
) -> None:
    cost, success = [paid for paid, _ in tries], [won for _, won in tries]
    budgets = [0.0, 5.0, 10.0]
    expected = [sum(won and paid <= budget for paid, won in tries) / len(tries) for budget in budgets]
    assert budget_curve(cost, success, budgets).tolist() == expected
    steps = np.sort([0.0, 8.0, *(paid for paid in cost if paid < 8)])
    area = float(np.diff(steps) @ budget_curve(cost, success, steps[:-1])) / 8
    assert budget_area(cost, success, 8.0) == pytest.approx(area, abs=1e-12)


def test_a_failure_costs_no_success_however_cheap() -> None:
    assert budget_area([0, 0], [0, 0], 1.0) == 0.0
    assert budget_area([0, 0], [1, 0], 1.0) == 0.5
    assert budget_area([0.5, 2], [1, 1], 1.0) == 0.25


def test_no_tries_have_no_rate() -> None:
    assert budget_area([], [], 1.0) is None
    assert np.isnan(budget_curve([], [], [1, 2])).tolist() == [True, True]


@pytest.mark.parametrize(("cost", "success"), [([-1], [1]), ([1], [0.5])])
def test_what_is_no_cost_or_no_success_is_refused(cost: list[float], success: list[float]) -> None:
    with pytest.raises(ValueError, match="a cost must not be below 0, and a success must be 0 or 1"):
        budget_curve(cost, success, [1])


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_the_limit_must_leave_room(limit: float) -> None:
    with pytest.raises(ValueError, match="limit must be above 0"):
        budget_area([1], [1], limit)
