import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.stats import cost_per_success, wilson

CASES = json.loads((Path(__file__).parent / "data" / "wilson_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_wilson_is_as_published(case: dict[str, Any]) -> None:
    assert wilson(case["k"], case["n"]) == pytest.approx(case["expected"], abs=case["tolerance"])


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 7), (7, 7), (0, 1_000_000), (1_000_000, 1_000_000)])
def test_wilson_reaches_its_edges_exactly_and_keeps_room_at_the_other_side(k: int, n: int) -> None:
    interval = wilson(k, n)
    assert interval is not None
    low, high = interval
    assert (low == 0.0) if k == 0 else (high == 1.0)
    assert low < high


def test_wilson_mirrors_when_successes_and_failures_change_places() -> None:
    for n in range(1, 40):
        for k in range(n + 1):
            one, other = wilson(k, n), wilson(n - k, n)
            assert one is not None
            assert other is not None
            assert one == pytest.approx((1 - other[1], 1 - other[0]), abs=1e-12)
            assert 0 <= one[0] <= k / n <= one[1] <= 1


def test_wilson_limits_are_where_the_score_test_is_just_not_significant() -> None:
    interval, z = wilson(7, 10), 1.959963984540054
    assert interval is not None
    for limit in interval:
        assert (0.7 - limit) ** 2 == pytest.approx(z * z * limit * (1 - limit) / 10)


def test_wilson_of_nothing_is_unknown() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (1, 0), (0, -1)])
def test_wilson_refuses_invalid_proportions(k: int, n: int) -> None:
    with pytest.raises(ValueError, match=rf"successes must lie in 0\.\.{n}, not {k}"):
        wilson(k, n)


@pytest.mark.parametrize(
    ("total", "successes", "expected"),
    [(8.0, 2, 4.0), (2.0, 3, 2 / 3), (0.0, 3, 0.0), (5.0, 0, None), (0.0, 0, None)],
    ids=["failures are paid for", "basic", "free", "infinite", "nothing"],
)
def test_cost_per_success_counts_the_failures(total: float, successes: int, expected: float | None) -> None:
    assert cost_per_success(total, successes) == (None if expected is None else pytest.approx(expected))
