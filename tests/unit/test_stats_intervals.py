"""Intervals of means, rates and clusters: their limits, their edges, and what has none."""

import math

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from scylla_gha.stats import Interval, format_p, make_interval, wilson
from scylla_gha.stats.means import (
    clustered,
    effective_n,
    icc1,
    macro_rate,
    mean_limits,
    mean_limits_bounded,
    rare_limits,
    share_mean_interval,
    share_ratio_interval,
    t_quantile,
    wilson_effective,
    wilson_limits,
)
from scylla_gha.stats.ratios import positive_mean_interval
from tests.support.numbers import FIXED, counts, known, spread


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((1.0, 3.0), Interval(2.0, 1.0, 3.0, "t", 5)),
        ((math.nan, 3.0), Interval(2.0, None, None, "t", 5, "point")),
        ((1.0, math.inf), Interval(2.0, 1.0, None, "t", 5, "unbounded")),
        ((-math.inf, math.inf), Interval(2.0, None, None, "t", 5, "unbounded")),
    ],
    ids=["known", "unknown", "infinite", "both infinite"],
)
def test_an_interval_is_made_from_numbers(limits: tuple[float, float], expected: Interval) -> None:
    assert make_interval(2.0, limits, "t", 5) == expected
    assert make_interval(math.nan, limits, "t", 5) is None


@pytest.mark.parametrize(
    ("p", "expected"),
    [(None, "unknown"), (1.0, "1"), (0.999, "1.00"), (0.5, "0.50"), (0.0625, "0.062"), (0.0078125, "0.0078"),
     (0.0001, "0.00010"), (0.00009, "< 0.0001"), (5e-324, "< 0.0001")],
)  # fmt: skip
def test_p_is_never_printed_as_zero(p: float | None, expected: str) -> None:
    assert format_p(p) == expected


@FIXED
@given(spread())
def test_limits_of_a_mean_are_those_of_the_t_test(x: list[float]) -> None:
    mean, low, high = (float(part[0]) for part in mean_limits([[*x, math.nan]], 0.9))
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (mean, low, high) == pytest.approx((np.mean(x), expected.low, expected.high))


@pytest.mark.parametrize("x", [[1.0], [0.1 + 0.2, 0.3], [math.nan, 2.0]])
def test_one_value_or_equal_values_have_a_mean_without_limits(x: list[float]) -> None:
    mean, low, high = mean_limits([x])
    assert mean[0] == pytest.approx(np.nanmean(x))
    assert np.isnan([low[0], high[0]]).all()
    assert np.isnan(mean_limits([[math.nan]])[0]).all()
    assert math.isnan(t_quantile(0))


@pytest.mark.parametrize("n", [2, 5, 47, 59])
def test_rare_limits_of_zeros_are_the_rule_of_three(n: int) -> None:
    low, high = rare_limits(np.zeros(n), 0.90)
    assert (-low[0], high[0]) == pytest.approx((1 - 0.05 ** (1 / n),) * 2)


@pytest.mark.parametrize(("wins", "n"), [(1, 10), (3, 10), (9, 10), (20, 47)])
def test_rare_limits_of_zeros_and_ones_are_clopper_and_pearson(wins: int, n: int) -> None:
    _, high = rare_limits([[1.0] * wins + [0.0] * (n - wins)], 0.90)
    assert high[0] == pytest.approx(stats.binomtest(wins, n).proportion_ci(0.90, "exact").high)


@pytest.mark.parametrize("n", [29, 47, 59, 80])
@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2])
def test_scenarios_turned_around_at_the_margin_are_called_equivalent_in_at_most_one_of_twenty(
    n: int, margin: float
) -> None:
    """The exact chance, where simulation of the worst of many cases shows up to two points more."""
    wrong = sum(
        math.comb(n, turned) * margin**turned * (1 - margin) ** (n - turned)
        for turned in range(n + 1)
        if rare_limits([[1.0] * turned + [0.0] * (n - turned)], 0.90)[1][0] < margin
    )
    assert wrong <= 0.05


def test_rare_limits_are_those_of_random_weights() -> None:
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(0.05, 0.3, 30), 1).clip(-1, 1)
    weights = rng.dirichlet(np.ones(31), 100_000)
    assert rare_limits(x, 0.90)[1][0] == pytest.approx(np.quantile(weights @ np.append(x, 1.0), 0.95), abs=0.004)


@pytest.mark.parametrize("x", [[1.0] * 6, [1.0] * 30 + [0.5], [-1.0] * 9, [0.0, 1.0], [0.3] * 8])
def test_bounded_limits_lie_in_the_range_around_the_mean(x: list[float]) -> None:
    for low, high in (mean_limits_bounded(x), rare_limits(x, 0.999)):
        assert -1 <= low[0] <= np.mean(x) + 1e-12
        assert np.mean(x) - 1e-12 <= high[0] <= 1
        assert low[0] < high[0]


def test_bounded_limits_ignore_missing_values_and_refuse_others_beyond_the_range() -> None:
    low, high = rare_limits([[0.0, 0.5, -0.25], [0.0, 0.5, math.nan], [0.5, math.nan, math.nan]], 0.90)
    alone = rare_limits([0.0, 0.5], 0.90)
    assert (low[1], high[1]) == (alone[0][0], alone[1][0])
    assert math.isnan(low[2])
    assert math.isnan(mean_limits_bounded([0.5])[1][0])
    with pytest.raises(ValueError, match="between -1 and 1"):
        rare_limits([0.0, 1.5], 0.90)


@FIXED
@given(counts())
def test_wilson_of_arrays_is_that_without_numpy(count: tuple[int, int]) -> None:
    k, n = count
    low, high = wilson_limits([k, 0], [n, 0])
    assert (low[0], high[0]) == pytest.approx(wilson(k, n), abs=1e-14)
    assert np.isnan([low[1], high[1]]).all()


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"successes must lie in 0\.\.n"):
        wilson_limits(k, n)


def test_effective_wilson_is_wilson_with_many_clusters_and_wider_with_few() -> None:
    assert wilson_effective(0.7, 10, 1e9) == pytest.approx(wilson(7, 10), abs=1e-6)
    few, many = wilson_effective(0.7, 10, 4), wilson_effective(0.7, 10, 40)
    assert few[0] < many[0] < 0.7 < many[1] < few[1]
    assert (wilson_effective(0.0, 5, 4)[0], wilson_effective(1.0, 5, 4)[1]) == (0, 1)
    for n, df in ((0, 4), (math.nan, 4), (10, 0)):
        assert np.isnan(wilson_effective(0.5, n, df)).all()


@pytest.mark.parametrize("x", [[1.0, 1.0, 0.8], [0.0, 0.1, 0.0], [0.0, 1.0], [0.99, 1.0, 1.0, 1.0, 0.2]])
def test_a_share_stays_between_zero_and_one(x: list[float]) -> None:
    low, estimate, high = known(share_mean_interval(x))
    assert estimate == pytest.approx(np.mean(x))
    assert 0 <= low < estimate < high <= 1


def test_shares_and_positive_means_far_from_their_edges_have_the_t_interval() -> None:
    x = 0.5 + 0.01 * np.sin(np.arange(40))
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    for found in (share_mean_interval(x), positive_mean_interval(x)):
        assert known(found)[::2] == pytest.approx((expected.low, expected.high), abs=2e-4)


def test_shares_cover_what_they_promise() -> None:
    for mean in (0.9, 0.5):
        samples = np.random.default_rng(4).beta(5 * mean, 5 * (1 - mean), (1500, 12))
        limits = np.array([known(share_mean_interval(x)) for x in samples])
        assert 0.92 < np.mean((limits[:, 0] <= mean) & (mean <= limits[:, 2])) < 0.98


def test_a_ratio_of_parts_stays_below_one() -> None:
    low, estimate, high = known(share_ratio_interval([1, 2, 0, 9], [1, 2, 3, 9]))
    assert estimate == pytest.approx(0.8)
    assert 0 < low < estimate < high < 1
    assert share_ratio_interval([0, 0], [0, 0]) is None


def test_means_without_a_spread_are_points_and_values_out_of_range_errors() -> None:
    for make in (share_mean_interval, positive_mean_interval):
        assert make([]) is None
        for alike in ([0.5], [0.5, 0.5], [0.0, 0.0]):
            found = make(alike)
            assert found is not None
            assert (found.status, found.low) == ("point", None)
        with pytest.raises(ValueError, match=r"below 0|between 0 and 1"):
            make([-1.0])


def test_values_are_grouped_by_label_in_any_order() -> None:
    values, labels = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0], ["a", "a", "b", "c", "c", "c"]
    found = clustered(values, labels)
    assert found.sizes.tolist() == [2, 1, 3]
    assert found.means.tolist() == pytest.approx([0.5, 1, 2 / 3])
    assert found.within.tolist() == pytest.approx([0.5, 0, 2 / 3])
    assert clustered(values[::-1], labels[::-1]).sums.tolist() == found.sums.tolist()
    with pytest.raises(ValueError, match="2 values and 1 labels; give one label per value"):
        clustered([1, 2], ["a"])


def test_icc_is_that_of_the_analysis_of_variance() -> None:
    """The value is that of statsmodels' anova_lm: mean squares 15.04545 between, 3.5 within."""
    found = icc1(clustered([3, 5, 4, 8, 9, 2, 2, 1, 7, 6, 6], list("aaabbccccdd")))
    assert found == pytest.approx(0.5529753265602323)
    for values, labels in (([1, 2], "aa"), ([1, 2], "ab"), ([1, 1, 1, 1], "aabb")):
        assert icc1(clustered(values, list(labels))) is None


@pytest.mark.parametrize(
    ("values", "labels", "expected"),
    [([], "", None), ([1, 1, 0, 0], "aabb", 2), ([1, 0, 1, 0], "aabb", 4), ([1, 1, 1, 1], "aabb", 2),
     ([1, 0, 1], "abc", 3), ([1, 0, 1], "aaa", 1)],
    ids=["nothing", "alike", "as independent", "all equal", "no repetition", "one cluster"],
)  # fmt: skip
def test_effective_n_lies_between_clusters_and_trials(values: list[float], labels: str, expected: float | None) -> None:
    found = effective_n(clustered(values, list(labels)))
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_macro_rate_of_many_clusters_is_wilson_s_and_of_one_a_point() -> None:
    found = macro_rate([1.0] * 700 + [0.0] * 300, range(1_000))
    assert known(found)[::2] == pytest.approx(wilson(700, 1_000), abs=1e-4)
    lone = macro_rate([1, 0], ["a", "a"])
    assert lone is not None
    assert (lone.estimate, lone.status) == (0.5, "point")
    assert macro_rate([], []) is None
    with pytest.raises(ValueError, match="values must be 0 or 1"):
        macro_rate([0.5], ["a"])
