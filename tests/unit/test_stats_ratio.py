import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.mean import paired_t_p
from scylla_gha.stats.ratio import fieller, moments, ratio_interval
from tests.support.numbers import FIXED, known

COST = [1.0, 2.0, 1.5, 3.0, 2.5, 1.0, 2.0, 1.2]
WON = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]


def positive(most: float = 9.0) -> st.SearchStrategy[list[tuple[float, float]]]:
    one = st.integers(1, 72).map(lambda i: most * i / 72)
    return st.lists(st.tuples(one, one), min_size=2, max_size=9)


def test_moments_are_those_of_means() -> None:
    found = moments(COST, WON)
    assert found is not None
    expected = np.cov(COST, WON) / 8
    assert [found.var_x, found.cov, found.var_y] == pytest.approx([expected[0, 0], expected[0, 1], expected[1, 1]])
    assert moments([], []) is None


@FIXED
@given(positive(), st.sampled_from([0.5, 3.0]))
def test_a_factor_goes_through_and_the_inverse_is_inverted(pairs: list[tuple[float, float]], factor: float) -> None:
    x, y = (np.array(column) for column in zip(*pairs, strict=True))
    found = ratio_interval(x, y)
    assert found is not None
    assert found.estimate == pytest.approx(x.sum() / y.sum())
    if found.status == "ok":
        low, estimate, high = known(found)
        assert low < estimate < high
        assert known(ratio_interval(factor * x, y)) == pytest.approx((factor * low, factor * estimate, factor * high))
        assert known(ratio_interval(y, x)) == pytest.approx((1 / high, 1 / estimate, 1 / low))
        assert known(ratio_interval(x[::-1], y[::-1])) == pytest.approx((low, estimate, high))


@FIXED
@given(positive())
def test_fieller_limits_are_where_the_t_test_is_just_not_significant(pairs: list[tuple[float, float]]) -> None:
    x, y = (np.array(column) for column in zip(*pairs, strict=True))
    found = fieller(x, y)
    assert found is not None
    if found.status == "ok" and np.ptp(x / y) > 0:
        low, estimate, high = known(found)
        assert low <= estimate <= high
        for limit in (low, high):
            assert paired_t_p(x - limit * y) == pytest.approx(0.05, abs=1e-5)


def test_fieller_has_no_end_where_the_denominator_is_not_clear_of_zero() -> None:
    found = fieller([10, 11, 9, 10], [0, 0, 1, 0])
    assert found is not None
    assert (found.status, found.high) == ("unbounded", None)
    assert 0 < (found.low or 0) < (found.estimate or 0)
    other = fieller([-10, -11, -9, -10], [0, 0, 1, 0])
    assert other is not None
    assert (other.low, other.high) == (None, pytest.approx(-(found.low or 0)))
    nowhere = fieller([5, -5, 1], [1, -1, 0.5])
    assert nowhere is not None
    assert (nowhere.low, nowhere.high) == (None, None)


@pytest.mark.parametrize("interval", [ratio_interval, fieller])
def test_too_little_gives_a_point_or_nothing(interval: object) -> None:
    assert callable(interval)
    assert interval([], []) is None
    assert interval([1, 2], [0, 0]) is None
    for x, y in (([3], [2]), ([3, 3], [2, 2])):
        assert interval(x, y).status == "point"
        assert interval(x, y).estimate == 1.5


def test_a_ratio_that_never_varies_is_no_certainty() -> None:
    found = ratio_interval([1, 2, 3], [2, 4, 6])
    assert found is not None
    assert found.status == "point"


def test_log_delta_is_for_what_is_not_below_zero() -> None:
    with pytest.raises(ValueError, match="must not be below 0"):
        ratio_interval([-1, -2], [1, 1])
    free = ratio_interval([0, 0], [1, 2])
    assert free is not None
    assert (free.estimate, free.status) == (0, "point")


def test_hardly_a_success_has_no_upper_limit() -> None:
    found = ratio_interval([1.0, 1.0], [1e-9, 0.0])
    assert found is not None
    assert found.high is None or found.high > 1e12
    vast = ratio_interval([1.0, 1000.0], [1e-9, 1e-3], 1 - 1e-6)
    assert vast is not None
    assert vast.status == "unbounded"
