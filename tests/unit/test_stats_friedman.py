import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.friedman import friedman_chi2, friedman_p, nemenyi_cd, range_cdf
from tests.support.numbers import FIXED


@settings(FIXED, max_examples=20)
@given(st.integers(3, 6), st.integers(3, 20), st.integers(0, 99))
def test_without_ties_it_is_that_of_scipy(arms: int, blocks: int, seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(blocks, arms))
    expected = stats.friedmanchisquare(*table.T)
    ranks = stats.rankdata(table, axis=1).mean(axis=0)
    assert friedman_chi2(ranks, blocks) == pytest.approx(expected.statistic)
    assert friedman_p(ranks, blocks) == pytest.approx(expected.pvalue)
    assert friedman_chi2(ranks[::-1], blocks) == pytest.approx(expected.statistic)


@pytest.mark.parametrize("k", [2, 3, 7, 114])
@pytest.mark.parametrize("width", [0.1, 2.0, 3.6, 5.5, 9.0])
def test_the_range_is_the_studentised_one(k: int, width: float) -> None:
    assert range_cdf(width, k) == pytest.approx(float(stats.studentized_range.cdf(width, k, np.inf)), abs=1e-7)


def test_of_two_the_critical_difference_is_that_of_the_normal() -> None:
    assert nemenyi_cd(2, 100) == pytest.approx(stats.norm.ppf(0.975) * np.sqrt(2 * 3 / 600), abs=1e-9)
    assert (nemenyi_cd(4, 14, 0.1) or 9) < (nemenyi_cd(4, 14) or 0) < (nemenyi_cd(4, 14, 0.01) or 0)


def test_equal_ranks_are_no_difference() -> None:
    assert friedman_chi2([2, 2, 2], 9) == pytest.approx(0)
    assert friedman_p([2, 2, 2], 9) == pytest.approx(1)


def test_one_arm_or_nothing_has_none() -> None:
    assert friedman_chi2([1], 5) is friedman_chi2([1, 2], 0) is friedman_p([], 5) is None
    assert nemenyi_cd(1, 5) is nemenyi_cd(3, 0) is None
    assert range_cdf(0, 3) == 0
