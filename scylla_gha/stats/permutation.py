"""Permutation test of two independent samples: under no effect, any of the values could have been in either.

Exact for up to 20 values in all, else drawn with p = (b + 1) / (m + 1). Not for samples that pool repetitions of
several strata: there the pairing is lost (`strata`, `signflip`).
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, Ints, on_grid, rows
from scylla_gha.stats.pvalue import SLACK, Alternative, Test, count_extreme, least_p_drawn, least_p_two_samples
from scylla_gha.stats.resampling import USUAL, Resampling, in_blocks, random_choices

MOST_EXACT: Final = 20  # 10 against 10: 184,756 arrangements


@lru_cache(maxsize=4)
def all_choices(first: int, second: int) -> Floats:
    """Every way to deal: 0 or 1 for "to the first", shape (first + second, C(first + second, first)); read-only."""
    n = first + second
    masks = np.arange(2**n, dtype=np.int64)
    masks = masks[np.bitwise_count(masks) == first]
    found: Floats = (masks >> np.arange(n, dtype=np.int64)[:, None] & 1).astype(np.float64)
    found.flags.writeable = False
    return found


def permutation_p(
    x: ArrayLike, y: ArrayLike, alternative: Alternative = "two-sided", how: Resampling = USUAL
) -> tuple[Floats, float]:
    """The p of each row, and the least p that was possible; the statistic is mean x - mean y.

    Two-sided means as far from 0, on either side. Without a value in x or y, p = 1.

    Args:
        x: shape (comparisons, n).
        y: shape (comparisons, m).
        alternative: to equal means.
        how: draws and seed, where it is not exact.
    """
    one, other = rows(x, "x"), rows(y, "y")
    if len(one) != len(other):
        raise ValueError(f"x has {len(one)} rows and y has {len(other)}")
    first, second = one.shape[1], other.shape[1]
    if not first or not second:
        return np.ones(len(one)), 1.0
    least = least_p_two_samples(first, second, alternative)
    exact = first + second <= MOST_EXACT
    choices = all_choices(first, second) if exact else random_choices(first, second, how.draws, how.seed)
    if exact and first == second and alternative == "two-sided":
        choices = choices[:, : choices.shape[1] // 2]  # each of the other half is the mirror image of one of these
    extreme = _extreme(np.hstack([one, other]), choices, first, alternative)
    if exact:
        return extreme / choices.shape[1], least
    return (extreme + 1) / (how.draws + 1), max(least, least_p_drawn(how.draws))


def _extreme(values: Floats, choices: Floats, first: int, alternative: Alternative) -> Ints:
    """The sum of the first, less its expectation, orders arrangements as the difference of means does."""
    n = values.shape[1]
    grid = on_grid(values - values.mean(axis=1, keepdims=True), n)
    centre = grid.sum(axis=1) * first / n
    observed, slack = grid[:, :first].sum(axis=1) - centre, SLACK * np.abs(values).sum(axis=1)

    def work(block: slice) -> Ints:
        return count_extreme(grid[block] @ choices - centre[block, None], observed[block], slack[block], alternative)

    found = in_blocks(len(values), choices.shape[1], work)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def permutation_test(
    x: ArrayLike, y: ArrayLike, alternative: Alternative = "two-sided", how: Resampling = USUAL
) -> Test | None:
    """Of two samples; None where one is empty."""
    one, other = rows(x, "x"), rows(y, "y")
    n = one.shape[1] + other.shape[1]
    if not one.size or not other.size:
        return None
    p, least = permutation_p(one, other, alternative, how)
    method = "permutation, exact" if n <= MOST_EXACT else f"permutation, {how.draws} draws"
    return Test(float(one.mean() - other.mean()), float(p[0]), least, method, n)
