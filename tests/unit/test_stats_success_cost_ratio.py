import numpy as np
import pytest

from scylla_gha.stats.success_cost import macro_success_cost_interval
from scylla_gha.stats.success_cost_ratio import Attempts, success_cost_ratio
from tests.support.numbers import known

COST, RATE = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 0.5, 0.0, 1.0])
ONE = Attempts(COST, RATE, 8, 5.0)


def test_it_is_the_ratio_of_what_a_success_costs_on_each_side() -> None:
    other = Attempts(np.array([2.0, 2.0, 1.0, 1.0]), np.array([0.5, 1.0, 1.0, 1.0]), 8, 7.0)
    found, back = success_cost_ratio(ONE, other), success_cost_ratio(other, ONE)
    assert found is not None
    assert found.estimate == pytest.approx((2.5 / 0.625) / (1.5 / 0.875))
    assert (found.status, found.n) == ("ok", 4)
    assert known(back) == pytest.approx(tuple(1 / part for part in reversed(known(found))))
    inner = known(success_cost_ratio(ONE, other, confidence=0.9))
    low, estimate, high = known(found)
    assert low < inner[0] < estimate == inner[1] < inner[2] < high


def test_against_a_side_without_spread_it_is_as_wide_as_the_interval_of_one() -> None:
    """Rates of that side are those of so many attempts that its floor is nothing."""
    flat = Attempts(np.full(4, 2.0), np.full(4, 0.5), 10**9, 5e8)
    cost, won = np.array([1.0, 1.0, 3.0, 1.0, 4.0, 4.0, 3.0, 3.0]), np.array([1, 1, 0, 1, 0, 0, 1, 1])
    alone = macro_success_cost_interval(cost, won, np.repeat(np.arange(4), 2))
    ratio = success_cost_ratio(ONE, flat)
    assert known(ratio) == pytest.approx(tuple(part / 4 for part in known(alone)), rel=1e-6)


def test_never_to_have_failed_is_no_certainty() -> None:
    sure = Attempts(np.full(3, 1.0), np.full(3, 1.0), 9, 9.0)
    found = success_cost_ratio(sure, sure)
    low, _, high = known(found)
    assert low < 0.9
    assert high > 1.1


def test_what_is_infinite_free_or_alone_has_no_ratio_or_no_limits() -> None:
    none, free = Attempts(COST, np.zeros(4), 8, 0.0), Attempts(np.zeros(4), RATE, 8, 5.0)
    empty = Attempts(np.zeros(0), np.zeros(0), 0, 0.0)
    assert success_cost_ratio(ONE, none) is success_cost_ratio(free, ONE) is success_cost_ratio(empty, empty) is None
    lone = Attempts(np.array([2.0]), np.array([0.5]), 2, 1.0)
    found = success_cost_ratio(lone, lone)
    assert found is not None
    assert (found.estimate, found.low, found.status) == (1.0, None, "point")
