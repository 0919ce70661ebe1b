import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.differences import Split, mde_paired, noncentral_t_sf, power_t, split_variance
from tests.support.numbers import FIXED

PILOT = Split(between=1 / 30, within_x=1 / 6, within_y=1 / 6)  # rates over all of (0, 1), arms correlated 0.8


@FIXED
@given(st.floats(0.1, 30), st.sampled_from([1, 2, 4, 7.5, 30, 46, 400]), st.floats(-6, 14))
def test_the_noncentral_t_is_that_of_scipy(t: float, df: float, nc: float) -> None:
    expected = float(stats.nct.sf(t, df, nc))
    if math.isfinite(expected):
        assert noncentral_t_sf(t, df, nc) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("t", "df", "nc"), [(2.8, 4, 12), (2.8, 4, 60), (1.96, 1e5, 40), (12.7, 1, 900), (2, 3, -30)])
def test_the_noncentral_t_holds_in_the_far_tails(t: float, df: float, nc: float) -> None:
    u = np.sqrt(stats.chi2.ppf((np.arange(200_000) + 0.5) / 200_000, df) / df)
    assert noncentral_t_sf(t, df, nc) == pytest.approx(stats.norm.cdf(nc - t * u).mean(), abs=2e-6)


@pytest.mark.parametrize(
    ("dz", "n", "alpha", "expected"),
    [
        (0.5, 34, 0.05, 0.8077775012792737),
        (0.2, 30, 0.05, 0.18518338712591942),
        (0.8, 5, 0.05 / 21, 0.022194493591438814),
        (0.8, 30, 0.05 / 21, 0.8392670975914842),
    ],
)
def test_power_is_that_of_statsmodels(dz: float, n: int, alpha: float, expected: float) -> None:
    """The values are those of statsmodels' TTestPower."""
    assert power_t(dz * math.sqrt(n), n - 1, alpha) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("n", [2, 5, 30, 300])
def test_the_smallest_effect_has_just_the_power(n: int) -> None:
    effect = mde_paired(4.0, n, 0.01, 0.9)
    assert effect is not None
    assert power_t(effect * math.sqrt(n / 4.0), n - 1, 0.01) == pytest.approx(0.9)
    assert mde_paired(4.0, 1) is None


@pytest.mark.parametrize(
    ("clusters", "repetitions", "points"),
    [(10, 5, 31.5), (20, 5, 20.9), (47, 1, 25.3), (47, 3, 15.9), (47, 10, 10.8), (100, 5, 8.9), (200, 5, 6.3)],
)
def test_smallest_effects_that_can_be_seen(clusters: int, repetitions: int, points: float) -> None:
    variance = PILOT.of_difference(repetitions, repetitions)
    assert 100 * (mde_paired(variance, clusters) or 0) == pytest.approx(points, abs=0.06 + 4 / clusters**1.5)


def test_a_pilot_is_split_into_what_it_was_made_of() -> None:
    rng = np.random.default_rng(6)
    ease = rng.normal(0, 1, 4_000)
    x = ease[:, None] + rng.normal(0, 0.5, (4_000, 3))
    y = (ease + rng.normal(0, 0.3, 4_000))[:, None] + rng.normal(0, 0.8, (4_000, 6))
    y[:2_000, 4:] = math.nan
    found = split_variance(x, y)
    assert found is not None
    assert (found.between, found.within_x, found.within_y) == pytest.approx((0.09, 0.25, 0.64), abs=0.03)


def test_a_pilot_leaves_out_clusters_of_one_arm() -> None:
    nan = math.nan
    x = np.array([[1, 2], [3, 5], [nan, nan], [9, 9]])
    y = np.array([[2, 2], [3, nan], [1, 2], [nan, nan]])
    found = split_variance(x, y)
    assert found == split_variance(x[:2], y[:2])
    assert found is not None
    assert (found.within_x, found.within_y) == (1.25, 0)


@pytest.mark.parametrize(
    ("x", "y"),
    [([[1.0, 2.0]], [[1.0, 2.0]]), ([[1.0], [2.0]], [[1.0], [2.0]]), (np.zeros((0, 3)), np.zeros((0, 3)))],
    ids=["one cluster", "no repetition", "nothing"],
)
def test_too_small_a_pilot_tells_nothing(x: list[list[float]], y: list[list[float]]) -> None:
    assert split_variance(x, y) is None


def test_invalid_pilots_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        split_variance([1.0], [1.0])
    with pytest.raises(ValueError, match="repetitions must be at least 1"):
        PILOT.of_difference(0, 1)
    assert split_variance([[0, 0], [0, 0]], [[1, 1], [1, 1]]) == Split(0, 0, 0)
