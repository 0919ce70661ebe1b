import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.order import CensoredMedian, MedianInterval, censored_median, median_interval, quantile
from tests.support.numbers import FIXED

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@FIXED
@given(NUMBERS, st.floats(0, 1))
def test_quantiles_are_of_type_seven_and_in_any_order_the_same(values: list[float], q: float) -> None:
    ordered, place = sorted(values), q * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    expected = ordered[low] + (place - low) * (ordered[high] - ordered[low])
    assert float(quantile(values, q)) == pytest.approx(expected, abs=1e-6)
    assert quantile(values[::-1], q) == quantile(values, q)


def test_quantiles_keep_the_shape_that_was_asked_for() -> None:
    assert quantile([1, 2, 3], [[0.0, 0.5], [1.0, 1.0]]).tolist() == [[1, 2], [3, 3]]
    assert np.isnan(quantile([], [0.1, 0.9])).tolist() == [True, True]


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan")])
def test_what_is_no_level_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match=r"q must lie in \[0, 1\]"):
        quantile([1, 2], q)


@FIXED
@given(NUMBERS, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_limits_of_the_median_are_those_of_the_binomial(values: list[float], confidence: float) -> None:
    n, found = len(values), median_interval(values, confidence)
    if stats.binomtest(0, n).pvalue > 1 - confidence + 1e-12:
        assert found is None
        return
    assert found is not None
    assert found.low <= found.median <= found.high
    assert found.coverage >= confidence
    low = max(k for k in range(1, n // 2 + 1) if 1 - 2 * stats.binom.cdf(k - 1, n, 0.5) >= confidence - 1e-12)
    assert (found.low, found.high) == (sorted(values)[low - 1], sorted(values)[n - low])


def test_five_values_have_no_limits_and_six_have_their_ends() -> None:
    assert median_interval([1, 2, 3, 4, 5]) is None
    assert median_interval([6, 1, 2, 3, 4, 5]) == MedianInterval(3.5, 1.0, 6.0, 0.96875)
    assert median_interval([]) is None
    assert median_interval([1.0], 0.5) is None


def test_equal_values_are_their_own_limits() -> None:
    found = median_interval([2.0] * 10)
    assert found is not None
    assert (found.low, found.median, found.high) == (2.0, 2.0, 2.0)


def test_limits_of_thousands_of_values_are_found_at_once() -> None:
    found = median_interval(np.arange(20_001.0))
    assert found is not None
    assert (found.median, found.low, found.high) == (10_000, 9_861, 10_139)


def test_a_median_does_not_move_when_what_lies_above_it_is_cut_off() -> None:
    assert censored_median([1, 5, 3, 9, 9], [0, 0, 0, 1, 1]) == CensoredMedian(5.0, 0.4, 5)
    assert censored_median([1, 5, 3, 4, 2], [0, 0, 0, 0, 0]) == CensoredMedian(3.0, 0.0, 5)


@pytest.mark.parametrize("cut", [[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
def test_from_one_half_on_the_median_is_unknown(cut: list[int]) -> None:
    assert censored_median([1, 2, 9, 9], cut) == CensoredMedian(None, sum(cut) / 4, 4)


@FIXED
@given(st.lists(st.tuples(st.floats(0, 10), st.booleans()), max_size=15))
def test_a_median_is_finite_or_unknown(tries: list[tuple[float, bool]]) -> None:
    found = censored_median([value for value, _ in tries], [cut for _, cut in tries])
    assert (found is None) == (not tries)
    if found is not None:
        assert (found.median is None) == (found.share >= 0.5)
        assert found.median is None or np.isfinite(found.median)


def test_flags_must_be_as_many_as_values() -> None:
    with pytest.raises(ValueError, match="2 values and 1 flags"):
        censored_median([1, 2], [True])
