"""Changes of level and slow drift in a series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.change_points import Signal, change_points, cusum, first_signal
from tests.support.numbers import FIXED

SERIES = st.lists(st.floats(-20, 20), max_size=40)


@pytest.mark.parametrize("draw", [lambda rng: rng.normal(size=12), lambda rng: rng.integers(0, 2, size=20)])
def test_false_alarms_in_stationary_series_are_about_as_frequent_as_the_level(draw: object) -> None:
    assert callable(draw)
    rng = np.random.default_rng(3)
    alarms = [bool(change_points(draw(rng), level=0.05, draws=99)) for _ in range(300)]
    assert np.mean(alarms) < 0.08  # 0.05 and two standard errors


def test_a_shift_is_found_at_its_place() -> None:
    x = np.random.default_rng(5).normal(size=60) + np.repeat([0.0, 2.0], [25, 35])
    (found,) = change_points(x)
    assert abs(found.at - 25) <= 1
    assert found.p == 1 / 1000
    assert change_points(x * 10 + 5) == change_points(x)


def test_a_passing_excursion_is_found_from_both_ends() -> None:
    x = np.random.default_rng(6).normal(0, 0.5, size=100)
    x[50:56] += 4
    assert [found.at for found in change_points(x)] == [50, 56]


def test_a_change_of_spread_alone_is_found_too() -> None:
    rng = np.random.default_rng(7)
    (found,) = change_points(np.concatenate([rng.normal(0, 1, size=80), rng.normal(0, 8, size=80)]))
    assert abs(found.at - 80) <= 5


def test_several_changes_come_in_the_order_of_time() -> None:
    levels = np.repeat([0.0, 9.0, 3.0, 12.0], 20)
    found = change_points(levels + np.random.default_rng(8).normal(0, 0.3, size=80), level=0.01, draws=199)
    assert [one.at for one in found] == [20, 40, 60]
    assert all(one.p <= 0.01 for one in found)


@pytest.mark.parametrize("x", [[], [1, 2, 9, 9, 9], [3.0] * 40, [0.1 + 0.2] * 6 + [0.3] * 6])
def test_short_and_constant_series_have_no_change(x: list[float]) -> None:
    assert change_points(x) == ()


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        change_points([1, np.nan, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="draws must be at least 1, not 0"):
        change_points([1, 2], draws=0)


@FIXED
@given(SERIES, st.sampled_from([0.0, 0.25, 0.5]))
def test_sums_are_the_largest_of_all_runs_that_end_there(series: list[float], k: float) -> None:
    found, turned = cusum(series, k), cusum([-value for value in series], k)
    assert (found.upper.tolist(), found.lower.tolist()) == (turned.lower.tolist(), turned.upper.tolist())
    for end in range(1, len(series) + 1):
        runs = [sum(value - k for value in series[start:end]) for start in range(end + 1)]
        assert found.upper[end - 1] == pytest.approx(max(0.0, *runs), abs=1e-9)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([0, 0, 0, 2, 2, 2, 2, 2], Signal(at=6, since=3, side="up")),
        ([-2.0] * 6, Signal(at=3, since=0, side="down")),
        ([9, -9, -9], Signal(at=0, since=0, side="up")),
        ([-9, 9, 9], Signal(at=0, since=0, side="down")),
        ([0.4] * 500, None),
        ([5.5], None),
        ([], None),
    ],
)
def test_the_first_signal_has_its_side_and_where_it_began(series: list[float], expected: Signal | None) -> None:
    assert first_signal(cusum(series)) == expected
