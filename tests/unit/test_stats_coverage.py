"""The default intervals hold the truth as often as they say, at the sizes for which that is promised."""

import numpy as np
import pytest

from tests.benchmarks.coverage import CLUSTERED, SEED, promised, skewed_mean


def test_default_intervals_cover_what_they_promise() -> None:
    found = list(promised(datasets=1_500))
    assert len(found) == 14
    assert [row for row in found if not 0.92 <= row.coverage <= 0.98] == []


def test_skewed_costs_fall_short_and_so_need_their_mark() -> None:
    assert skewed_mean(np.random.default_rng(SEED), 2_000, 10) < 0.85
    assert len({what for what, *_ in CLUSTERED}) == 4


@pytest.mark.parametrize("name", [what for what, *_ in CLUSTERED])
def test_a_simulation_is_the_same_each_time(name: str) -> None:
    simulate = next(call for what, _, call in CLUSTERED if what == name)
    one, two = (simulate(np.random.default_rng(1), 50, 10, 5) for _ in range(2))
    assert one == two
