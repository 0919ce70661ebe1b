import math

import pytest

from scylla_gha.stats.interval import Interval, interval


def test_known_numbers_become_an_interval() -> None:
    assert interval(2.0, (1.0, 3.0), "t", 5, 0.9) == Interval(2.0, 1.0, 3.0, "t", 5, 0.9, "ok")


def test_an_unknown_estimate_is_nothing() -> None:
    assert interval(math.nan, (1.0, 3.0), "t", 5) is None


def test_unknown_limits_leave_a_point() -> None:
    assert interval(2.0, (math.nan, math.nan), "t", 1) == Interval(2.0, None, None, "t", 1, 0.95, "point")


@pytest.mark.parametrize(
    ("limits", "kept"), [((1.0, math.inf), (1.0, None)), ((-math.inf, math.inf), (None, None))], ids=["one", "both"]
)
def test_an_infinite_limit_is_told_by_the_status(
    limits: tuple[float, float], kept: tuple[float | None, float | None]
) -> None:
    found = interval(2.0, limits, "Fieller", 5)
    assert found is not None
    assert (found.low, found.high, found.status) == (*kept, "unbounded")
