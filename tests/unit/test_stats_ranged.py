"""Limits of what has a range: they stay in it, and are those of t where it is far."""

import numpy as np
import pytest
from scipy import stats

from scylla_gha.stats.interval import Interval
from scylla_gha.stats.mean import t_interval
from scylla_gha.stats.ranged import positive_mean_interval, share_mean_interval, share_ratio_interval


def limits(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@pytest.mark.parametrize("x", [[0.0, 0.01, 9.0], [1.0, 100.0], [0.0, 0.0, 0.0, 5.0]])
def test_what_is_paid_is_never_below_zero(x: list[float]) -> None:
    low, high = limits(positive_mean_interval(x))
    assert 0 < low < np.mean(x) < high
    plain = t_interval(x)
    assert plain is not None
    assert (plain.low or 0) < 0, "as the plain t would have it"


@pytest.mark.parametrize("x", [[1.0, 1.0, 0.8], [0.0, 0.1, 0.0], [0.0, 1.0], [0.99, 1.0, 1.0, 1.0, 0.2]])
def test_a_share_stays_between_zero_and_one(x: list[float]) -> None:
    low, high = limits(share_mean_interval(x))
    assert 0 <= low < np.mean(x) < high <= 1


def test_far_from_the_ends_it_is_the_t_interval() -> None:
    x = 0.5 + 0.01 * np.sin(np.arange(40))
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    for found in (share_mean_interval(x), positive_mean_interval(x)):
        assert limits(found) == (pytest.approx(expected.low, abs=2e-4), pytest.approx(expected.high, abs=2e-4))


def test_a_ratio_of_parts_stays_below_one() -> None:
    found = share_ratio_interval([1, 2, 0, 9], [1, 2, 3, 9])
    low, high = limits(found)
    assert found is not None
    assert found.estimate == pytest.approx(12 / 15)
    assert 0 < low < 0.8 < high < 1
    assert share_ratio_interval([0, 0], [0, 0]) is None


@pytest.mark.parametrize("mean", [0.9, 0.5])
def test_shares_cover_what_they_promise(mean: float) -> None:
    rng = np.random.default_rng(4)
    held = 0
    for x in rng.beta(5 * mean, 5 * (1 - mean), (1500, 12)):
        low, high = limits(share_mean_interval(x))
        held += low <= mean <= high
    assert 0.92 < held / 1500 < 0.98


def test_without_a_spread_there_is_a_point() -> None:
    for make in (share_mean_interval, positive_mean_interval):
        assert make([]) is None
        for alike in ([0.5], [0.5, 0.5], [0.0, 0.0]):
            found = make(alike)
            assert found is not None
            assert (found.status, found.low) == ("point", None)


def test_values_out_of_range_are_errors() -> None:
    with pytest.raises(ValueError, match="below 0"):
        positive_mean_interval([-1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        share_mean_interval([1.2])
