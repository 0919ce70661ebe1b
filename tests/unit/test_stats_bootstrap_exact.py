from itertools import product

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from scylla_gha.stats.bootstrap import percentile_limits
from scylla_gha.stats.bootstrap_exact import (
    MOST,
    all_weights,
    exact_percentile_limits,
    exact_se_mean,
    resamples,
)
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED, spread


@pytest.mark.parametrize("n", range(1, MOST + 1))
def test_all_resamples_are_there_once(n: int) -> None:
    weights, chance = all_weights(n)
    assert weights.shape == (n, resamples(n))
    assert (weights.sum(axis=0) == n).all()
    assert np.unique(weights, axis=1).shape == weights.shape
    assert chance.sum() == pytest.approx(1)
    assert chance == pytest.approx(stats.multinomial.pmf(weights.T, n, [1 / n] * n))


@pytest.mark.parametrize("n", [0, MOST + 1])
def test_more_are_not_enumerated(n: int) -> None:
    with pytest.raises(ValueError, match=f"enumerated for 1 to {MOST} values, not {n}; draw them instead"):
        all_weights(n)
    assert resamples(0) == 0


@FIXED
@given(spread(2, 5))
def test_limits_are_those_of_all_ordered_resamples(x: list[float]) -> None:
    means = np.array([np.mean(one) for one in product(x, repeat=len(x))])
    expected = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
    low, high = exact_percentile_limits(x)
    assert (low[0], high[0]) == pytest.approx(tuple(expected), abs=1e-9)
    assert exact_se_mean(x) == pytest.approx(means.std(), abs=1e-9)


def test_drawing_comes_near() -> None:
    x = [1.0, 2.5, 4.0, 4.5, 7.0, 9.0, 9.5]
    drawn = percentile_limits([x], how=Resampling(draws=50_000))
    exact = exact_percentile_limits(x)
    assert (drawn[0][0], drawn[1][0]) == pytest.approx((exact[0][0], exact[1][0]), abs=0.1)


def test_many_rows_at_once_and_no_spread_no_limits() -> None:
    low, high = exact_percentile_limits([[2, 3, 2, 4, 2], [1, 1, 1, 1, 1]], 0.95)
    assert (low[0], high[0]) == (2.0, 3.4)
    assert np.isnan([low[1], high[1]]).all()
    assert np.isnan(exact_percentile_limits([3.0])).all()
    assert exact_percentile_limits(np.zeros((0, 5)))[0].size == 0
    assert exact_se_mean([]) is None
