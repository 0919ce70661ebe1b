import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.contingency import Alternative, fisher_exact, rogan_gladen
from tests.support.numbers import FIXED

COUNT = st.integers(0, 40)
SIDES: tuple[Alternative, ...] = ("two-sided", "greater", "less")


@FIXED
@given(COUNT, COUNT, COUNT, COUNT, st.sampled_from(SIDES))
def test_it_is_that_of_scipy(a: int, b: int, c: int, d: int, side: Alternative) -> None:
    table = np.array([[a, b], [c, d]])
    expected = stats.fisher_exact(table, alternative=side).pvalue
    assert fisher_exact(table, side) == pytest.approx(expected, rel=1e-9)
    assert 0 < fisher_exact(table, side) <= 1


@FIXED
@given(COUNT, COUNT, COUNT, COUNT)
def test_rows_and_columns_may_change_places(a: int, b: int, c: int, d: int) -> None:
    plain = fisher_exact([[a, b], [c, d]])
    assert fisher_exact([[a, c], [b, d]]) == pytest.approx(plain)
    assert fisher_exact([[d, c], [b, a]]) == pytest.approx(plain)
    assert fisher_exact([[a, b], [c, d]], "less") == pytest.approx(fisher_exact([[b, a], [d, c]], "greater"))


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[3, 4], [0, 0]], [[3, 0], [9, 0]]])
@pytest.mark.parametrize("side", SIDES)
def test_an_empty_margin_says_nothing(table: list[list[int]], side: Alternative) -> None:
    assert fisher_exact(table, side) == 1.0


def test_large_counts_do_not_overflow() -> None:
    table = np.array([[26_000, 790], [25_700, 1_090]])
    assert fisher_exact(table) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-6)


@pytest.mark.parametrize("table", [[[1, 2]], [[1, 2], [3, -1]], [[1, 2], [3, 0.5]]])
def test_what_is_no_table_of_counts_is_refused(table: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="two rows of two counts"):
        fisher_exact(table)


@FIXED
@given(st.floats(0, 1), st.floats(0.6, 1), st.floats(0.6, 1))
def test_the_rate_that_a_judge_would_see_is_traced_back(true: float, sensitivity: float, specificity: float) -> None:
    seen = true * sensitivity + (1 - true) * (1 - specificity)
    assert rogan_gladen(seen, sensitivity, specificity) == pytest.approx(true, abs=1e-9)


def test_a_judge_who_never_errs_is_believed_and_one_who_guesses_is_not() -> None:
    assert rogan_gladen(0.3, 1.0, 1.0) == pytest.approx(0.3)
    assert rogan_gladen(0.3, 0.5, 0.5) is None
    assert rogan_gladen(0.3, 0.2, 0.3) is None
    assert rogan_gladen(0.3, 0.7, 0.3) is None


def test_a_rate_below_what_the_judge_errs_by_is_zero_and_not_negative() -> None:
    assert rogan_gladen(0.1, 0.9, 0.8) == 0.0
    assert rogan_gladen(0.99, 0.9, 0.8) == 1.0


@pytest.mark.parametrize("given_rates", [(1.1, 0.9, 0.9), (0.5, -0.1, 0.9), (0.5, 0.9, np.nan)])
def test_what_is_no_rate_is_refused(given_rates: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        rogan_gladen(*given_rates)
