import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.change import Change, best_change, change_points, divide
from tests.support.numbers import FIXED

SERIES = st.lists(st.integers(-50, 50).map(float), min_size=6, max_size=14).filter(lambda x: len(set(x)) > 1)


def energy(first: Floats, second: Floats) -> float:
    """The definition: twice the mean distance between, less the mean distances of pairs within."""
    m, n = len(first), len(second)
    between = np.abs(np.subtract.outer(first, second)).mean()
    within = [np.abs(np.subtract.outer(part, part)).sum() / (len(part) * (len(part) - 1)) for part in (first, second)]
    return float(m * n / (m + n) * (2 * between - sum(within)))


@FIXED
@given(SERIES)
def test_the_best_split_is_that_of_the_definition(series: list[float]) -> None:
    x, n = np.array(series), len(series)
    scores = {(t, e): energy(x[:t], x[t:e]) for t in range(3, n - 2) for e in range(t + 3, n + 1)}
    found = best_change(x, draws=1)
    assert found is not None
    assert found.statistic == pytest.approx(max(scores.values()), abs=1e-9)
    assert max(score for (t, _), score in scores.items() if t == found.at) == pytest.approx(found.statistic, abs=1e-9)


@settings(FIXED, max_examples=20)
@given(st.integers(0, 1000), st.integers(8, 30))
def test_p_is_a_chance_with_a_floor_and_the_same_seed_gives_the_same(seed: int, n: int) -> None:
    x = np.random.default_rng(seed).normal(size=n)
    found = best_change(x, draws=19, seed=seed)
    assert found is not None
    assert 1 / 20 <= found.p <= 1
    assert found == best_change(x, draws=19, seed=seed)
    assert change_points(x, draws=19, seed=seed) == change_points(x, draws=19, seed=seed)


@settings(FIXED, max_examples=20)
@given(st.integers(0, 1000), st.floats(0.01, 100), st.floats(-100, 100))
def test_unit_zero_and_direction_of_the_scale_do_not_matter(seed: int, unit: float, zero: float) -> None:
    x = np.random.default_rng(seed).normal(size=20) + np.repeat([0, 2], 10)
    assert divide(unit * x + zero, 2) == divide(-x, 2) == divide(x, 2)


@pytest.mark.parametrize("n", [12, 40])
def test_false_alarms_in_stationary_series_are_about_as_frequent_as_the_level(n: int) -> None:
    rng = np.random.default_rng(3)
    alarms = [bool(change_points(rng.normal(size=n), level=0.05, draws=99)) for _ in range(300)]
    assert np.mean(alarms) < 0.08  # 0.05 and two standard errors


def test_series_of_few_and_equal_values_do_not_alarm_more() -> None:
    rng = np.random.default_rng(4)
    alarms = [bool(change_points(rng.integers(0, 2, size=20), level=0.05, draws=99)) for _ in range(300)]
    assert np.mean(alarms) < 0.08


def test_a_shift_is_found_where_it_is() -> None:
    x = np.random.default_rng(5).normal(size=60) + np.repeat([0.0, 2.0], [25, 35])
    (found,) = change_points(x)
    assert abs(found.at - 25) <= 1
    assert found.p == 1 / 200


def test_a_passing_excursion_is_found_from_both_ends() -> None:
    x = np.random.default_rng(6).normal(0, 0.5, size=100)
    x[50:56] += 4
    assert [found.at for found in change_points(x)] == [50, 56]


def test_a_change_of_spread_alone_is_found_too() -> None:
    rng = np.random.default_rng(7)
    found = change_points(np.concatenate([rng.normal(0, 1, size=80), rng.normal(0, 8, size=80)]))
    assert len(found) == 1
    assert abs(found[0].at - 80) <= 5


def test_several_changes_come_in_the_order_of_time() -> None:
    levels = np.repeat([0.0, 9.0, 3.0, 12.0], 20)
    found = change_points(levels + np.random.default_rng(8).normal(0, 0.3, size=80), level=0.01)
    assert [one.at for one in found] == [20, 40, 60]
    assert all(one.p <= 0.01 for one in found)


@pytest.mark.parametrize("values", [[], [1], [1, 2, 3, 4, 5], [0.1] * 50])
def test_short_and_equal_series_hold_no_change(values: list[float]) -> None:
    assert change_points(values) == ()
    assert best_change(values) is None
    assert divide(values, 3) == ()


def test_no_more_splits_come_than_there_are() -> None:
    assert divide([0, 0, 0, 9, 9, 9], 5) == (3,)
    assert divide([0, 0, 9, 9], 5, shortest=2) == (2,)


def test_a_series_that_is_too_short_to_tell_is_not_told_to_change() -> None:
    found = best_change([0, 1, 2, 97, 98, 99])
    assert isinstance(found, Change)
    assert found.at == 3
    assert found.p > 0.05  # two of the twenty ways to deal it are as extreme
    assert change_points([0, 1, 2, 97, 98, 99]) == ()


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        change_points([1, np.nan, 2, 3, 4, 5])
    for draws, shortest in ((0, 3), (9, 1)):
        with pytest.raises(ValueError, match="draws must be at least 1 and shortest at least 2"):
            change_points([1, 2], draws=draws, shortest=shortest)
