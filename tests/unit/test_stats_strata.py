import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.pvalue import Alternative
from scylla_gha.stats.resampling import Resampling
from scylla_gha.stats.strata import stratified_binary_test, stratified_p, stratified_test
from tests.support.numbers import FIXED

SIDES = st.sampled_from(["two-sided", "greater", "less"])
Table = list[tuple[int, int, int, int]]


def tables(trials: int = 3, strata: int = 3) -> st.SearchStrategy[Table]:
    size = st.integers(1, trials)
    one = st.tuples(size, size).flatmap(
        lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
    )
    return st.lists(one, min_size=1, max_size=strata)


def values(table: Table) -> list[tuple[list[int], list[int]]]:
    return [([1] * a + [0] * (n - a), [1] * b + [0] * (m - b)) for a, n, b, m in table]


def enumerated(table: Table, alternative: Alternative) -> float:
    """Every way to deal the values of each stratum to the arms."""
    dealt = [[sum((x + y)[i] for i in chosen) for chosen in combinations(range(len(x + y)), len(x))]
             for x, y in values(table)]  # fmt: skip
    expected = sum((a + b) * n / (n + m) for a, n, b, m in table)
    offsets = np.array([sum(one) for one in product(*dealt)]) - expected
    observed = sum(a for a, *_ in table) - expected
    if alternative == "two-sided":
        offsets, observed = abs(offsets), abs(observed)
    return float(np.mean(offsets <= observed + 1e-9 if alternative == "less" else offsets >= observed - 1e-9))


@FIXED
@given(tables(), SIDES)
def test_convolution_gives_what_enumeration_gives(table: Table, alternative: Alternative) -> None:
    found = stratified_binary_test(table, alternative)
    assert found is not None
    assert found.p == pytest.approx(enumerated(table, alternative))
    assert 0 < found.least_p <= found.p * (1 + 1e-12)
    assert found.p <= 1


@FIXED
@given(tables(20, 1))
def test_one_stratum_and_one_side_is_fisher(table: Table) -> None:
    found = stratified_binary_test(table, "greater")
    (a, n, b, m) = table[0]
    assert found is not None
    assert found.p == pytest.approx(stats.fisher_exact(np.array([[a, n - a], [b, m - b]]), "greater").pvalue)


@settings(FIXED, max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 4), st.just(4), st.integers(0, 4), st.just(4)), min_size=1, max_size=4))
def test_drawing_comes_near_the_exact_p(table: Table) -> None:
    exact, drawn = stratified_binary_test(table), stratified_test(values(table), how=Resampling(seed=5))
    assert exact is not None
    assert drawn is not None
    assert drawn.p == pytest.approx(exact.p, abs=0.025)
    assert drawn.statistic * 2 * len(table) == pytest.approx(exact.statistic)


def test_strata_take_the_difference_between_them_out() -> None:
    strata = [([10.0, 11.0, 12.0], [8.0, 9.0, 9.5]), ([110.0, 112.0, 113.0], [107.0, 108.0, 109.0]),
              ([1010.0, 1011.0, 1012.5], [1007.0, 1008.0, 1009.0])]  # fmt: skip
    found = stratified_test(strata)
    pooled = stats.ttest_ind(np.ravel([x for x, _ in strata]), np.ravel([y for _, y in strata]))
    assert found is not None
    assert found.p < 0.002
    assert pooled.pvalue > 0.5
    assert found.n == 3


def test_unequal_strata_weigh_alike_and_the_sides_are_told_apart() -> None:
    strata = [([1.0, 2.0, 3.0, 4.0, 5.0], [0.0]), ([3.0], [1.0, 1.5, 0.5])]
    found = [stratified_test(strata, side) for side in ("greater", "less")]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].statistic == pytest.approx((3 + 2) / 2)
    assert found[0].p < 0.1
    assert found[1].p > 0.9


def test_a_stratum_of_one_arm_takes_no_part() -> None:
    table = [(2, 3, 0, 3), (3, 3, 0, 0), (0, 0, 1, 4)]
    assert stratified_binary_test(table) == stratified_binary_test(table[:1])
    assert stratified_test(values(table)) == stratified_test(values(table[:1]))
    assert stratified_test([([], [1.0])]) is stratified_test([]) is None
    assert stratified_binary_test([(0, 0, 1, 1)]) is stratified_binary_test([]) is None


def test_all_alike_is_no_effect() -> None:
    found, drawn = stratified_binary_test([(3, 3, 3, 3)] * 4), stratified_test([([0.3, 0.3], [0.3])] * 4)
    assert found is not None
    assert drawn is not None
    assert found.p == found.least_p == 1
    assert drawn.p == 1


def test_the_seed_fixes_the_draws() -> None:
    strata = [(row[:5], row[5:]) for row in np.random.default_rng(1).normal(size=(6, 11))]
    assert stratified_test(strata, how=Resampling(999, 1)) == stratified_test(strata, how=Resampling(999, 1, threads=2))


def test_strata_of_unequal_sizes_are_dealt_by_the_difference_of_their_means() -> None:
    strata = [([5.0, 1.0, 4.0], [2.0]), ([7.0], [3.0, 6.0]), ([2.5, 2.0], [0.5, 1.5, 9.0])]
    gaps = []
    for one, other in strata:
        whole = np.array(one + other)
        dealt = [list(chosen) for chosen in combinations(range(len(whole)), len(one))]
        gaps.append([whole[chosen].mean() - np.delete(whole, chosen).mean() for chosen in dealt])
    sums = np.array([sum(gap) for gap in product(*gaps)])
    found = stratified_test(strata)
    assert found is not None
    assert found.p == pytest.approx(np.mean(abs(sums) >= abs(sums[0]) - 1e-9), abs=0.015)
    assert found.statistic == pytest.approx(sums[0] / 3)


def test_rows_are_as_if_alone() -> None:
    rng = np.random.default_rng(4)
    strata = [(rng.normal(size=(30, n)), rng.normal(0.3, 1, size=(30, m))) for n, m in ((5, 5), (3, 6), (5, 5), (4, 0))]
    found = stratified_p(strata, how=Resampling(999))
    assert found.shape == (30,)
    alone = [stratified_test([(one[i], other[i]) for one, other in strata], how=Resampling(999)) for i in range(30)]
    assert found.tolist() == [test.p if test else None for test in alone]
    assert stratified_p([(np.zeros((2, 0)), np.zeros((2, 3)))]).tolist() == [1, 1]
    assert stratified_p([]).size == 0
    with pytest.raises(ValueError, match="the same number of rows"):
        stratified_p([([[1.0]], [[1.0], [2.0]])])


def test_strata_are_dealt_independently() -> None:
    # Were all strata dealt alike, the sum over them would vary like one stratum times their number.
    rng = np.random.default_rng(4)
    strata = [(rng.normal(size=5), rng.normal(size=5)) for _ in range(40)]
    found = stratified_test(strata)
    d = [x.mean() - y.mean() for x, y in strata]
    spread = math.sqrt(sum(np.concatenate(both).var(ddof=1) * 2 / 5 for both in strata)) / 40
    assert found is not None
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(np.mean(d)) / spread), abs=0.03)


def test_many_strata_stay_exact() -> None:
    found = stratified_binary_test([(7, 10, 3, 10)] * 47)
    assert found is not None
    assert 0 < found.least_p < found.p < 1e-30


@pytest.mark.parametrize(
    ("counts", "message"),
    [([[1, 2, 3]], "must have the shape"), ([[3, 2, 0, 1]], "0..trials"), ([[-1, 2, 0, 1]], "0..trials")],
)
def test_what_is_no_table_is_refused(counts: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stratified_binary_test(counts)
