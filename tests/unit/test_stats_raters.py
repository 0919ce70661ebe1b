import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.formula.api import ols  # type: ignore[import-untyped]
from statsmodels.stats.anova import anova_lm  # type: ignore[import-untyped]

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.raters import Bias, bias, biases, decisive_share, icc
from tests.support.numbers import FIXED


def simulated(units: int, raters: int, seed: int, noise: float = 0.3) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(units, 1)) + rng.normal(0, 0.5, size=raters) + rng.normal(0, noise, size=(units, raters))


@FIXED
@given(st.integers(2, 9), st.integers(2, 4), st.integers(0, 10_000))
def test_correlations_follow_from_the_analysis_of_variance_of_statsmodels(n: int, k: int, seed: int) -> None:
    table = simulated(n, k, seed)
    places = {"unit": np.repeat(np.arange(n), k), "rater": np.tile(np.arange(k), n)}
    data = pd.DataFrame({"y": table.ravel(), **places})
    mean_squares = anova_lm(ols("y ~ C(unit) + C(rater)", data).fit())
    between, raters, rest = mean_squares["sum_sq"] / mean_squares["df"]
    found = icc(table)
    assert found is not None
    assert found.icc3 == pytest.approx((between - rest) / (between + (k - 1) * rest))
    expected = (between - rest) / (between + (k - 1) * rest + k * (raters - rest) / n)
    assert found.icc2 == pytest.approx(expected)
    assert found.icc2k == pytest.approx(k * expected / (1 + (k - 1) * expected))
    assert found.icc3k == pytest.approx((between - rest) / between)


@FIXED
@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-50, 50))
def test_unit_and_zero_of_the_scale_do_not_matter_nor_does_any_order(seed: int, unit: float, zero: float) -> None:
    table = simulated(8, 3, seed)
    found, moved, turned = icc(table), icc(unit * table + zero), icc(table[::-1, ::-1])
    assert found is not None
    assert moved is not None
    assert turned is not None
    for name in ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"):
        assert getattr(moved, name) == pytest.approx(getattr(found, name), abs=1e-6)
        assert getattr(turned, name) == pytest.approx(getattr(found, name))


def test_identical_ratings_are_wholly_reliable_and_a_biased_rater_only_in_order() -> None:
    same, biased = icc([[1, 1], [2, 2], [4, 4]]), icc([[1, 3], [2, 4], [4, 6]])
    assert same is not None
    assert biased is not None
    assert (same.icc1, same.icc2, same.icc3) == (1.0, 1.0, 1.0)
    assert biased.icc3 == pytest.approx(1)
    assert biased.icc2 is not None
    assert biased.icc2 < 0.7


@pytest.mark.parametrize(
    "ratings", [np.empty((0, 2)), [[1, 2]], [[1], [2]], [[2, 2], [2, 2]], [[1, np.nan], [np.nan, 2]]]
)
def test_too_little_and_no_difference_are_undefined(ratings: Floats) -> None:
    assert icc(ratings) is None


def test_units_that_differ_by_nothing_have_no_reliability_of_the_mean() -> None:
    found = icc([[1, 2], [2, 1]])
    assert found is not None
    assert (found.icc1k, found.icc3k) == (None, None)
    assert found.icc1 == -1.0


def test_units_that_not_all_rated_are_left_out_and_counted_so() -> None:
    found = icc([[1.0, 1.0], [2.0, 2.0], [3.0, np.nan]])
    assert found is not None
    assert found.units == 2


@FIXED
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20))
def test_bias_is_the_mean_difference_and_turns_with_the_raters(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    found, turned = bias(first, second), bias(second, first)
    assert found is not None
    assert turned is not None
    assert found.mean == pytest.approx(np.mean(first - second))
    assert turned.mean == pytest.approx(-found.mean)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.mean <= found.high
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.std(first - second, ddof=1), abs=1e-6)


def test_bias_of_one_pair_is_its_mean_alone_and_of_none_unknown() -> None:
    assert bias([1, np.nan], [0.5, 0.5]) == Bias(0.5, None, None, None, 1)
    assert bias([np.nan], [1]) is None
    assert bias([], []) is None


def test_every_pair_of_raters_is_compared() -> None:
    found = biases([[1, 2, np.nan], [1, 3, np.nan]])
    assert {pair: one and one.mean for pair, one in found.items()} == {(0, 1): -1.5, (0, 2): None, (1, 2): None}


def test_units_are_decisive_where_raters_stand_on_both_sides() -> None:
    split, above, below, alone = [0.5, 0.7, 0.9], [0.6, 0.7, 0.8], [0.1, 0.2, 0.59], [0.1, np.nan, np.nan]
    assert decisive_share([split, above, below, alone], 0.6) == pytest.approx(1 / 3)
    assert decisive_share([[0.1 + 0.2 + 0.3, 0.6 - 1e-12]], 0.6) == 0.0
    assert decisive_share([alone], 0.6) is None
    assert decisive_share(np.empty((0, 3)), 0.6) is None


def test_what_is_no_rating_is_refused() -> None:
    with pytest.raises(ValueError, match="two dimensions"):
        icc([1, 2, 3])
    with pytest.raises(ValueError, match="no infinity"):
        bias([1, np.inf], [1, 1])
    with pytest.raises(ValueError, match="1 and 2 ratings"):
        bias([1], [1, 2])
    with pytest.raises(ValueError, match="threshold"):
        decisive_share([[1, 2]], np.nan)
