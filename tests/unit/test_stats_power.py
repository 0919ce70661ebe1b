import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestIndPower, TTestPower  # type: ignore[import-untyped]

from scylla_gha.stats.power import (
    Split,
    mde_paired,
    mde_paired_normal,
    power_t,
    sample_size_paired,
    sample_size_paired_normal,
    sample_size_paired_t,
    sample_size_two_sample_t,
    split_variance,
)
from tests.support.numbers import FIXED

PILOT = Split(between=1 / 30, within_x=1 / 6, within_y=1 / 6)  # rates over all of (0, 1), arms correlated 0.8


@pytest.mark.parametrize("n", [3, 5, 30, 300])
@pytest.mark.parametrize("dz", [0.2, 0.8])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 21])
def test_power_is_that_of_statsmodels(n: int, dz: float, alpha: float) -> None:
    expected = TTestPower().power(dz, n, alpha)
    if math.isnan(expected):  # what is next to certain is beyond it
        expected = 1.0
    assert power_t(dz * math.sqrt(n), n - 1, alpha) == pytest.approx(expected, abs=1e-8)


@settings(FIXED, max_examples=15)
@given(st.floats(0.15, 2.5), st.sampled_from([0.05, 0.01]), st.sampled_from([0.8, 0.9]))
def test_sample_sizes_are_those_of_statsmodels(size: float, alpha: float, power: float) -> None:
    for ours, theirs in ((sample_size_paired_t, TTestPower()), (sample_size_two_sample_t, TTestIndPower())):
        n = ours(size, alpha, power)
        assert n is not None
        assert ours(-size, alpha, power) == n
        assert theirs.power(size, n, alpha) >= power - 1e-9
        assert n == 2 or theirs.power(size, n - 1, alpha) < power + 1e-9


@pytest.mark.parametrize(
    ("clusters", "repetitions", "points"),
    [(10, 5, 31.5), (20, 5, 20.9), (47, 1, 25.3), (47, 3, 15.9), (47, 10, 10.8), (100, 5, 8.9), (200, 5, 6.3)],
)
def test_smallest_effects_that_can_be_seen(clusters: int, repetitions: int, points: float) -> None:
    variance = PILOT.of_difference(repetitions, repetitions)
    assert 100 * (mde_paired(variance, clusters) or 0) == pytest.approx(points, abs=0.06 + 4 / clusters**1.5)


@pytest.mark.parametrize(("clusters", "power"), [(2, 0.8), (3, 0.9), (10, 0.8), (47, 0.95)])
def test_the_smallest_effect_has_just_the_power(clusters: int, power: float) -> None:
    found = mde_paired(0.1, clusters, 0.05, power)
    assert found is not None
    assert power_t(found / math.sqrt(0.1 / clusters), clusters - 1) == pytest.approx(power, abs=1e-9)
    assert (mde_paired_normal(0.1, clusters, 0.05, power) or 1) < found


def test_the_sample_size_sees_the_effect_that_it_was_planned_for() -> None:
    n = sample_size_paired(0.1, 0.2)
    assert n is not None
    assert (mde_paired(0.1, n) or 1) <= 0.2 < (mde_paired(0.1, n - 1) or 0)
    assert (sample_size_paired_normal(0.1, 0.2) or 0) <= n


def test_what_cannot_be_seen_has_no_sample_size() -> None:
    assert sample_size_paired_t(0) is sample_size_two_sample_t(0) is sample_size_paired(0.1, 0) is None
    assert sample_size_paired(0, 0) is sample_size_paired_normal(0.1, 0) is None
    assert sample_size_paired_t(1e-6) is None
    assert sample_size_paired(0, 0.3) == 2
    assert mde_paired(0.1, 1) is mde_paired_normal(0.1, 0) is None
    assert mde_paired(0.0, 5) == 0


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


def test_what_is_no_pilot_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        split_variance([1.0], [1.0])
    with pytest.raises(ValueError, match="repetitions must be at least 1"):
        PILOT.of_difference(0, 1)
    assert split_variance([[0, 0], [0, 0]], [[1, 1], [1, 1]]) == Split(0, 0, 0)
