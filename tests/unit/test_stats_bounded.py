"""Limits of a mean between -1 and 1."""

import math

import numpy as np
import pytest
from scipy import stats

from scylla_gha.stats.bounded import mean_limits_bounded, rare_limits


@pytest.mark.parametrize("n", [2, 5, 47, 59])
def test_of_zeros_alone_it_is_the_rule_of_three(n: int) -> None:
    low, high = rare_limits(np.zeros(n), 0.90)
    assert high[0] == pytest.approx(1 - 0.05 ** (1 / n))
    assert low[0] == pytest.approx(-high[0])


@pytest.mark.parametrize(("wins", "n"), [(1, 10), (3, 10), (9, 10), (20, 47)])
def test_of_zeros_and_ones_it_is_clopper_and_pearson(wins: int, n: int) -> None:
    _, high = rare_limits([[1.0] * wins + [0.0] * (n - wins)], 0.90)
    assert high[0] == pytest.approx(stats.binomtest(wins, n).proportion_ci(0.90, "exact").high)


def test_the_moments_stand_for_random_weights() -> None:
    """The quantile of the mean under random weights, of which the Beta distribution is the stand-in."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(0.05, 0.3, 30), 1).clip(-1, 1)
    weights = rng.dirichlet(np.ones(31), 100_000)
    assert rare_limits(x, 0.90)[1][0] == pytest.approx(np.quantile(weights @ np.append(x, 1.0), 0.95), abs=0.004)


def test_a_small_change_of_the_data_is_a_small_change_of_the_limits() -> None:
    x = np.zeros((2, 40))
    x[1, 0] = 0.001
    _, high = rare_limits(x)
    assert high[1] - high[0] == pytest.approx(0, abs=0.0003)


@pytest.mark.parametrize("x", [[1.0] * 6, [1.0] * 30 + [0.5], [-1.0] * 9, [0.0, 1.0], [0.3] * 8])
def test_limits_lie_in_the_range_and_hold_the_mean(x: list[float]) -> None:
    for low, high in (mean_limits_bounded(x), rare_limits(x), mean_limits_bounded(x, 0.999)):
        assert -1 <= low[0] <= np.mean(x) + 1e-12
        assert np.mean(x) - 1e-12 <= high[0] <= 1
        assert low[0] < high[0]


def test_what_is_missing_takes_no_part_and_one_value_has_no_limits() -> None:
    nan = math.nan
    low, high = rare_limits([[0.0, 0.5, -0.25], [0.0, 0.5, nan], [0.5, nan, nan]])
    alone = rare_limits([0.0, 0.5])
    assert (low[1], high[1]) == (alone[0][0], alone[1][0])
    assert math.isnan(low[2])
    assert math.isnan(mean_limits_bounded([0.5])[1][0])


def test_a_value_beyond_the_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="between -1 and 1"):
        rare_limits([0.0, 1.5])
