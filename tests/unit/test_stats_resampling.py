import threading
from typing import Any

import numpy as np
import pytest

from scylla_gha.stats.resampling import Resampling, in_blocks, multinomial_weights, random_choices, random_signs


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_weights_are_resamples(n: int) -> None:
    found = multinomial_weights(n, 500, 0)
    assert found.shape == (n, 500)
    assert (found.sum(axis=0) == n).all()
    assert (found >= 0).all()


def test_weights_are_drawn_evenly() -> None:
    found = multinomial_weights(5, 20_000, 0)
    assert found.mean(axis=1) == pytest.approx([1] * 5, abs=0.03)
    assert found.var(axis=1) == pytest.approx([0.8] * 5, abs=0.03)


def test_signs_are_even_and_choices_have_their_size() -> None:
    signs = random_signs(4, 20_000, 0)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert signs.mean(axis=1) == pytest.approx([0] * 4, abs=0.03)
    choices = random_choices(2, 3, 20_000, 0)
    assert (choices.sum(axis=0) == 2).all()
    assert choices.mean(axis=1) == pytest.approx([0.4] * 5, abs=0.02)
    assert (choices != random_choices(2, 3, 20_000, 0, stream=1)).any()
    assert (random_choices(0, 3, 5, 0) == 0).all()
    assert (random_choices(3, 0, 5, 0) == 1).all()


@pytest.mark.parametrize("draw", [multinomial_weights, random_signs])
def test_a_seed_fixes_all_and_nobody_can_change_it(draw: Any) -> None:
    first = draw(6, 100, 1).copy()
    draw.cache_clear()
    assert (draw(6, 100, 1) == first).all()
    assert (draw(6, 100, 2) != first).any()
    with pytest.raises(ValueError, match="read-only"):
        draw(6, 100, 1)[0, 0] = 5


@pytest.mark.parametrize(("rows", "width"), [(0, 10), (1, 10), (300, 10), (300, 9_999), (3, 10_000_000)])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_cover_all_rows_in_order(rows: int, width: int, threads: int) -> None:
    names = set()

    def work(block: slice) -> list[int]:
        names.add(threading.get_ident())
        return list(range(rows))[block]

    found = in_blocks(rows, width, work, threads)
    assert [row for block in found for row in block] == list(range(rows))
    assert [len(block) for block in found] == [len(block) for block in in_blocks(rows, width, work)]


@pytest.mark.parametrize("bad", [{"draws": 0}, {"threads": 0}, {"confidence": 1.0}, {"confidence": 0.0}])
def test_what_is_no_way_to_draw_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="draws and threads must be at least 1, and confidence between 0 and 1"):
        Resampling(**bad)
