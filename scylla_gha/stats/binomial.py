"""Intervals of proportions, for whole arrays of counts at once; `proportion` has Wilson's without NumPy."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from scylla_gha.stats.arrays import Floats, Limits


def _counts(successes: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Both as floats of one shape; n = 0 becomes NaN, and so do all limits.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not np.all((k >= 0) & (k <= total)):
        raise ValueError("successes must lie in 0..n")
    return np.array(k), np.where(total > 0, total, np.nan)


def wilson_limits(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Limits:
    """Wilson's score limits; NaN where n is 0.

    Source: Wilson 1927; Newcombe 1998, Statistics in Medicine 17:857, method 3.
    """
    k, total = _counts(successes, n)
    return _score(k / total, total, ndtri((1 + confidence) / 2))


def _score(rate: Floats, n: Floats, z: ArrayLike) -> Limits:
    """Where the score test is just not significant; exactly 0 or 1 at the edges."""
    z = np.asarray(z, dtype=np.float64)
    square = z * z / n
    centre = (rate + square / 2) / (1 + square)
    half = np.sqrt(square * rate * (1 - rate) + square * square / 4) / (1 + square)
    low = np.where(rate == 0, 0.0, np.maximum(0.0, centre - half))
    high = np.where(rate == 1, 1.0, np.minimum(1.0, centre + half))
    return np.where(np.isnan(n), np.nan, low), np.where(np.isnan(n), np.nan, high)


def wilson_effective(rate: ArrayLike, n: ArrayLike, df: ArrayLike, confidence: float = 0.95) -> Limits:
    """Wilson's limits with an effective number of trials and Student's quantile: a clustered rate near 0 or 1.

    The limits stay in [0, 1]; NaN where n or df is not above 0.

    Args:
        rate: the mean of the clusters' rates.
        n: effective trials, those made over the design effect (`clusters.effective_n`); need not be whole.
        df: clusters less one.
        confidence: of the interval.
    """
    p, total, degrees = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (rate, n, df)))
    total, degrees = np.where((total > 0) & (degrees > 0), total, np.nan), np.where(degrees > 0, degrees, np.nan)
    return _score(p, total, stdtrit(degrees, (1 + confidence) / 2))


def clopper_pearson_limits(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Limits:
    """The exact limits: coverage is never below `confidence`, and mostly above; NaN where n is 0.

    Source: Clopper & Pearson 1934; Newcombe 1998, method 5.
    """
    k, total = _counts(successes, n)
    tail = (1 - confidence) / 2
    return _beta(k, total - k + 1, tail, k == 0, 0.0), _beta(k + 1, total - k, 1 - tail, k == total, 1.0)


def _beta(a: Floats, b: Floats, q: float, edge: ArrayLike, at_edge: float) -> Floats:
    """The Beta quantile, but for the edge, where a parameter may be 0."""
    inside = betaincinv(np.where(edge, 1.0, a), np.where(edge, 1.0, b), q)
    return np.where(np.isnan(a + b), np.nan, np.where(edge, at_edge, inside))


def zero_events_upper(n: int, confidence: float = 0.95) -> float | None:
    """The one-sided upper limit of a rate of which n trials saw nothing, about 3/n; None where n is 0.

    Source: Hanley & Lippman-Hand 1983, JAMA 249:1743.
    """
    return -math.expm1(math.log1p(-confidence) / n) if n > 0 else None
