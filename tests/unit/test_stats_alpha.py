from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.alpha import Level, alpha, alpha_limits
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
RATING = st.one_of(st.just(np.nan), st.integers(0, 4).map(float))
TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(RATING, min_size=raters, max_size=raters), min_size=1, max_size=12)
)


def by_pairs(table: list[list[float]], level: Level) -> float | None:
    """Krippendorff's definition, pair by pair."""
    units = [[rating for rating in row if not np.isnan(rating)] for row in table]
    units = [unit for unit in units if len(unit) > 1]
    everything = [rating for unit in units for rating in unit]
    apart = {"nominal": lambda a, b: a != b, "ordinal": between(everything), "interval": lambda a, b: (a - b) ** 2,
             "ratio": lambda a, b: ((a - b) / (a + b or 1)) ** 2}[level]  # fmt: skip
    observed = sum(apart(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2))
    expected = sum(apart(a, b) for a, b in permutations(everything, 2))
    return 1 - (len(everything) - 1) * observed / expected if expected else None


def between(everything: list[float]):  # type: ignore[no-untyped-def]  # noqa: ANN201 a distance
    def apart(a: float, b: float) -> float:
        low, high = min(a, b), max(a, b)
        inside = sum(low <= rating <= high for rating in everything)
        return float(a != b) * (inside - (everything.count(low) + everything.count(high)) / 2) ** 2

    return apart


@FIXED
@given(TABLES, st.sampled_from(LEVELS))
def test_it_is_what_the_definition_says_pair_by_pair(table: list[list[float]], level: Level) -> None:
    expected = by_pairs(table, level)
    found = alpha(table, level)
    assert (found is None) == (expected is None)
    assert found == pytest.approx(expected)
    assert found is None or found <= 1 + 1e-12


@FIXED
@given(TABLES, st.sampled_from(LEVELS), st.randoms(use_true_random=False))
def test_no_order_matters(table: list[list[float]], level: Level, random: object) -> None:
    shuffled = [row[::-1] for row in table]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert alpha(shuffled, level) == pytest.approx(alpha(table, level))


@FIXED
@given(st.lists(st.floats(0, 1, width=16), min_size=2, max_size=20, unique=True), st.sampled_from(LEVELS))
def test_identical_ratings_are_one(scores: list[float], level: Level) -> None:
    assert alpha(np.array([scores, scores, scores]).T, level) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "ratings", [np.empty((0, 3)), np.empty((0, 0)), [[1]], [[0.3] * 3] * 7, [[1, np.nan], [np.nan, 2]]]
)
def test_equal_or_single_ratings_are_undefined(ratings: Floats, level: Level) -> None:
    assert alpha(ratings, level) is None


@FIXED
@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-1e4, 1e4))
def test_unit_and_zero_of_the_scale_do_not_matter(seed: int, unit: float, zero: float) -> None:
    table = np.random.default_rng(seed).random((9, 3))
    assert alpha(unit * table + zero) == pytest.approx(alpha(table), abs=1e-6)


def test_tens_of_thousands_of_units_are_no_burden() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(50_000, 1))
    found = alpha(truth + rng.normal(size=(50_000, 3)))
    assert found == pytest.approx(0.5, abs=0.01)


def test_limits_enclose_alpha_and_the_same_seed_gives_the_same() -> None:
    rng = np.random.default_rng(2)
    table, clusters = rng.normal(size=(90, 1)) + rng.normal(0, 0.6, size=(90, 3)), np.repeat(np.arange(30), 3)
    plain, limits = alpha(table), alpha_limits(table, clusters, Resampling(draws=999))
    assert plain is not None
    assert limits is not None
    assert limits[0] < plain < limits[1]
    assert limits == alpha_limits(table, clusters, Resampling(draws=999))
    assert limits != alpha_limits(table, clusters, Resampling(draws=999, seed=1))


def test_a_resample_is_alpha_of_the_clusters_that_were_drawn() -> None:
    table, clusters = np.array([[1, 2], [3, 3], [5, 4], [9, 8.0]]), ["a", "a", "b", "b"]
    drawn = [alpha(table[rows]) for rows in ([0, 1, 0, 1], [0, 1, 2, 3], [2, 3, 2, 3])]
    limits = alpha_limits(table, clusters, Resampling(draws=999, confidence=0.999))
    assert limits == pytest.approx((min(drawn), max(drawn)))  # type: ignore[type-var]


def test_resamples_without_any_difference_have_no_alpha() -> None:
    table = [[1.0, 1.0], [2.0, 2.0]]
    assert alpha_limits(table, ["a", "b"], Resampling(draws=99)) == (1.0, 1.0)
    drawn = {alpha_limits(table, ["a", "b"], Resampling(draws=1, seed=seed)) for seed in range(20)}
    assert drawn == {None, (1.0, 1.0)}


def test_one_cluster_and_no_difference_have_no_limits() -> None:
    assert alpha_limits([[1, 2], [2, 1]], ["a", "a"]) is None
    assert alpha_limits([[1, 1], [1, 1]], ["a", "b"]) is None
    assert alpha_limits([[1.0, 2.0], [np.nan, 1.0]], ["a", "b"]) is None
    assert alpha_limits(np.empty((0, 3)), []) is None


def test_what_is_no_table_of_ratings_is_refused() -> None:
    with pytest.raises(ValueError, match="two dimensions"):
        alpha([1, 2])
    with pytest.raises(ValueError, match="2 units and 1 labels"):
        alpha_limits([[1, 2], [2, 1]], ["a"])


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_the_published_example_of_all_levels(level: Level, published: float) -> None:
    """Krippendorff 2011, Computing Krippendorff's Alpha-Reliability: four observers, twelve units."""
    blank = np.nan
    table = [[1, 2, 3, 3, 2, 1, 4, 1, 2, blank, blank, blank], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, blank, 3],
             [blank, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, blank], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, blank]]  # fmt: skip
    assert alpha(np.transpose(table), level) == pytest.approx(published, abs=0.0006)


def test_a_level_that_is_not_known_is_an_error_and_not_another_level() -> None:
    with pytest.raises(ValueError, match="'circular' is none of nominal, ordinal, interval, ratio"):
        alpha([[1, 2], [2, 2]], "circular")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not below 0"):
        alpha([[1, 2], [-2, 2]], "ratio")
