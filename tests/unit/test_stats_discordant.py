import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]

from scylla_gha.stats.discordant import Flips, flips, mcnemar_chi2, mcnemar_exact
from tests.support.numbers import FIXED

COUNT = st.integers(0, 60)


@FIXED
@given(COUNT, COUNT)
def test_both_forms_are_those_of_statsmodels(b: int, c: int) -> None:
    if b + c == 0:
        return
    table = [[5, b], [c, 7]]
    assert mcnemar_exact(b, c) == pytest.approx(min(1.0, mcnemar(table, exact=True).pvalue))
    for continuity in (True, False):
        found, expected = mcnemar_chi2(b, c, continuity=continuity), mcnemar(table, exact=False, correction=continuity)
        assert found is not None
        if b != c or not continuity:  # statsmodels counts a gap of 0 as 1
            assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))


@FIXED
@given(COUNT, COUNT)
def test_p_is_a_chance_and_both_sides_weigh_the_same(b: int, c: int) -> None:
    assert 0 < mcnemar_exact(b, c) <= 1
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)
    assert mcnemar_chi2(b, c) == mcnemar_chi2(c, b)


def test_nothing_flipped_says_nothing() -> None:
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_chi2(0, 0) is None
    found = mcnemar_chi2(4, 4)
    assert found is not None
    assert (found.statistic, found.p) == (0.0, 1.0)


@pytest.mark.parametrize(("b", "c"), [(-1, 2), (2, -1)])
def test_no_count_is_below_zero(b: int, c: int) -> None:
    for test in (mcnemar_exact, mcnemar_chi2):
        with pytest.raises(ValueError, match="counts must be at least 0"):
            test(b, c)


def test_pairs_are_counted_by_what_became_of_them() -> None:
    found = flips([1, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0])
    assert found == Flips(both=1, regressions=2, fixes=1, neither=2)
    assert found.rate == 0.5


def test_no_pairs_have_no_rate() -> None:
    assert flips([], []).rate is None


def test_what_is_neither_true_nor_false_and_what_has_no_partner_is_refused() -> None:
    with pytest.raises(ValueError, match="true or false"):
        flips([1.0, np.nan], [1.0, 0.0])
    with pytest.raises(ValueError, match="before has 1 values and after has 2"):
        flips([True], [True, False])
