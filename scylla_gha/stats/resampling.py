"""Resampling: the bootstrap of means, and the sign-flip (permutation) test of paired differences.

Draws depend on the seed and the shape alone, and sums are exact (`arrays.on_grid`), so the bytes are always the same.

Bootstrap: below n = 30, or 50 if values are skewed, the intervals are too short (77-84 % instead of 95 % at n = 5).
Clusters need one mean per cluster, and at least 20 of them. Source: Efron & Tibshirani 1993, chapter 14.

Sign-flip test: without an effect, both signs of each difference are equally likely. It is exact for up to 16
differences, else signs are drawn and p = (b + 1) / (m + 1). Sources: Fisher 1935, Design of Experiments, section 21;
Phipson & Smyth 2010.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from scylla_gha.stats import MOST_EXACT
from scylla_gha.stats.arrays import Floats, Ints, finite, is_constant, on_grid, vector

DRAWS: Final = 9_999  # with the sample itself 10,000
TAIL: Final = (1 - 0.95) / 2  # of percentile limits at 95 %
_QUANTILES: Final = ndtri([TAIL, (1 + 0.95) / 2])
_BLOCK: Final = 1_280_000  # numbers at once: 10 MB, about the size of a processor's cache
_MOST_ROWS: Final = 128
_SLACK: Final = 1e-12  # of the largest possible statistic: a tie that rounding broke is still a tie


@dataclass(frozen=True, slots=True)
class Resampling:
    """Number of draws, and the seed of random numbers."""

    draws: int = DRAWS
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the number of draws.

        Raises:
            ValueError: `draws` is below 1.
        """
        if self.draws < 1:
            raise ValueError(f"draws must be at least 1, not {self.draws}")


DEFAULT_RESAMPLING: Final = Resampling()


@lru_cache(maxsize=8)
def multinomial_weights(n: int, how: Resampling) -> Floats:
    """Draw how often each of n values is in each resample: shape (n, draws), columns sum to n; read-only."""
    drawn = np.random.default_rng([how.seed, n, 1]).integers(0, n, size=(how.draws, n))
    drawn += n * np.arange(how.draws)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=n * how.draws).reshape(how.draws, n).T.astype(np.float64, order="C")
    weights.flags.writeable = False
    return weights


def resample(values: ArrayLike, how: Resampling = DEFAULT_RESAMPLING) -> Floats:
    """Compute the mean of each row in each resample, shape (rows, draws). All rows share the resamples.

    Args:
        values: shape (rows, n), finite, n above 0.
        how: draws and seed.
    """
    x = np.atleast_2d(np.asarray(values, dtype=np.float64))
    n = x.shape[1]
    return np.asarray(on_grid(x, n) @ multinomial_weights(n, how) / n)


def bca_limits(values: ArrayLike, how: Resampling = DEFAULT_RESAMPLING) -> tuple[float, float] | None:
    """Compute bias-corrected and accelerated 95 % limits of the mean of finite values, shape (n,).

    None with fewer than two values, or equal ones.
    """
    x = vector(values)
    if x.size < 2 or is_constant(x):  # noqa: PLR2004 a spread needs two values
        return None
    drawn, estimate = resample(x, how)[0], float(on_grid(x, x.size).sum() / x.size)
    below = np.count_nonzero(drawn < estimate) + np.count_nonzero(drawn <= estimate)
    bias = ndtri(below / (2 * drawn.size))
    with np.errstate(invalid="ignore"):
        shifted = bias + _QUANTILES
        levels = ndtr(bias + shifted / (1 - _acceleration(x) * shifted))
    if np.isnan(levels).any():
        return None
    ordered, position = np.sort(drawn), levels * (drawn.size - 1)
    under = np.floor(position).astype(np.int64)
    over = np.minimum(under + 1, drawn.size - 1)
    low, high = ordered[under] + (position - under) * (ordered[over] - ordered[under])
    return float(low), float(high)


def _acceleration(x: Floats) -> float:
    """Compute the a of BCa, by the jackknife in closed form."""
    means = (x.sum() - x) / (x.size - 1)
    offset = means.mean() - means
    spread = (offset * offset).sum() ** 1.5
    return float((offset**3).sum() / (6 * spread)) if spread > 0 else 0.0


def least_p_sign_flip(n: int) -> float:
    """Return the least p of n differences that are not 0; 1 if n is 0. With 5 it is 0.0625: never below 0.05."""
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
def _random_signs(n: int, how: Resampling) -> Floats:
    """Draw signs: shape (n, draws), plus and minus one; read-only."""
    signs = np.random.default_rng([how.seed, n, 2]).integers(0, 2, size=(n, how.draws)).astype(np.float64) * 2 - 1
    signs.flags.writeable = False
    return signs


def sign_flip_p(
    differences: ArrayLike, how: Resampling = DEFAULT_RESAMPLING, most_exact: int = MOST_EXACT
) -> tuple[Floats, Floats]:
    """Compute the two-sided p of each row, and the least p that was possible; all rows share the signs.

    Differences that are missing (NaN) or 0 are ignored; a row without other differences has p = 1.

    Args:
        differences: shape (comparisons, clusters).
        how: draws and seed, if the test is not exact.
        most_exact: maximum number of columns for an exact test.
    """
    table = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    d = finite(np.where(np.isnan(table), 0.0, table), "differences")
    count, n = d.shape
    floor = np.array([least_p_sign_flip(int(size)) for size in np.count_nonzero(d, axis=1)]).reshape(count)
    if n <= most_exact:
        return _count_extreme(d, _all_signs(n)) / 2**n, floor
    extreme = _count_extreme(d, _random_signs(n, how))
    return (extreme + 1) / (how.draws + 1), np.maximum(floor, least_p_drawn(how.draws))


def sign_flip_tail_bound(differences: Floats) -> Floats:
    """Return an upper bound of the exact two-sided p of each row, by the normal distribution; for many rows, fast.

    Source: Bentkus & Dzindzalieta 2015, Bernoulli 21:1294: at most 1 / (4 Phi(-sqrt 2)) times the normal tail.
    """
    squares = (differences * differences).sum(axis=1)
    z = np.abs(differences.sum(axis=1)) / np.sqrt(np.where(squares > 0, squares, np.inf))
    return np.asarray(2 * ndtr(-z) / (4 * ndtr(-math.sqrt(2))))


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
