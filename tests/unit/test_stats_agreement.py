"""Agreement of raters: alpha with its limits, ICC, kappa and bias."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.agreement import Bias, alpha, alpha_limits, bias, icc, quadratic_kappa
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED

RATING = st.one_of(st.just(np.nan), st.integers(0, 4).map(float))
TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(RATING, min_size=raters, max_size=raters), min_size=1, max_size=12)
)


def by_pairs(table: list[list[float]]) -> float | None:
    """Krippendorff's definition, pair by pair."""
    units = [[rating for rating in row if not np.isnan(rating)] for row in table]
    units = [unit for unit in units if len(unit) > 1]
    ratings = [rating for unit in units for rating in unit]
    observed = sum((a - b) ** 2 / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2))
    expected = sum((a - b) ** 2 for a, b in permutations(ratings, 2))
    return 1 - (len(ratings) - 1) * observed / expected if expected else None


@FIXED
@given(TABLES)
def test_alpha_is_its_definition_pair_by_pair_in_any_order(table: list[list[float]]) -> None:
    found, expected = alpha(table), by_pairs(table)
    assert (found is None) == (expected is None)
    assert found == pytest.approx(expected)
    assert alpha([row[::-1] for row in table[::-1]]) == pytest.approx(found)


def test_alpha_of_the_published_example() -> None:
    """Krippendorff 2011, Computing Krippendorff's Alpha-Reliability: four observers, twelve units."""
    nan = np.nan
    table = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
             [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan]]  # fmt: skip
    assert alpha(np.transpose(table)) == pytest.approx(0.849, abs=0.0006)


@FIXED
@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-1e4, 1e4))
def test_unit_and_zero_of_the_scale_do_not_matter(seed: int, unit: float, zero: float) -> None:
    table = np.random.default_rng(seed).random((9, 3))
    assert alpha(unit * table + zero) == pytest.approx(alpha(table), abs=1e-6)
    one, other = icc(table), icc(unit * table + zero)
    assert one is not None
    assert other is not None
    assert (other.single, other.panel) == pytest.approx((one.single, one.panel), abs=1e-6)


def test_limits_enclose_alpha_and_depend_on_the_seed() -> None:
    rng = np.random.default_rng(2)
    table, clusters = rng.normal(size=(90, 1)) + rng.normal(0, 0.6, size=(90, 3)), np.repeat(np.arange(30), 3)
    plain, limits = alpha(table), alpha_limits(table, clusters, Resampling(draws=999))
    assert plain is not None
    assert limits is not None
    assert limits[0] < plain < limits[1]
    assert limits != alpha_limits(table, clusters, Resampling(draws=999, seed=1))


def test_a_resample_is_alpha_of_the_clusters_that_were_drawn() -> None:
    table, clusters = np.array([[1, 2], [3, 3], [5, 4], [9, 8.0]]), ["a", "a", "b", "b"]
    drawn = [alpha(table[rows]) for rows in ([0, 1, 0, 1], [0, 1, 2, 3], [2, 3, 2, 3])]
    assert alpha_limits(table, clusters, Resampling(draws=999)) == pytest.approx((min(drawn), max(drawn)))  # type: ignore[type-var]


def test_resamples_without_any_difference_have_no_alpha() -> None:
    table = [[1.0, 1.0], [2.0, 2.0]]
    assert alpha_limits(table, ["a", "b"], Resampling(draws=99)) == (1.0, 1.0)
    drawn = {alpha_limits(table, ["a", "b"], Resampling(draws=1, seed=seed)) for seed in range(20)}
    assert drawn == {None, (1.0, 1.0)}


@pytest.mark.parametrize(
    ("table", "clusters"),
    [([[1, 2], [2, 1]], "aa"), ([[1, 1], [1, 1]], "ab"), ([[1.0, 2.0], [np.nan, 1.0]], "ab"), (np.empty((0, 3)), "")],
    ids=["one cluster", "no difference", "one unit with two", "nothing"],
)
def test_too_little_has_no_limits(table: Floats, clusters: str) -> None:
    assert alpha_limits(table, list(clusters)) is None


def test_ratings_of_a_wrong_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="two dimensions"):
        alpha([1, 2])
    with pytest.raises(ValueError, match="2 units and 1 labels"):
        alpha_limits([[1, 2], [2, 1]], ["a"])


def test_identical_ratings_are_wholly_reliable_and_a_biased_rater_is_not() -> None:
    same, biased = icc([[1.0, 1.0], [2.0, 2.0], [9.0, np.nan], [4.0, 4.0]]), icc([[1, 3], [2, 4], [4, 6]])
    assert same is not None
    assert biased is not None
    assert (same.single, same.panel) == (1.0, 1.0)
    assert biased.single is not None
    assert biased.single < 0.7


@pytest.mark.parametrize(
    "ratings", [np.empty((0, 2)), [[1, 2]], [[1], [2]], [[2, 2], [2, 2]], [[1, np.nan], [np.nan, 2]]]
)
def test_too_little_or_no_difference_has_no_icc(ratings: Floats) -> None:
    assert icc(ratings) is None


def test_kappa_is_that_of_statsmodels() -> None:
    """The value is that of statsmodels' cohens_kappa(wt="quadratic") of this table."""
    table = np.array([[11, 3, 1, 0, 0], [2, 9, 4, 1, 0], [0, 3, 8, 2, 1], [1, 0, 2, 7, 3], [0, 0, 1, 2, 12]])
    first, second = (np.repeat(place, table.ravel()) for place in np.indices((5, 5)).reshape(2, -1))
    assert quadratic_kappa(first, second, 5) == pytest.approx(0.8446377348015175)
    assert quadratic_kappa(second, first, 5) == pytest.approx(0.8446377348015175)
    assert quadratic_kappa([0, 4], [4, 0], 5) == -1
    assert quadratic_kappa([2, 2], [2, 2], 5) is quadratic_kappa([], [], 5) is None


def test_bias_is_the_mean_difference_of_the_units_that_both_rated() -> None:
    found = bias([1, 2, 5, np.nan], [0.5, 2.5, 2, 1])
    assert found is not None
    assert (found.mean, found.n) == (1.0, 3)
    assert found.sd == pytest.approx(np.std([0.5, -0.5, 3], ddof=1))
    assert bias([1, np.nan], [0.5, 0.5]) == Bias(0.5, None, 1)
    assert bias([np.nan], [1]) is bias([], []) is None
