"""Hypothesis tests of paired differences and of stratified successes, and p values adjusted for a family.

Sign-flip test: without an effect, each difference could as well have had the other sign. Exact for up to 16
differences, else drawn with p = (b + 1) / (m + 1). Source: Fisher 1935, Design of Experiments, 21.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from scylla_gha.stats.arrays import Floats, Ints, finite, on_grid
from scylla_gha.stats.bootstrap import USUAL, Resampling

MOST_EXACT: Final = 16  # 65,536 assignments of signs
_BLOCK: Final = 1_280_000  # numbers at once: 10 MB, which a processor's cache still helps with
_MOST_ROWS: Final = 128
_SLACK: Final = 1e-12  # of the largest possible statistic: a tie that rounding broke is still a tie
_EXACT_SLACK: Final = 1e-9  # of whole and half successes, which differ by far more


def least_p_sign_flip(n: int) -> float:
    """Return the least p of n differences that are not 0; 1 without any. With 5 it is 0.0625: never below 0.05."""
    return min(1.0, 2 * 0.5**n)


def least_p_drawn(draws: int) -> float:
    """Return the least p of any test whose permutations are drawn."""
    return 1 / (draws + 1)


@lru_cache(maxsize=4)
def _all_signs(n: int) -> Floats:
    """List every assignment of signs: shape (n, 2**n), plus and minus one; read-only."""
    bits = np.arange(2**n, dtype=np.int64) >> np.arange(n, dtype=np.int64)[:, None] & 1
    signs = (1 - 2 * bits).astype(np.float64)
    signs.flags.writeable = False
    return signs


@lru_cache(maxsize=8)
def _random_signs(n: int, draws: int, seed: int) -> Floats:
    """Draw signs: shape (n, draws), plus and minus one; read-only."""
    signs = np.random.default_rng([seed, n, 2]).integers(0, 2, size=(n, draws)).astype(np.float64) * 2 - 1
    signs.flags.writeable = False
    return signs


def sign_flip_p(differences: ArrayLike, how: Resampling = USUAL, most_exact: int = MOST_EXACT) -> tuple[Floats, Floats]:
    """Compute the two-sided p of each row, and the least p that was possible; all rows share the signs.

    A difference that is missing (NaN) or 0 is ignored; a row without any other has p = 1.

    Args:
        differences: shape (comparisons, clusters).
        how: draws and seed, if it is not exact.
        most_exact: columns up to which it is exact.
    """
    table = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    d = finite(np.where(np.isnan(table), 0.0, table), "differences")
    count, n = d.shape
    exact = n <= most_exact
    signs = _all_signs(n) if exact else _random_signs(n, how.draws, how.seed)
    extreme = _count_extreme(d, signs)
    floor = np.array([least_p_sign_flip(int(size)) for size in np.count_nonzero(d, axis=1)])
    if exact:
        return extreme / 2**n, floor.reshape(count)
    return (extreme + 1) / (how.draws + 1), np.maximum(floor, least_p_drawn(how.draws)).reshape(count)


def _count_extreme(d: Floats, signs: Floats) -> Ints:
    """Count for each row the assignments whose sum is at least as far from 0 as the observed one."""
    grid = on_grid(d, d.shape[1])
    least = np.abs(grid.sum(axis=1)) - _SLACK * np.abs(grid).sum(axis=1)
    size = max(1, min(_MOST_ROWS, _BLOCK // max(signs.shape[1], 1)))
    count = np.zeros(len(d), dtype=np.int64)
    for at in range(0, len(d), size):
        block = slice(at, at + size)
        sums = grid[block] @ signs
        count[block] = np.count_nonzero(np.abs(sums, out=sums) >= least[block, None], axis=1)
    return count


def stratified_exact_p(counts: ArrayLike) -> float | None:
    """Compute the exact two-sided p of successes in strata; None if no stratum has trials of both arms.

    Convolves the hypergeometric distributions of the strata; the statistic is the successes of the first arm less those
    expected by chance (the numerator of Cochran-Mantel-Haenszel). The answer is about these strata alone: it finds
    differences between strata that average out, with 13-24 % false alarms about strata like these.

    Args:
        counts: shape (strata, 4): successes and trials of the first arm, successes and trials of the second.

    Raises:
        ValueError: another shape, or successes that do not lie in 0..trials.
    """
    table = np.asarray(counts, dtype=np.int64)
    if table.size == 0:
        return None
    if table.ndim != 2 or table.shape[1] != 4:  # noqa: PLR2004 strata, and four counts of each
        raise ValueError("counts must have the shape (strata, 4)")
    if np.any(table[:, [0, 2]] < 0) or np.any(table[:, [0, 2]] > table[:, [1, 3]]):
        raise ValueError("successes must lie in 0..trials")
    table = table[(table[:, 1] > 0) & (table[:, 3] > 0)]
    if not len(table):
        return None
    chance, lowest, expected = np.ones(1), 0, 0.0
    for won, n, also_won, m in table.tolist():
        chance = np.convolve(chance, _hypergeometric(won + also_won, n, m))
        lowest += max(0, won + also_won - m)
        expected += (won + also_won) * n / (n + m)
    offsets = np.abs(np.arange(lowest, lowest + chance.size) - expected)
    observed = abs(float(table[:, 0].sum()) - expected)
    return min(1.0, max(math.fsum(chance[offsets >= observed - _EXACT_SLACK].tolist()), math.ulp(0.0)))


@lru_cache(maxsize=4096)  # few trials have few such tables, which thousands of strata share
def _hypergeometric(successes: int, n: int, m: int) -> Floats:
    """Return how probably the n trials of the first arm get each possible number of the successes; read-only."""
    k = np.arange(max(0, successes - m), min(successes, n) + 1)

    def log_choose(top: int, bottom: Floats) -> Floats:
        return np.asarray(gammaln(top + 1) - gammaln(bottom + 1) - gammaln(top - bottom + 1))

    logs = log_choose(n, k.astype(np.float64)) + log_choose(m, (successes - k).astype(np.float64))
    weights = np.exp(logs - logs.max())
    chance = np.asarray(weights / weights.sum())
    chance.flags.writeable = False
    return chance


def holm(p: Sequence[float | None] | Floats, family: int | None = None) -> Floats:
    """Adjust p values so that the chance of any false claim is held. Source: Holm 1979.

    Args:
        p: None or NaN for a test that gave no p, which stays NaN.
        family: number of planned tests, if those without p count; by default the known ones.

    Raises:
        ValueError: a p is not in [0, 1], or the family is smaller than the number of known p.
    """
    return _adjust(p, family, lambda rising, size: np.maximum.accumulate(rising * (size - np.arange(rising.size))))


def benjamini_hochberg(p: Sequence[float | None] | Floats, family: int | None = None) -> Floats:
    """Adjust p values so that the expected share of false claims is held; arguments as `holm`.

    Source: Benjamini & Hochberg 1995, JRSS B 57:289.
    """

    def step_up(rising: Floats, size: int) -> Floats:
        scaled = rising * size / (np.arange(rising.size) + 1)
        return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1])

    return _adjust(p, family, step_up)


def _adjust(p: Sequence[float | None] | Floats, family: int | None, adjust: Callable[[Floats, int], Floats]) -> Floats:
    """Adjust the known p values, in rising order."""
    adjusted = np.array(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(adjusted))
    values = adjusted[known]
    if np.any((values < 0) | (values > 1)):
        raise ValueError("each p must lie in [0, 1]")
    size = known.size if family is None else family
    if size < known.size:
        raise ValueError(f"a family of {size} cannot hold {known.size} tests")
    order = known[np.argsort(values, kind="stable")]
    adjusted[order] = np.minimum(1.0, adjust(adjusted[order], size))
    return adjusted
