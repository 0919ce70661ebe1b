import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.cusum import Signal, cusum, first_signal, standardised
from tests.support.numbers import FIXED, spread

SERIES = st.lists(st.floats(-20, 20), max_size=40)


@FIXED
@given(SERIES, st.sampled_from([0.0, 0.25, 0.5]))
def test_sums_are_the_largest_of_all_runs_that_end_there(series: list[float], k: float) -> None:
    found = cusum(series, k)
    for end in range(1, len(series) + 1):
        runs = [sum(value - k for value in series[start:end]) for start in range(end + 1)]
        assert found.upper[end - 1] == pytest.approx(max(0.0, *runs), abs=1e-9)
    assert found.upper.min(initial=0.0) >= 0


@FIXED
@given(SERIES)
def test_a_series_turned_over_changes_the_sums(series: list[float]) -> None:
    found, turned = cusum(series), cusum([-value for value in series])
    assert found.upper.tolist() == turned.lower.tolist()
    assert found.lower.tolist() == turned.upper.tolist()


def test_a_shift_is_signalled_with_its_side_and_where_it_is_likely_to_have_begun() -> None:
    assert first_signal(cusum([0, 0, 0, 2, 2, 2, 2, 2])) == Signal(at=6, since=3, side="up")
    assert first_signal(cusum([-2.0] * 6)) == Signal(at=3, since=0, side="down")


def test_the_earlier_of_two_signals_is_the_first() -> None:
    assert first_signal(cusum([9, -9, -9])) == Signal(at=0, since=0, side="up")
    assert first_signal(cusum([-9, 9, 9])) == Signal(at=0, since=0, side="down")


def test_no_drift_and_no_series_give_no_signal() -> None:
    assert first_signal(cusum([0.4] * 500)) is None
    assert first_signal(cusum([])) is None
    assert first_signal(cusum([5.5])) is None


@FIXED
@given(spread(), st.lists(st.floats(-100, 100), max_size=5))
def test_residuals_are_in_sds_of_the_reference(reference: list[float], later: list[float]) -> None:
    found = standardised([*reference, *later], len(reference))
    assert found is not None
    first = found[: len(reference)]
    assert (first.mean(), first.std(ddof=1)) == pytest.approx((0, 1), abs=1e-9)
    back = found * np.std(reference, ddof=1) + np.mean(reference)
    assert back == pytest.approx(np.array([*reference, *later]), abs=1e-9)


@pytest.mark.parametrize(("values", "reference"), [([], 2), ([1, 2], 3), ([0.1] * 5, 5), ([2, 2, 3], 2)])
def test_too_short_and_equal_references_are_none(values: list[float], reference: int) -> None:
    assert standardised(values, reference) is None


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="reference must be at least 2"):
        standardised([1, 2], 1)
    with pytest.raises(ValueError, match="k must be at least 0"):
        cusum([1], -0.5)
    with pytest.raises(ValueError, match="h must be above 0"):
        first_signal(cusum([1]), 0)
    with pytest.raises(ValueError, match="NaN"):
        cusum([np.nan])
