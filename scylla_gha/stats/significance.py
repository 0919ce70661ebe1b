"""Hypothesis tests of stratified successes and of ranks, and p values adjusted for a family of tests.

`resampling` has the sign-flip test of paired differences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, gammaln, ndtr

from scylla_gha.stats.arrays import Floats, table_of, vector

_SLACK: Final = 1e-9  # of whole and half successes, which differ by far more
_TWO: Final = 2
_LEAST: Final = math.ulp(0.0)  # a p is never 0


def stratified_exact_p(counts: ArrayLike) -> float | None:
    """Compute the exact two-sided p of successes in strata; None if no stratum has trials of both arms.

    Convolves the hypergeometric distributions of the strata; the statistic is the successes of the first arm less those
    expected by chance (the numerator of Cochran-Mantel-Haenszel; Mehta, Patel & Gray 1985, JASA 80:969). The answer is
    about these strata alone: it finds differences between strata that average out, with 13-24 % false positives about
    strata like these.

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
    return min(1.0, max(math.fsum(chance[offsets >= observed - _SLACK].tolist()), _LEAST))


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


def holm(p: Sequence[float | None]) -> Floats:
    """Adjust p values for the chance of any false claim (family-wise error). Source: Holm 1979, Scand. J. Stat. 6:65.

    A test that gave no p (None or NaN) stays NaN, and counts as a member of the family.

    Raises:
        ValueError: a p is not in [0, 1].
    """
    adjusted, order = _rising(p)
    scaled = adjusted[order] * (adjusted.size - np.arange(order.size))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def benjamini_hochberg(p: Sequence[float | None]) -> Floats:
    """Adjust p values for the expected share of false claims (false discovery rate); otherwise as `holm`.

    Source: Benjamini & Hochberg 1995, JRSS B 57:289.
    """
    adjusted, order = _rising(p)
    scaled = adjusted[order] * adjusted.size / (np.arange(order.size) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def _rising(p: Sequence[float | None]) -> tuple[Floats, np.ndarray]:
    """Return the p values with NaN for None, and the indices of the known ones in rising order."""
    values = np.array(p, dtype=np.float64)
    if np.any((values < 0) | (values > 1)):
        raise ValueError("each p must lie in [0, 1]")
    known = np.flatnonzero(~np.isnan(values))
    return values, known[np.argsort(values[known], kind="stable")]


def average_ranks(values: ArrayLike) -> Floats:
    """Rank values from 1 along the first dimension; ties share the mean of their ranks.

    Raises:
        ValueError: a value is NaN.
    """
    x = np.asarray(values, dtype=np.float64)
    if np.isnan(x).any():
        raise ValueError("ranks of NaN are not defined; leave out what is unknown")
    ordered = np.sort(x, axis=0)
    flat, table = ordered.reshape(len(x), -1), x.reshape(len(x), -1)
    pairs = zip(flat.T, table.T, strict=True)
    bounds = [(np.searchsorted(o, t, "left"), np.searchsorted(o, t, "right")) for o, t in pairs]
    columns = [(low + high + 1) / 2 for low, high in bounds]
    return np.asarray(columns).T.reshape(x.shape)


def kendall_w(ratings: ArrayLike) -> float | None:
    """Compute W in [0, 1], corrected for ties: how far all raters put the units in the same order.

    12 S / (m^2 (n^3 - n) - m T), S the sum of squares of the rank sums, T of t^3 - t over all ties. Units that a rater
    did not rate are ignored. None with fewer than two units or two raters, or if no rater ranks any unit before
    another. Source: Kendall & Babington Smith 1939; Siegel & Castellan 1988.

    Args:
        ratings: shape (units, raters), NaN if missing.

    Raises:
        ValueError: other than two dimensions, or an infinite rating.
    """
    table = table_of(ratings, "ratings")
    table = table[~np.isnan(table).any(axis=1)]
    n, m = table.shape
    if n < _TWO or m < _TWO:
        return None
    ranks = average_ranks(table)
    sums = ranks.sum(axis=1)
    spread = float(((sums - sums.mean()) ** 2).sum())
    most = m * m * (n**3 - n) - m * sum(_ties(column) for column in table.T)
    return 12 * spread / most if most > 0 else None


def _ties(values: Floats) -> float:
    """Return the sum of t^3 - t over groups of t equal values."""
    _, counts = np.unique(values, return_counts=True)
    return float((counts.astype(np.float64) ** 3 - counts).sum())


@dataclass(frozen=True, slots=True)
class KruskalWallis:
    """Kruskal-Wallis test of several samples for equal location: H, and its p by chi-squared."""

    h: float
    p: float


def kruskal_wallis(samples: Sequence[ArrayLike]) -> KruskalWallis | None:
    """Test several samples, corrected for ties; None with fewer than two nonempty samples, or if all values are equal.

    Source: Kruskal & Wallis 1952, JASA 47:583.
    """
    nonempty = [x for x in (vector(sample) for sample in samples) if x.size]
    if len(nonempty) < _TWO:
        return None
    ranks = average_ranks(np.concatenate(nonempty))
    n, correction = ranks.size, _tie_correction(ranks)
    if correction == 0:
        return None
    ends = np.cumsum([x.size for x in nonempty])
    sums = sum(part.sum() ** 2 / part.size for part in np.split(ranks, ends[:-1]))
    h = (12 / (n * (n + 1)) * float(sums) - 3 * (n + 1)) / correction
    return KruskalWallis(h, max(float(chdtrc(len(nonempty) - 1, max(h, 0.0))), _LEAST))


def mann_whitney_p(x: ArrayLike, y: ArrayLike) -> float | None:
    """Compute the two-sided p, by the normal distribution with corrections for ties and continuity.

    None if a sample is empty, or if all values are equal.
    Source: Mann & Whitney 1947, Annals of Mathematical Statistics 18:50.
    """
    first, second = vector(x, "x"), vector(y, "y")
    if not first.size or not second.size:
        return None
    ranks = average_ranks(np.concatenate([first, second]))
    n, pairs = ranks.size, first.size * second.size
    variance = pairs * (n + 1) / 12 * _tie_correction(ranks)
    if variance == 0:
        return None
    u = float(ranks[: first.size].sum()) - first.size * (first.size + 1) / 2
    z = max(abs(u - pairs / 2) - 0.5, 0.0) / math.sqrt(variance)
    return min(1.0, max(2 * float(ndtr(-z)), _LEAST))


def _tie_correction(ranks: Floats) -> float:
    """Return the factor by which ties reduce the variance of ranks: 1 without any, 0 if all are equal."""
    n = ranks.size
    return 1 - _ties(ranks) / (n**3 - n) if n > 1 else 0.0
