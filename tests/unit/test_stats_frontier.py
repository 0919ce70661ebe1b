import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.ratios import pareto_set, pooled_frontier, resampled_frontier, strata_frontier
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED

COST = [[2.0, 2.0], [6.0, 1.2]]
WON = [[2, 1], [2, 1]]
FEW = Resampling(draws=2_000, seed=3)


def test_strata_apart_are_cheaper_than_any_one_arm() -> None:
    assert strata_frontier(COST, WON).cost == pytest.approx(1.1)
    assert pooled_frontier(COST, WON).cost == pytest.approx(4 / 3)
    assert pooled_frontier(COST, WON).best == (0,)


def test_ties_are_all_named() -> None:
    assert pooled_frontier([[1.0], [1.0], [2.0]], [[1], [1], [1]]).best == (0, 1)


def test_a_stratum_without_a_success_makes_it_infinite_unless_there_is_an_outside_price() -> None:
    cost, won = [[1.0, 1.0], [3.0, 2.0]], [[1, 0], [1, 0]]
    found = strata_frontier(cost, won)
    assert (found.cost, found.unsolved, found.strata) == (None, 1, 2)
    assert strata_frontier(cost, won, outside=20.0).cost == pytest.approx(10.5)
    assert pooled_frontier(cost, won).cost == 2
    assert pooled_frontier([[1.0]], [[0]]).cost is None
    assert pooled_frontier([[1.0]], [[0]]).best == ()


def test_an_outside_price_below_all_arms_is_the_frontier() -> None:
    assert strata_frontier(COST, WON, outside=0.02).cost == pytest.approx(0.02)


def test_arms_without_an_attempt_are_left_out() -> None:
    nan = math.nan
    cost, won = [[1.0, nan, nan], [nan, 4.0, nan], [nan, nan, nan]], [[1, nan, nan], [nan, 2, nan], [nan, nan, nan]]
    found = strata_frontier(cost, won)
    assert (found.cost, found.strata, found.unsolved) == (1.5, 2, 0)
    assert pooled_frontier(cost, won).best == (0,)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 3)])
def test_nothing_is_unknown(shape: tuple[int, int]) -> None:
    empty = np.zeros(shape)
    assert strata_frontier(empty, empty).cost is None
    assert strata_frontier(empty, empty).unsolved == 0
    assert pooled_frontier(empty, empty).cost is None


@pytest.mark.parametrize(
    ("cost", "won", "message"),
    [
        ([1.0], [1.0], "shape"),
        ([[1.0]], [[1.0, 2.0]], "shape"),
        ([[math.nan]], [[1.0]], "same places"),
        ([[-1.0]], [[1.0]], "not below 0"),
        ([[math.inf]], [[1.0]], "finite"),
    ],
)
def test_invalid_tables_are_refused(cost: list[float], won: list[float], message: str) -> None:
    for frontier in (strata_frontier, pooled_frontier):
        with pytest.raises(ValueError, match=message):
            frontier(cost, won)


def test_every_arm_may_be_the_cheapest_and_limits_hold_the_estimate() -> None:
    rng = np.random.default_rng(5)
    cost = rng.lognormal(0, 0.5, (7, 47))
    won = rng.binomial(10, 0.5, (7, 47)) / 10
    found = resampled_frontier(cost, won, FEW)
    assert found.interval is not None
    assert sum(found.best) == pytest.approx(1)
    assert (found.interval.low or 0) < (found.interval.estimate or 0)


def test_ties_share_the_wins_and_a_clear_winner_has_them_all() -> None:
    cost = np.array([[1.0, 2, 3], [1.0, 2, 3], [100, 100, 100]])
    won = np.ones((3, 3))
    assert resampled_frontier(cost, won, FEW).best == pytest.approx((0.5, 0.5, 0))


def test_an_infinite_limit_of_resampling_is_a_status() -> None:
    found = resampled_frontier([[1.0, 1, 1]], [[1, 0, 0]], FEW)
    assert found.interval is not None
    assert (found.interval.status, found.interval.high) == ("unbounded", None)
    none = resampled_frontier([[1.0, 1, 1]], [[0, 0, 0]], FEW)
    assert none.interval is None
    one = resampled_frontier([[1.0]], [[1]], FEW)
    assert (one.interval, one.best) == (None, (1,))
    assert resampled_frontier(np.zeros((0, 0)), np.zeros((0, 0)), FEW).best == ()


def test_resampling_needs_every_arm_in_every_stratum() -> None:
    for cost in ([[1.0, math.nan]], [[1.0, 0.0]]):
        with pytest.raises(ValueError, match="tried each stratum, at a cost above 0"):
            resampled_frontier(cost, [[1.0, math.nan if math.isnan(cost[0][1]) else 1.0]], FEW)


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@FIXED
@given(POINTS)
def test_the_pareto_set_dominates_all_others_and_no_member_is_dominated(points: list[tuple[int, int]]) -> None:
    gain, price = np.array(points, dtype=np.float64).T
    found = pareto_set(gain, price)
    assert found.any()
    for one, (up, down) in enumerate(points):
        beaten = [
            found[other]
            for other, (high, low) in enumerate(points)
            if high >= up and low <= down and (high, low) != (up, down)
        ]
        assert found[one] == (not beaten)
        assert found[one] or any(beaten)


def test_equal_candidates_are_in_together_and_unknown_ones_neither_in_nor_in_the_way() -> None:
    assert pareto_set([1, 1, 0], [2, 2, 3]).tolist() == [True, True, False]
    assert pareto_set([1, 9, np.nan], [2, np.nan, 0]).tolist() == [True, False, False]
