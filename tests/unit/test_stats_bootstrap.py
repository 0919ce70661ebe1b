from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.bootstrap import (
    acceleration,
    bca_limits,
    bootstrap_interval,
    inverse_ratio_limits,
    mean_of,
    percentile_limits,
    ratio_of,
    resample,
    variance_of,
)
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED, spread

HOW = Resampling(draws=9_999, seed=7)
FEW = Resampling(draws=999, seed=7)
X = np.random.default_rng(1).lognormal(0, 0.8, (40, 50))
Y = np.random.default_rng(2).uniform(0.2, 1.0, (40, 50))


@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_limits_agree_with_scipy_up_to_simulation(method: Literal["BCa", "percentile"]) -> None:
    limits = bca_limits if method == "BCa" else percentile_limits
    for row in X[:3]:
        found = stats.bootstrap((row,), np.mean, n_resamples=9_999, method=method, rng=np.random.default_rng(0))
        low, high = limits([row], how=HOW)
        width = found.confidence_interval.high - found.confidence_interval.low
        expected = (found.confidence_interval.low, found.confidence_interval.high)
        assert (low[0], high[0]) == pytest.approx(expected, abs=0.05 * width)


def test_a_ratio_agrees_with_scipy_up_to_simulation() -> None:
    x, y = X[0], Y[0]
    found = stats.bootstrap((x, y), lambda a, b, axis: a.mean(axis=axis) / b.mean(axis=axis), paired=True,
                            vectorized=True, n_resamples=9_999, rng=np.random.default_rng(0))  # fmt: skip
    low, high = bca_limits([x, y], ratio_of, HOW)
    expected = (found.confidence_interval.low, found.confidence_interval.high)
    assert (low[0], high[0]) == pytest.approx(expected, abs=0.05 * (expected[1] - expected[0]))


@pytest.mark.parametrize("x", [[1.0] * 7 + [0.0] * 3, [0.1, 0.2, 0.4, 3.0, 9.0, 0.3]], ids=["ties", "skewed"])
def test_bca_is_the_textbook_formula_and_ties_count_half(x: list[float]) -> None:
    drawn, mean = resample([x], FEW)[0], np.mean(x)
    equal = np.isclose(drawn, mean, rtol=1e-12)
    bias = stats.norm.ppf(np.mean((drawn < mean) & ~equal) + np.mean(equal) / 2)
    shifted = bias + stats.norm.ppf([0.025, 0.975])
    levels = stats.norm.cdf(bias + shifted / (1 - acceleration([x])[0] * shifted))
    low, high = bca_limits([x], how=FEW)
    assert (low[0], high[0]) == pytest.approx(tuple(np.quantile(drawn, levels)), abs=1e-12)


@FIXED
@given(spread(3))
def test_acceleration_of_a_mean_is_its_skewness(x: list[float]) -> None:
    expected = stats.skew(x) / (6 * np.sqrt(len(x)))
    assert float(acceleration([x])[0]) == pytest.approx(expected, abs=1e-9)


def test_acceleration_of_anything_is_that_of_the_jackknife() -> None:
    left = [np.delete(X[0], i) for i in range(50)]
    for columns, combine, values in (
        ([X[0], Y[0]], ratio_of, [np.delete(X[0], i).sum() / np.delete(Y[0], i).sum() for i in range(50)]),
        ([X[0], X[0] ** 2], variance_of, [one.var() for one in left]),
    ):
        offset = np.mean(values) - np.array(values)
        expected = (offset**3).sum() / (6 * (offset**2).sum() ** 1.5)
        assert float(acceleration(columns, combine)[0]) == pytest.approx(expected)
    assert acceleration([[5.0]]).tolist() == [0]


@settings(FIXED, max_examples=15)
@given(spread(4, 9), st.integers(0, 3), st.permutations(range(4)))
def test_the_seed_fixes_every_byte_whatever_the_threads(x: list[float], seed: int, order: list[int]) -> None:
    table = np.outer([1.0, 2.0, 0.1, 7.3], x)
    plans = [Resampling(999, seed, threads=threads) for threads in (1, 2)]
    one, two = (np.array(bca_limits([table], mean_of, how)).tobytes() for how in plans)
    assert one == two
    shuffled = np.array(bca_limits([table[order]], mean_of, plans[0]))
    assert shuffled.tobytes() == np.array(bca_limits([table], mean_of, plans[0]))[:, order].tobytes()


def test_many_blocks_over_threads_are_the_same_bytes() -> None:
    table = np.random.default_rng(3).normal(size=(300, 20))
    one, two, three = (np.array(bca_limits([table, table**2], variance_of, Resampling(9_999, 1, threads=t))).tobytes()
                       for t in (1, 2, 3))  # fmt: skip
    assert one == two == three


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    low, high = bca_limits([X], how=FEW)
    alone = bca_limits([X[5]], how=FEW)
    assert (low[5], high[5]) == (alone[0][0], alone[1][0])


def test_resamples_are_shared_so_that_rows_can_be_compared() -> None:
    found = resample(np.stack([X[0], 2 * X[0]]), FEW)
    assert found.shape == (2, 999)
    assert np.allclose(2 * found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("limits", [bca_limits, percentile_limits])
@pytest.mark.parametrize("x", [[[1.0, 1.0, 1.0]], [[2.0]], np.zeros((1, 0)), np.zeros((0, 4))])
def test_without_spread_there_are_no_limits(limits: object, x: Floats) -> None:
    assert callable(limits)
    low, high = limits([x], how=FEW)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert low.size == high.size == len(x)


def test_columns_must_belong_together() -> None:
    with pytest.raises(ValueError, match="all columns must have one shape"):
        bca_limits([X, Y[:2]], ratio_of)


def test_one_sample_is_told_as_an_interval() -> None:
    found = bootstrap_interval([X[0]], how=FEW)
    assert found is not None
    assert (found.method, found.n, found.status) == ("bootstrap BCa", 50, "ok")
    assert found.estimate == pytest.approx(X[0].mean())
    assert (found.low or 0) < (found.estimate or 0) < (found.high or 0)
    plain = bootstrap_interval([X[0]], how=FEW, corrected=False)
    assert plain is not None
    assert plain.method == "bootstrap percentile"
    assert bootstrap_interval([[]]) is None
    assert bootstrap_interval([[1.0, 2], [0.0, 0]], ratio_of, FEW) is None
    point = bootstrap_interval([[4.0, 4.0]], how=FEW)
    assert point is not None
    assert point.status == "point"


def test_a_cost_of_success_is_resampled_as_success_per_cost() -> None:
    won = np.array([[1.0] * 12 + [0.0] * 8, [1.0] + [0.0] * 19])
    cost = np.tile(np.linspace(1, 2, 20), (2, 1))
    low, high = inverse_ratio_limits(cost, won, HOW)
    estimate = cost.sum(axis=1) / won.sum(axis=1)
    assert (low < estimate).all()
    assert estimate[0] < high[0] < np.inf
    assert np.isinf(high[1])


def test_a_denominator_that_may_be_zero_gives_no_limits_directly() -> None:
    low, high = percentile_limits([[1.0, 2.0, 3.0], [1.0, 0.0, 0.0]], ratio_of, FEW)
    assert np.isnan([low, high]).all()
