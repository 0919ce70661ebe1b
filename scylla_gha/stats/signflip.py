"""Sign-flip tests of paired differences: under no effect, each difference could as well have had the other sign.

Exact for up to 16 differences, else drawn with p = (b + 1) / (m + 1). Source: Fisher 1935, Design of Experiments, 21.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, Ints, finite, on_grid, vector
from scylla_gha.stats.pvalue import (
    SLACK,
    Alternative,
    Test,
    count_extreme,
    least_p_drawn,
    least_p_sign_flip,
)
from scylla_gha.stats.resampling import USUAL, Resampling, in_blocks, random_signs

MOST_EXACT: Final = 16  # 65,536 assignments


@lru_cache(maxsize=4)
def all_signs(n: int) -> Floats:
    """Every assignment of signs: shape (n, 2**n), plus and minus one; read-only."""
    bits = np.arange(2**n, dtype=np.int64) >> np.arange(n, dtype=np.int64)[:, None] & 1
    found = (1 - 2 * bits).astype(np.float64)
    found.flags.writeable = False
    return found


def sign_flip_p(
    differences: ArrayLike, alternative: Alternative = "two-sided", how: Resampling = USUAL,
    most_exact: int = MOST_EXACT,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The p, and the least p that was possible, of each row: many comparisons at once, with the same signs for all.

    Exact where rows have up to 16 columns. A difference that is missing (NaN) or 0 takes no part; a row without any
    other has p = 1.

    Args:
        differences: shape (comparisons, clusters).
        alternative: to a mean difference of 0.
        how: draws and seed, where it is not exact.
        most_exact: columns up to which it is exact.
    """
    found = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    d = finite(np.where(np.isnan(found), 0.0, found), "differences")
    count, n = d.shape
    exact = n <= most_exact
    signs = all_signs(n) if exact else random_signs(n, how.draws, how.seed)
    extreme = _extreme(d, signs, alternative)
    floor = np.array([least_p_sign_flip(int(size), alternative) for size in np.count_nonzero(d, axis=1)])
    if exact:
        return extreme / 2**n, floor.reshape(count)
    return (extreme + 1) / (how.draws + 1), np.maximum(floor, least_p_drawn(how.draws)).reshape(count)


def _extreme(d: Floats, signs: Floats, alternative: Alternative) -> Ints:
    grid = on_grid(d, d.shape[1])
    observed, slack = grid.sum(axis=1), SLACK * np.abs(grid).sum(axis=1)

    def work(block: slice) -> Ints:
        return count_extreme(grid[block] @ signs, observed[block], slack[block], alternative)

    found = in_blocks(len(d), signs.shape[1], work)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def sign_flip_test(
    differences: ArrayLike, alternative: Alternative = "two-sided", how: Resampling = USUAL
) -> Test | None:
    """Of one set of differences; None without any. The statistic is their mean.

    Zeros take no part, so it is exact for up to 16 others, however many zeros there are.
    """
    d = vector(differences)
    if not d.size:
        return None
    moved = d[d != 0]
    p, least = sign_flip_p(moved[None, :], alternative, how)
    method = "sign-flip, exact" if moved.size <= MOST_EXACT else f"sign-flip, {how.draws} draws"
    return Test(float(d.mean()), float(p[0]), float(least[0]), method, d.size)


def sign_flip_count(differences: ArrayLike, alternative: Alternative = "greater") -> int:
    """How many of all 2**n assignments of signs are at least as extreme as the one observed.

    Raises:
        ValueError: more than 16 differences.
    """
    d = vector(differences)
    if d.size > MOST_EXACT:
        raise ValueError(f"all signs are enumerated for up to {MOST_EXACT} differences, not {d.size}")
    return int(_extreme(d[None, :], all_signs(d.size), alternative)[0])
