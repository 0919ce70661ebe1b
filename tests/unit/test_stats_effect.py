import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.effect import (
    cliffs_delta,
    cliffs_deltas,
    cohens_d,
    cohens_dav,
    cohens_dz,
    correlation,
    hedges_correction,
    hedges_g,
    mean_difference,
    vargha_delaney_a,
)
from tests.support.numbers import FIXED, spread, values

MOVIES = [9, 7, 8, 9, 8, 9, 9, 10, 9, 9], [9, 6, 7, 8, 7, 9, 8, 8, 8, 7]


@FIXED
@given(spread(), spread())
def test_d_is_t_made_independent_of_the_number_of_values(x: list[float], y: list[float]) -> None:
    t = stats.ttest_ind(x, y).statistic
    assert cohens_d(x, y) == pytest.approx(t * math.sqrt(1 / len(x) + 1 / len(y)), abs=1e-9)
    assert cohens_d(y, x) == pytest.approx(-(cohens_d(x, y) or 0), abs=1e-12)
    assert abs(hedges_g(x, y) or 0) <= abs(cohens_d(x, y) or 0)


@FIXED
@given(values(1), values(1))
def test_cliffs_delta_is_that_of_all_pairs(x: list[float], y: list[float]) -> None:
    expected = np.sign(np.subtract.outer(x, y)).mean()
    assert cliffs_delta(x, y) == pytest.approx(expected, abs=1e-12)
    assert cliffs_delta(x[::-1], y[::-1]) == cliffs_delta(x, y)
    assert -1 <= (cliffs_delta(x, y) or 0) <= 1
    u = stats.mannwhitneyu(x, y, method="asymptotic").statistic if len(set(x + y)) > 1 else len(x) * len(y) / 2
    assert vargha_delaney_a(x, y) == pytest.approx(u / (len(x) * len(y)), abs=1e-12)


@pytest.mark.parametrize("effect", [cohens_d, hedges_g, cohens_dz, cohens_dav])
def test_without_spread_a_difference_has_no_size(effect: object) -> None:
    assert callable(effect)
    assert effect([2, 2, 2], [5, 5, 5]) is None
    assert effect([2, 2, 2], [2, 2, 2]) == 0
    assert effect([2], [5]) is None
    assert effect([], []) is None
    assert effect([0.1 + 0.2, 0.3], [0.3, 0.3]) == 0


def test_published_sizes_of_pairs() -> None:
    assert cohens_d(*MOVIES) == pytest.approx(1.13, abs=0.005)
    spreads = [np.std(x, ddof=1) for x in MOVIES]
    assert cohens_dav(*MOVIES) == pytest.approx(1.0 / np.mean(spreads))
    assert cohens_dz([1, 2, 3], [0, 1, 2]) is None


@pytest.mark.parametrize("df", [2, 5.5, 30, 9_999, 10_001])
def test_the_correction_is_exact(df: float) -> None:
    # The mean of d of df degrees is its true value over J: that of the noncentral t.
    assert hedges_correction(df) == pytest.approx(1 / float(stats.nct.mean(df, 1.0)), rel=1e-9)


def test_the_correction_needs_a_mean_to_exist() -> None:
    assert hedges_correction(1) is hedges_correction(0) is None
    assert (hedges_correction(1e300) or 0) == pytest.approx(1)


def test_many_rows_at_once() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 5, (6, 9)), rng.integers(0, 5, (6, 4))
    assert cliffs_deltas(x, y).tolist() == [cliffs_delta(a, b) for a, b in zip(x, y, strict=True)]
    assert np.isnan(cliffs_deltas(np.zeros((2, 0)), np.zeros((2, 3)))).all()
    assert cliffs_deltas(np.zeros((0, 2)), np.zeros((0, 3))).size == 0


def test_nothing_has_no_effect() -> None:
    assert cliffs_delta([], [1]) is vargha_delaney_a([1], []) is mean_difference([], [1]) is None
    assert mean_difference([1, 2], [4]) == -2.5


@FIXED
@given(spread(), st.randoms(use_true_random=False))
def test_correlation_is_pearsons(x: list[float], random: random.Random) -> None:
    y = random.sample(x, len(x))
    expected = stats.pearsonr(x, y).statistic if len(x) > 2 else None
    assert correlation(x, y) == (None if expected is None else pytest.approx(expected, abs=1e-9))


@pytest.mark.parametrize(("x", "y"), [([], []), ([1, 2], [3, 5]), ([1, 1, 1], [1, 2, 3]), ([0.1] * 3, [0.3] * 3)])
def test_of_a_line_or_without_spread_there_is_no_correlation(x: list[float], y: list[float]) -> None:
    assert correlation(x, y) is None


def test_correlation_stays_within_its_limits() -> None:
    assert correlation([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]) == pytest.approx(1.0, abs=0)
