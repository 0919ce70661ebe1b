import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.interval import Interval
from scylla_gha.stats.mean import (
    log_t_interval,
    mean_limits,
    paired_difference,
    paired_ratio,
    paired_t,
    paired_t_p,
    plugin_variance,
    se_bernoulli,
    t_interval,
    t_quantile,
)
from tests.support.numbers import FIXED, spread, values


def both(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@FIXED
@given(spread(), st.sampled_from([0.5, 0.95, 0.99]))
def test_t_interval_is_that_of_scipy(x: list[float], confidence: float) -> None:
    expected = stats.t.interval(confidence, len(x) - 1, loc=np.mean(x), scale=stats.sem(x))
    assert both(t_interval(x, confidence)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@FIXED
@given(values(2))
def test_t_interval_holds_the_mean_and_does_not_know_the_order(x: list[float]) -> None:
    found, other = t_interval(x), t_interval(x[::-1])
    assert found is not None
    assert other is not None
    assert found.estimate == pytest.approx(other.estimate, rel=1e-9, abs=1e-9)
    if found.status == "ok":
        assert both(found)[0] <= (found.estimate or 0) <= both(found)[1]
        assert both(found) == pytest.approx(both(other), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("x", [[3.0], [0.1 + 0.2, 0.3, 0.3], [1.0] * 5], ids=["one", "equal but for rounding", "equal"])
def test_without_spread_there_is_a_point(x: list[float]) -> None:
    found = t_interval(x)
    assert found is not None
    assert (found.estimate, found.status) == (pytest.approx(x[0]), "point")
    assert (found.low, found.high) == (None, None)


def test_nothing_has_no_mean() -> None:
    assert t_interval([]) is log_t_interval([]) is paired_t([]) is paired_t_p([]) is plugin_variance([]) is None


def test_rows_pass_over_what_is_missing() -> None:
    nan = math.nan
    mean, low, high = mean_limits([[1, 2, 4, nan], [nan, nan, nan, nan], [5, nan, nan, nan], [2, 2, nan, 2]])
    assert mean.tolist() == pytest.approx([7 / 3, nan, 5, 2], nan_ok=True)
    assert (low[0], high[0]) == pytest.approx(both(t_interval([1, 2, 4])))
    assert np.isnan(low[1:]).all()
    assert np.isnan(high[1:]).all()
    assert mean_limits(np.zeros((0, 3)))[0].size == 0
    with pytest.raises(ValueError, match="an infinity"):
        mean_limits([1.0, math.inf])


@FIXED
@given(spread())
def test_log_interval_is_multiplied_by_a_factor(x: list[float]) -> None:
    positive = np.exp(np.array(x) / 50)
    one, ten = both(log_t_interval(positive)), both(log_t_interval(10 * positive))
    assert ten == pytest.approx(tuple(10 * limit for limit in one))
    assert one[0] <= stats.gmean(positive) <= one[1]


def test_a_logarithm_needs_what_is_above_zero() -> None:
    with pytest.raises(ValueError, match="above 0 to have logarithms; take `t_interval`"):
        log_t_interval([1.0, 0.0])
    with pytest.raises(ValueError, match="above 0 to have a ratio"):
        paired_ratio([1.0], [0.0])


def test_paired_difference_is_that_of_scipy() -> None:
    x, y = [9, 7, 8, 9, 8.5], [9, 6, 7, 8, 7]
    expected = stats.ttest_rel(x, y)
    assert both(paired_difference(x, y)) == pytest.approx(tuple(expected.confidence_interval()))
    assert paired_t(np.subtract(x, y)) == pytest.approx(expected.statistic)
    assert paired_t_p(np.subtract(x, y)) == pytest.approx(expected.pvalue)


def test_differences_that_are_equal_but_for_rounding_are_no_certainty() -> None:
    found = paired_difference([4 / 5, 2 / 5, 3 / 5], [3 / 5, 1 / 5, 2 / 5])
    assert found is not None
    assert found.status == "point"
    assert paired_t([0.1 + 0.2, 0.3, 0.3]) is None
    assert paired_t_p([1.0]) is None


def test_paired_ratio_is_geometric() -> None:
    found = paired_ratio([2.0, 8.0], [1.0, 1.0])
    assert found is not None
    assert found.estimate == pytest.approx(4)


def test_p_is_never_zero() -> None:
    assert 0 < (paired_t_p([1e9 + i / 1e3 for i in range(400)]) or 0) < 1e-300


@pytest.mark.parametrize("df", [0, -1])
def test_a_quantile_needs_degrees_of_freedom(df: float) -> None:
    assert math.isnan(t_quantile(df))


def test_small_things() -> None:
    assert t_quantile(4) == pytest.approx(2.776445, abs=1e-6)
    assert se_bernoulli(0.5, 0) is None
    assert se_bernoulli(1.0, 9) == 0
    assert plugin_variance([1, 3]) == 1
