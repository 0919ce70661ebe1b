"""Intervals of ratios and of the cost of a success."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.ratios import (
    Attempts,
    fieller_interval,
    macro_success_cost_interval,
    ratio_interval,
    success_cost_interval,
    success_cost_ratio,
)
from tests.support.numbers import FIXED, known

COST, WON = [0.5, 0.7, 0.4, 0.9, 1.0], [1, 0, 1, 1, 1]
ONE = Attempts(np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 0.5, 0.0, 1.0]), 8, 5.0)


@FIXED
@given(st.lists(st.tuples(st.integers(1, 72), st.integers(1, 72)), min_size=2, max_size=9))
def test_a_ratio_scales_with_its_parts_and_its_inverse_has_the_inverse_limits(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    found = ratio_interval(x, y)
    assert found is not None
    assert found.estimate == pytest.approx(x.sum() / y.sum())
    if found.status == "ok":
        low, estimate, high = known(found)
        assert low < estimate < high
        assert known(ratio_interval(3 * x, y)) == pytest.approx((3 * low, 3 * estimate, 3 * high))
        assert known(ratio_interval(y, x)) == pytest.approx((1 / high, 1 / estimate, 1 / low))


def test_a_ratio_has_the_delta_method_s_limits() -> None:
    x, y = np.array([1.0, 2.0, 1.5, 3.0, 2.5]), np.array([1.0, 1.0, 0.5, 2.0, 1.0])
    (a, c), (_, b) = np.cov(x, y) / 5
    half = stats.t.ppf(0.975, 4) * math.sqrt(a / x.mean() ** 2 + b / y.mean() ** 2 - 2 * c / x.mean() / y.mean())
    expected = np.exp(np.array([-half, half])) * x.sum() / y.sum()
    assert known(ratio_interval(x, y))[::2] == pytest.approx(tuple(expected))


def test_ratios_without_limits() -> None:
    for x, y in (([1, 2, 3], [2, 4, 6]), ([0, 0], [1, 2]), ([1], [2])):
        found = ratio_interval(x, y)
        assert found is not None
        assert found.status == "point"
    assert ratio_interval([1, 2], [0, 0]) is ratio_interval([], []) is None
    with pytest.raises(ValueError, match="must not be below 0"):
        ratio_interval([-1, -2], [1, 1])


def test_an_upper_limit_that_a_double_cannot_hold_is_infinite() -> None:
    labels = [*[0] * 10_000, *range(1, 500)]
    vast = macro_success_cost_interval(np.ones(len(labels)), np.arange(len(labels)) == 0, labels)
    assert vast is not None
    assert (vast.status, vast.high) == ("unbounded", None)


def test_a_perfect_success_rate_leaves_the_cost_of_a_success_uncertain() -> None:
    low, estimate, high = known(success_cost_interval([1.0] * 5, [1] * 5))
    assert estimate == 1
    assert low < 0.72
    assert high > 1.35


def test_without_a_success_clusters_count_and_not_attempts() -> None:
    one = macro_success_cost_interval([2.0] * 12, [0] * 12, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    assert one is not None
    assert (one.estimate, one.status, one.n) == (None, "infinite", 3)
    assert one.low == pytest.approx(2 / (1 - 0.05 ** (1 / 3)))


def test_cost_of_a_success_over_clusters_of_one_or_in_one_cluster_is_that_of_attempts() -> None:
    plain = success_cost_interval(COST, WON)
    assert macro_success_cost_interval(COST, WON, ["only"] * 5) == plain
    assert known(macro_success_cost_interval(COST, WON, range(5))) == pytest.approx(known(plain))
    assert success_cost_interval([], []) is None
    for cost, won in (([-1.0], [1]), ([1.0], [0.5])):
        with pytest.raises(ValueError, match="costs must not be below 0, and a success is 0 or 1"):
            success_cost_interval(cost, won)


def test_a_ratio_of_costs_is_that_of_both_sides_and_turns_with_them() -> None:
    other = Attempts(np.array([2.0, 2.0, 1.0, 1.0]), np.array([0.5, 1.0, 1.0, 1.0]), 8, 7.0)
    found, back = known(success_cost_ratio(ONE, other)), known(success_cost_ratio(other, ONE))
    assert found[1] == pytest.approx((2.5 / 0.625) / (1.5 / 0.875))
    assert back == pytest.approx(tuple(1 / part for part in reversed(found)))
    inner = known(success_cost_ratio(ONE, other, confidence=0.9))
    assert found[0] < inner[0] < inner[1] < inner[2] < found[2]


def test_a_ratio_to_a_side_without_spread_is_as_wide_as_the_interval_of_one() -> None:
    flat = Attempts(np.full(4, 2.0), np.full(4, 0.5), 10**9, 5e8)  # so many that its least variance is nothing
    cost, won = np.array([1.0, 1.0, 3.0, 1.0, 4.0, 4.0, 3.0, 3.0]), np.array([1, 1, 0, 1, 0, 0, 1, 1])
    alone = macro_success_cost_interval(cost, won, np.repeat(np.arange(4), 2))
    assert known(success_cost_ratio(ONE, flat)) == pytest.approx(tuple(x / 4 for x in known(alone)), rel=1e-6)


def test_what_is_infinite_free_or_alone_has_no_ratio_of_costs_or_no_limits() -> None:
    none, free = Attempts(ONE.cost, np.zeros(4), 8, 0.0), Attempts(np.zeros(4), ONE.rate, 8, 5.0)
    empty = Attempts(np.zeros(0), np.zeros(0), 0, 0.0)
    assert success_cost_ratio(ONE, none) is success_cost_ratio(free, ONE) is success_cost_ratio(empty, empty) is None
    lone = Attempts(np.array([2.0]), np.array([0.5]), 2, 1.0)
    found = success_cost_ratio(lone, lone)
    assert found is not None
    assert (found.estimate, found.low, found.status) == (1.0, None, "point")


@pytest.mark.parametrize("seed", range(5))
def test_fieller_limits_are_the_ratios_that_a_t_test_just_rejects(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.uniform(0.2, 1.0, 9)
    x = 0.4 * y + rng.normal(0, 0.2, 9)
    found = fieller_interval(x, y)
    low, estimate, high = known(found)
    assert estimate == pytest.approx(x.mean() / y.mean())
    for limit in (low, high):
        assert stats.ttest_1samp(x - limit * y, 0.0).pvalue == pytest.approx(0.05)


def test_fieller_without_spread_of_the_bottom_is_the_interval_of_a_mean() -> None:
    x = [0.1, 0.4, 0.3, 0.7]
    found, mean = fieller_interval(x, [0.5] * 4), stats.ttest_1samp(x, 0.0).confidence_interval()
    assert known(found)[::2] == (pytest.approx(mean.low / 0.5), pytest.approx(mean.high / 0.5))


@pytest.mark.parametrize(
    ("x", "y", "status"),
    [
        ([1, 2, 3], [-1, 0, 1], None),
        ([1, 2, 3], [-0.1, 0.2, 0.1], None),
        ([1], [1], None),
        ([], [], None),
        ([1, 1], [1, 1], "point"),
        ([1, -2, 1.5], [-1, -1.1, -0.9], "ok"),
    ],
)
def test_fieller_has_no_limits_unless_they_are_bounded(x: list[float], y: list[float], status: str | None) -> None:
    found = fieller_interval(x, y)
    assert (found.status if found else None) == status
