from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater  # type: ignore[import-untyped]

from scylla_gha.stats.alpha import alpha
from scylla_gha.stats.kappa import (
    cohen_kappa,
    cross_table,
    fleiss_kappa,
    linear,
    prevalence,
    quadratic,
    raw_agreement,
    weighted_kappa,
)
from tests.support.numbers import FIXED

GRADES = "SABCDF"
PAIRS = st.lists(st.tuples(st.sampled_from(GRADES), st.sampled_from(GRADES)), min_size=2, max_size=40)


def table_of(pairs: list[tuple[str, str]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return cross_table([one for one, _ in pairs], [other for _, other in pairs], GRADES)


@FIXED
@given(PAIRS.filter(lambda pairs: len({*map(str, sum(pairs, ()))}) > 1))
def test_all_forms_are_those_of_statsmodels(pairs: list[tuple[str, str]]) -> None:
    table = table_of(pairs)
    steps = inter_rater.cohens_kappa(table, return_results=False)
    assert cohen_kappa(table) == pytest.approx(steps, abs=1e-9)
    for ours, power in ((linear, 1), (quadratic, 2)):
        weights = np.abs(np.subtract.outer(range(6), range(6))) ** power
        expected = inter_rater.cohens_kappa(table, weights=weights, return_results=False)
        assert weighted_kappa(table, ours(6)) == pytest.approx(expected, abs=1e-9)


@FIXED
@given(PAIRS)
def test_raters_may_change_places_and_units_their_order(pairs: list[tuple[str, str]]) -> None:
    table = table_of(pairs)
    for kappa in (cohen_kappa(table), weighted_kappa(table, quadratic(6))):
        assert kappa is None or kappa <= 1
    turned = table_of([(other, one) for one, other in pairs[::-1]])
    assert cohen_kappa(turned) == pytest.approx(cohen_kappa(table))
    assert raw_agreement(turned) == raw_agreement(table) == pytest.approx(np.mean([a == b for a, b in pairs]))
    shares, again = prevalence(table), prevalence(turned)
    assert shares is not None
    assert again is not None
    assert shares.sum() == pytest.approx(1)
    assert again == pytest.approx(shares)


def test_identical_ratings_agree_wholly_and_equal_ones_say_nothing() -> None:
    assert cohen_kappa([[3, 0], [0, 2]]) == 1.0
    assert weighted_kappa([[3, 0], [0, 2]], linear(2)) == 1.0
    assert cohen_kappa([[5, 0], [0, 0]]) is None


def test_nothing_is_undefined() -> None:
    empty = np.zeros((2, 2))
    assert (raw_agreement(empty), prevalence(empty), cohen_kappa(empty)) == (None, None, None)
    assert fleiss_kappa(np.empty((0, 3))) is None


@FIXED
@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=2, max_size=12))
def test_fleiss_is_that_of_statsmodels(ratings: list[list[int]]) -> None:
    table = np.stack([np.bincount(row, minlength=3) for row in ratings])
    if len({*chain.from_iterable(ratings)}) == 1:
        assert fleiss_kappa(table) is None
        return
    found = fleiss_kappa(table)
    assert found == pytest.approx(inter_rater.fleiss_kappa(table), abs=1e-9)
    nominal = alpha(ratings, "nominal")
    assert found is not None
    assert nominal == pytest.approx(found + (1 - found) / np.size(ratings))  # alpha corrects for a small sample


def test_tables_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="square"):
        cohen_kappa([[1, 2]])
    with pytest.raises(ValueError, match="square"):
        cohen_kappa([[1, -2], [1, 1]])
    with pytest.raises(ValueError, match="one shape"):
        weighted_kappa(np.eye(2), linear(3))
    for table in ([[1, 2], [2, 2]], [[1, 0]], [[3, -1]]):
        with pytest.raises(ValueError, match="same number of ratings"):
            fleiss_kappa(table)


def test_ratings_outside_the_scale_and_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="not among the levels: X"):
        cross_table(["A"], ["X"], GRADES)
    with pytest.raises(ValueError, match="2 and 1 ratings"):
        cross_table(["A", "A"], ["A"], GRADES)
