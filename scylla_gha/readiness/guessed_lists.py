"""Lists of candidates as simulated guessers draw them: many at once, by the numbers of the candidates."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

_LARGEST: Final = 2**62
Lists = npt.NDArray[np.intp]  # a row of numbers of candidates for each guess
DrawLists = Callable[[int, int], Lists]  # size of a list, which all candidates may not reach; number of lists


def weighted_lists(weights: Sequence[float], rng: np.random.Generator) -> DrawLists:
    """Return draws of distinct candidates, each by its weight; they go on with the same generator."""
    limits, count = np.array(weights).cumsum(), len(weights)

    def pick(size: int, draws: int) -> Lists:
        lists: list[Lists] = []
        begun, left = list[int](), draws
        while left > 0:  # a list takes one row, and further rows while it has too few distinct candidates
            drawn = np.searchsorted(limits, rng.random((left, 2 * size)) * limits[-1], side="right")
            whole, begun = _distinct(np.minimum(drawn, count - 1), min(size, count), begun)
            lists.append(whole)
            left -= len(whole)
        return np.concatenate(lists)

    return pick


def _distinct(rows: Lists, wanted: int, begun: list[int]) -> tuple[Lists, list[int]]:
    """Return the first distinct numbers of each row; a row with too few is continued by the next one.

    Args:
        rows: drawn numbers.
        wanted: length of the lists.
        begun: numbers that the first row continues; the same is returned of the last one.
    """
    is_before = np.tril(np.ones((rows.shape[1],) * 2, dtype=bool), -1)
    is_repeated = (is_before & (rows[:, :, None] == rows[:, None, :])).any(axis=2)
    ranks = (~is_repeated).cumsum(axis=1)
    if not begun and (ranks[:, -1] >= wanted).all():
        return rows[~is_repeated & (ranks <= wanted)].reshape(-1, wanted), []
    lists, numbers = [], dict.fromkeys(begun)
    for row in rows.tolist():
        numbers.update(dict.fromkeys(row))
        if len(numbers) >= wanted:
            lists.append(list(numbers)[:wanted])
            numbers = {}
    return np.array(lists, dtype=rows.dtype).reshape(-1, wanted), list(numbers)


def row_numbers(rows: Lists) -> npt.NDArray[np.generic]:
    """Return a number for each row, which equal rows alone share; bytes, if numbers would become too large."""
    base, length = int(rows.max()) + 2, rows.shape[1]
    if base**length < _LARGEST:
        numbers: Lists = (rows + 1) @ np.array([base**power for power in range(length)])
        return numbers
    return np.ascontiguousarray(rows).view(f"V{rows.itemsize * length}").ravel()
