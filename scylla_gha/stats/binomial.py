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


def jeffreys_limits(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95, *, raw: bool = False) -> Limits:
    """The central part of the posterior Beta(k + 1/2, n - k + 1/2); NaN where n is 0.

    Source: Brown, Cai & DasGupta 2001, Statistical Science 16:101. They set the lower limit to 0 where k = 0 and the
    upper to 1 where k = n, as is done here; `raw` leaves them (as statsmodels does, and then k = 0 excludes 0).
    """
    k, total = _counts(successes, n)
    tail, never = (1 - confidence) / 2, np.zeros(k.shape, dtype=np.bool_)
    a, b = k + 0.5, total - k + 0.5
    low = _beta(a, b, tail, never if raw else k == 0, 0.0)
    return low, _beta(a, b, 1 - tail, never if raw else k == total, 1.0)


def _beta(a: Floats, b: Floats, q: float, edge: ArrayLike, at_edge: float) -> Floats:
    """The Beta quantile, but for the edge, where a parameter may be 0."""
    inside = betaincinv(np.where(edge, 1.0, a), np.where(edge, 1.0, b), q)
    return np.where(np.isnan(a + b), np.nan, np.where(edge, at_edge, inside))


def zero_events_upper(n: int, confidence: float = 0.95) -> float | None:
    """The one-sided upper limit of a rate of which n trials saw nothing, about 3/n; None where n is 0.

    Source: Hanley & Lippman-Hand 1983, JAMA 249:1743.
    """
    return -math.expm1(math.log1p(-confidence) / n) if n > 0 else None


def newcombe_limits(first: tuple[int, int], second: tuple[int, int], confidence: float = 0.95) -> Limits:
    """Limits of the difference of two independent rates, first less second; NaN where one n is 0.

    Source: Newcombe 1998, Statistics in Medicine 17:873, method 10: Wilson's limits, combined.

    Args:
        first: successes and trials; arrays are taken too.
        second: likewise.
        confidence: of the interval.
    """
    (k1, n1), (k2, n2) = _counts(*first), _counts(*second)
    (l1, u1), (l2, u2) = wilson_limits(*first, confidence), wilson_limits(*second, confidence)
    p1, p2 = k1 / n1, k2 / n2
    low = p1 - p2 - np.hypot(p1 - l1, u2 - p2)
    return low, p1 - p2 + np.hypot(u1 - p1, p2 - l2)


def beta_mean(successes: ArrayLike, n: ArrayLike, a: float = 1.0, b: float = 1.0) -> Floats:
    """Mean of the posterior of a rate under a Beta(a, b) prior, which n = 0 leaves as it was.

    Source: Hariri et al. 2026, arXiv:2510.04265.
    """
    k, total = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    return (k + a) / (total + a + b)


def median_coverage(n: int, low: int, high: int) -> float:
    """How probably the low-th and high-th of n sorted values (from 1) enclose the median, for any distribution.

    It says when limits of a median exist: below n = 6 not even the whole range reaches 95 %.
    """
    return sum(math.comb(n, i) for i in range(low, high)) / float(2**n)
