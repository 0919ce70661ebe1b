"""Rank statistics: Kendall's W of paired samples; Kruskal-Wallis and Mann-Whitney of unpaired ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr

from scylla_gha.stats.arrays import Floats, table_of, vector

_TWO = 2


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


def _ties(column: Floats) -> int:
    _, counts = np.unique(column, return_counts=True)
    return int((counts.astype(np.int64) ** 3 - counts).sum())


@dataclass(frozen=True, slots=True)
class KruskalWallis:
    """Whether any of several samples lies higher than another: H, and its p by chi-squared."""

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
    return KruskalWallis(h, max(float(chdtrc(len(nonempty) - 1, max(h, 0.0))), math.ulp(0.0)))


def mann_whitney_p(x: ArrayLike, y: ArrayLike) -> float | None:
    """Compute the two-sided p, by the normal distribution with corrections for ties and continuity.

    None if a sample is empty, or if all values are equal.
    Source: Mann & Whitney 1947, Annals of Mathematical Statistics 18:50.
    """
    one, other = vector(x, "x"), vector(y, "y")
    if not one.size or not other.size:
        return None
    ranks = average_ranks(np.concatenate([one, other]))
    n, pairs = ranks.size, one.size * other.size
    variance = pairs * (n + 1) / 12 * _tie_correction(ranks)
    if variance == 0:
        return None
    u = float(ranks[: one.size].sum()) - one.size * (one.size + 1) / 2
    z = max(abs(u - pairs / 2) - 0.5, 0.0) / math.sqrt(variance)
    return min(1.0, max(2 * float(ndtr(-z)), math.ulp(0.0)))


def _tie_correction(ranks: Floats) -> float:
    """Return the factor by which ties reduce the variance of ranks: 1 without any, 0 if all are equal."""
    _, counts = np.unique(ranks, return_counts=True)
    n = ranks.size
    return 1 - float((counts.astype(np.float64) ** 3 - counts).sum()) / (n**3 - n) if n > 1 else 0.0
