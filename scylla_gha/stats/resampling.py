"""How samples are drawn again: seeded weights that all rows share, and blocks of rows over threads.

The weights depend on the seed and the shape alone, blocks have a fixed size and order, and sums are exact
(`arrays.on_grid`): the same bytes come out for any number of threads.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np

from scylla_gha.stats.arrays import Floats

T = TypeVar("T")
DRAWS: Final = 9_999  # with the sample itself 10,000
_THREADS: Final = min(os.cpu_count() or 1, 4)
_CELLS: Final = 1_280_000  # of a block's result: 10 MB, what a processor's cache still helps with


@dataclass(frozen=True, slots=True)
class Resampling:
    """How to draw again. Threads change the time alone, and that of the bootstrap: tests are left to those of BLAS."""

    draws: int = DRAWS
    seed: int = 0
    confidence: float = 0.95
    threads: int = _THREADS

    def __post_init__(self) -> None:
        """Refuse what is no way to draw."""
        if self.draws < 1 or self.threads < 1 or not 0 < self.confidence < 1:
            raise ValueError("draws and threads must be at least 1, and confidence between 0 and 1")


USUAL: Final = Resampling()


@lru_cache(maxsize=8)
def multinomial_weights(n: int, draws: int, seed: int) -> Floats:
    """How often each of n values is in each resample: shape (n, draws), columns sum to n; read-only."""
    drawn = np.random.default_rng([seed, n, 1]).integers(0, n, size=(draws, n))
    drawn += n * np.arange(draws)[:, None]
    found = np.bincount(drawn.ravel(), minlength=n * draws).reshape(draws, n).T.astype(np.float64, order="C")
    found.flags.writeable = False
    return found


@lru_cache(maxsize=8)
def random_signs(n: int, draws: int, seed: int) -> Floats:
    """Plus and minus one: shape (n, draws); read-only."""
    found = np.random.default_rng([seed, n, 2]).integers(0, 2, size=(n, draws)).astype(np.float64) * 2 - 1
    found.flags.writeable = False
    return found


def random_choices(first: int, second: int, draws: int, seed: int, stream: int = 0) -> Floats:
    """Which of first + second values are dealt to the first: 0 or 1, shape (first + second, draws).

    Streams of one seed are independent.
    """
    n = first + second
    keys = np.random.default_rng([seed, n, first, 3, stream]).random((draws, n))
    found = np.zeros((draws, n))
    if first:
        np.put_along_axis(found, np.argpartition(keys, first - 1, axis=1)[:, :first], 1.0, axis=1)
    return np.ascontiguousarray(found.T)


def in_blocks(rows: int, width: int, work: Callable[[slice], T], threads: int = 1) -> list[T]:
    """Do the work for consecutive blocks of rows, in that order of results.

    Args:
        rows: how many there are.
        width: numbers that a row makes while it is worked on; it sets the size of a block.
        work: of one block.
        threads: at once; of use where NumPy sorts, which releases the interpreter.
    """
    size = max(1, min(128, _CELLS // max(width, 1)))
    blocks = [slice(at, min(at + size, rows)) for at in range(0, rows, size)]
    if threads == 1 or len(blocks) < 2:  # noqa: PLR2004 nothing to share out
        return [work(block) for block in blocks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, blocks))
