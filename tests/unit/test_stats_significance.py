"""Tests of paired and stratified outcomes, adjusted p values, rank tests, effect sizes and the bootstrap."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.differences import (
    average_ranks,
    benjamini_hochberg,
    cliffs_delta,
    cohens_d,
    cohens_dz,
    correlation,
    hedges_correction,
    holm,
    kendall_w,
    kruskal_wallis,
    mann_whitney_p,
    stratified_exact_p,
)
from scylla_gha.stats.resampling import (
    Resampling,
    bca_limits,
    least_p_sign_flip,
    multinomial_weights,
    resample,
    sign_flip_p,
    sign_flip_tail_bound,
)
from tests.support.numbers import FIXED, spread

FEW = Resampling(draws=999, seed=7)
MANY = np.random.default_rng(4).normal(0.2, 1, (150, 47))
RNG = np.random.default_rng(8)
SAMPLES = {
    "numbers": [RNG.normal(0.2 * at, 1, 9 + at) for at in range(4)],
    "ties": [RNG.integers(0, 3, 12).astype(float) for _ in range(3)],
    "passes": [np.array([1.0, 0, 1, 1, 1, 0, 1]), np.array([0.0, 0, 0, 1, 0])],
}
TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(st.integers(0, 5), min_size=raters, max_size=raters), min_size=2, max_size=9)
)
Strata = list[tuple[int, int, int, int]]


@FIXED
@given(spread(2, 8))
def test_exact_p_is_the_share_of_all_assignments(d: list[float]) -> None:
    sums = [abs(sum(sign * x for sign, x in zip(signs, d, strict=True))) for signs in product((1, -1), repeat=len(d))]
    p, least = sign_flip_p(d)
    assert p[0] == pytest.approx(np.mean(np.array(sums) >= abs(sum(d)) - 1e-9))
    assert least[0] == least_p_sign_flip(sum(x != 0 for x in d)) <= p[0]


@FIXED
@given(spread(2, 8))
def test_the_tail_bound_is_never_below_the_exact_p(d: list[float]) -> None:
    assert sign_flip_tail_bound(np.array([d]))[0] >= sign_flip_p(d)[0][0] - 1e-12


def test_zeros_and_missing_differences_are_ignored_and_rounding_breaks_no_tie() -> None:
    d = [0.3, -0.1, 0.2, 0.5, 0.4]
    assert sign_flip_p([*d, 0.0, math.nan])[0] == sign_flip_p(d)[0]
    assert sign_flip_p([0.1 + 0.2, -0.3, 0.3])[0] == sign_flip_p([0.3, -0.3, 0.3])[0] == 1
    assert sign_flip_p([[0.0, math.nan]])[0] == 1
    assert sign_flip_p(np.zeros((0, 3)))[0].size == 0


def test_drawn_p_is_the_same_for_a_row_alone_and_depends_on_the_seed() -> None:
    how = Resampling(draws=2_000, seed=9)
    p, least = sign_flip_p(MANY, how)
    assert p[5] == sign_flip_p(MANY[5], how)[0][0]
    assert p.tobytes() == sign_flip_p(MANY * 3.7, how)[0].tobytes()
    assert (p != sign_flip_p(MANY, Resampling(draws=2_000, seed=10))[0]).any()
    assert least.min() == 1 / 2_001
    assert p[:20] == pytest.approx(stats.ttest_1samp(MANY[:20], 0, axis=1).pvalue, abs=0.04)


def test_false_alarms_are_as_rare_as_the_level() -> None:
    p, _ = sign_flip_p(np.random.default_rng(8).standard_t(3, (2_000, 12)))
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(("n", "least"), [(0, 1), (1, 1), (5, 0.0625), (6, 0.03125), (10, 2 / 1024)])
def test_five_differences_can_never_reach_five_percent(n: int, least: float) -> None:
    assert least_p_sign_flip(n) == least


def strata(trials: int, most: int) -> st.SearchStrategy[Strata]:
    size = st.integers(1, trials)
    one = st.tuples(size, size).flatmap(
        lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
    )
    return st.lists(one, min_size=1, max_size=most)


@FIXED
@given(strata(3, 3))
def test_stratified_p_is_that_of_every_way_to_deal_the_values(table: Strata) -> None:
    values = [[1] * (a + b) + [0] * (n - a + m - b) for a, n, b, m in table]
    dealt = [[sum(chosen) for chosen in combinations(x, n)] for x, (_, n, _, _) in zip(values, table, strict=True)]
    expected = sum((a + b) * n / (n + m) for a, n, b, m in table)
    offsets = abs(np.array([sum(one) for one in product(*dealt)]) - expected)
    observed = abs(sum(a for a, *_ in table) - expected)
    assert stratified_exact_p(table) == pytest.approx(np.mean(offsets >= observed - 1e-9))


def test_many_strata_stay_exact_and_strata_of_one_arm_are_ignored() -> None:
    found = stratified_exact_p([(7, 10, 3, 10)] * 47)
    assert found is not None
    assert 0 < found < 1e-30
    assert stratified_exact_p([(7, 10, 3, 10)] * 47 + [(0, 0, 3, 3)]) == found
    assert stratified_exact_p([(0, 0, 3, 3)]) is stratified_exact_p(np.zeros((0, 4))) is None


@pytest.mark.parametrize(
    ("counts", "message"),
    [([[1, 2, 3]], "must have the shape"), ([[3, 2, 0, 1]], "0..trials"), ([[-1, 2, 0, 1]], "0..trials")],
)
def test_impossible_strata_are_refused(counts: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stratified_exact_p(counts)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_tests_without_p_stay_unknown_and_count_in_the_family(adjust: object) -> None:
    assert callable(adjust)
    found = adjust([0.01, None, math.nan, 0.04])
    assert np.isnan(found).tolist() == [False, True, True, False]
    assert found[0] == pytest.approx(0.04)
    assert adjust([0.9, 0.8, 0.7]).max() <= 1
    assert adjust([]).size == 0
    with pytest.raises(ValueError, match="each p must lie in"):
        adjust([1.5])


@FIXED
@given(TABLES)
def test_ranks_and_w_are_those_of_scipy(table: list[list[int]]) -> None:
    assert average_ranks(table) == pytest.approx(stats.rankdata(table, axis=0))
    found = kendall_w(table)
    if found is None:
        assert all(len(set(column)) == 1 for column in zip(*table, strict=True))
    elif len(table) > 2:  # friedmanchisquare takes three or more
        statistic = stats.friedmanchisquare(*np.array(table)).statistic
        assert found == pytest.approx(statistic / (len(table[0]) * (len(table) - 1)))


def test_w_is_one_of_equal_orders_and_zero_of_opposite_ones() -> None:
    assert kendall_w([[1.0, 10.0], [2.0, 20.0], [9.0, np.nan], [3.0, 30.0]]) == 1.0
    assert kendall_w([[1, 3], [2, 2], [3, 1]]) == 0.0
    for ratings in (np.empty((0, 3)), [[1, 2]], [[1], [2]]):
        assert kendall_w(ratings) is None
    with pytest.raises(ValueError, match="two dimensions"):
        kendall_w([1, 2, 3])
    with pytest.raises(ValueError, match="NaN"):
        average_ranks([1, np.nan])


@pytest.mark.parametrize("name", SAMPLES)
def test_rank_tests_are_those_of_scipy(name: str) -> None:
    found, expected = kruskal_wallis(SAMPLES[name]), stats.kruskal(*SAMPLES[name])
    assert found is not None
    assert (found.h, found.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    one, other = SAMPLES[name][:2]
    p = stats.mannwhitneyu(one, other, method="asymptotic").pvalue
    assert mann_whitney_p(one, other) == pytest.approx(p) == mann_whitney_p(other, one)


def test_equal_or_empty_samples_have_no_rank_test() -> None:
    assert mann_whitney_p([1, 1], [1]) is mann_whitney_p([], [1]) is None
    assert kruskal_wallis([[1, 1], [1]]) is kruskal_wallis([[1, 2], []]) is None


@pytest.mark.parametrize("df", [2, 5.5, 30, 9_999, 10_001])
def test_hedges_correction_is_exact(df: float) -> None:
    # The mean of d of df degrees is its true value over J: that of the noncentral t.
    assert hedges_correction(df) == pytest.approx(1 / float(stats.nct.mean(df, 1.0)), rel=1e-9)
    assert hedges_correction(1) is hedges_correction(0) is None


def test_without_spread_a_difference_has_no_size() -> None:
    for d in (cohens_d, cohens_dz):
        assert d([0.1 + 0.2, 0.3], [0.3, 0.3]) == 0
        assert d([2, 2], [5, 5]) is d([1], [2]) is d([], []) is None
    assert cohens_dz([4 / 5, 2 / 5], [3 / 5, 1 / 5]) is None  # equal differences, but for rounding
    assert correlation([1, 2], [3, 5]) is correlation([0.1] * 3, [0.3] * 3) is None
    assert cliffs_delta([], [1]) is None


@FIXED
@given(spread(3), st.randoms(use_true_random=False))
def test_effect_sizes_are_their_definitions(x: list[float], random: object) -> None:
    y = random.sample(x, len(x))  # type: ignore[attr-defined]
    assert correlation(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert cliffs_delta(x, y[:2]) == pytest.approx(np.sign(np.subtract.outer(x, y[:2])).mean())
    t = stats.ttest_ind(x, np.add(y, 1.0)).statistic
    assert cohens_d(x, np.add(y, 1.0)) == pytest.approx(t * math.sqrt(2 / len(x)))


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_weights_are_even_and_read_only(n: int) -> None:
    weights = multinomial_weights(n, Resampling(draws=500))
    assert weights.shape == (n, 500)
    assert (weights.sum(axis=0) == n).all()
    assert weights.min() >= 0
    assert multinomial_weights(5, Resampling(draws=20_000)).var(axis=1) == pytest.approx([0.8] * 5, abs=0.03)
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 5


@pytest.mark.parametrize("x", [[1.0] * 7 + [0.0] * 3, [0.1, 0.2, 0.4, 3.0, 9.0, 0.3]], ids=["ties", "skewed"])
def test_bca_is_the_textbook_formula_and_ties_count_half(x: list[float]) -> None:
    drawn, mean = resample([x], FEW)[0], np.mean(x)
    equal = np.isclose(drawn, mean, rtol=1e-12)
    bias = stats.norm.ppf(np.mean((drawn < mean) & ~equal) + np.mean(equal) / 2)
    shifted = bias + stats.norm.ppf([0.025, 0.975])
    acceleration = stats.skew(x) / (6 * math.sqrt(len(x)))
    levels = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    assert bca_limits(x, FEW) == pytest.approx(tuple(np.quantile(drawn, levels)), abs=1e-9)


def test_bca_is_that_of_scipy_up_to_simulation() -> None:
    x = np.random.default_rng(1).lognormal(0, 0.8, 50)
    expected = stats.bootstrap((x,), np.mean, n_resamples=9_999, rng=np.random.default_rng(0)).confidence_interval
    assert bca_limits(x) == pytest.approx((expected.low, expected.high), rel=0.02)
    assert bca_limits([1.0]) is bca_limits([0.3, 0.1 + 0.2]) is None


def test_resamples_are_shared_so_that_rows_can_be_compared() -> None:
    found = resample(np.stack([MANY[0], 2 * MANY[0]]), FEW)
    assert found.shape == (2, 999)
    assert np.allclose(2 * found[0], found[1], rtol=1e-12)


def test_impossible_resampling_is_refused() -> None:
    with pytest.raises(ValueError, match="draws must be at least 1, not 0"):
        Resampling(draws=0)
