"""Score intervals of rates and shares, whose limits never leave [0, 1]. `proportion` has Wilson's without NumPy."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from scylla_gha.stats.arrays import Floats, Limits, is_constant, pair, vector
from scylla_gha.stats.interval import Interval, make_interval

_FEWEST = 2


def wilson_limits(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Limits:
    """Compute Wilson's score limits of many rates; NaN if n is 0.

    Source: Wilson 1927; Newcombe 1998, Statistics in Medicine 17:857, method 3.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not np.all((k >= 0) & (k <= total)):
        raise ValueError("successes must lie in 0..n")
    total = np.where(total > 0, total, np.nan)
    return _score_limits(k / total, total, ndtri((1 + confidence) / 2))


def wilson_effective(rate: ArrayLike, n: ArrayLike, df: ArrayLike, confidence: float = 0.95) -> Limits:
    """Compute Wilson's limits of clustered rates, with an effective number of trials and Student's quantile.

    NaN unless n and df are above 0.

    Args:
        rate: the mean of the clusters' rates.
        n: effective trials, which are trials over the design effect (`clusters.effective_n`); need not be whole.
        df: clusters less one.
        confidence: of the interval.
    """
    p, total, degrees = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (rate, n, df)))
    total, degrees = np.where((total > 0) & (degrees > 0), total, np.nan), np.where(degrees > 0, degrees, np.nan)
    return _score_limits(p, total, stdtrit(degrees, (1 + confidence) / 2))


def _score_limits(rate: Floats, n: Floats, z: ArrayLike) -> Limits:
    """Find where the score test is just not significant; exactly 0 or 1 at the edges."""
    z = np.asarray(z, dtype=np.float64)
    square = z * z / n
    centre = (rate + square / 2) / (1 + square)
    half = np.sqrt(square * rate * (1 - rate) + square * square / 4) / (1 + square)
    low = np.where(rate == 0, 0.0, np.maximum(0.0, centre - half))
    high = np.where(rate == 1, 1.0, np.minimum(1.0, centre + half))
    return np.where(np.isnan(n), np.nan, low), np.where(np.isnan(n), np.nan, high)


def share_mean_interval(values: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of the mean of values in 0..1: Student's t in score form (Wilson's, effective n).

    None without values, a `point` for one value or equal values.

    Raises:
        ValueError: a value is not between 0 and 1.
    """
    x = vector(values)
    if np.any(x < 0) or np.any(x > 1 + 1e-9):
        raise ValueError("values must lie between 0 and 1")
    return _share_interval(min(float(x.mean()), 1.0), x) if x.size else None


def share_ratio_interval(part: ArrayLike, whole: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of sum(part) / sum(whole), no part above its whole, by the delta method.

    None without units, or if sum(whole) is 0.
    """
    x, y = pair(part, whole)
    if not y.sum() > 0:
        return None
    share = float(x.sum() / y.sum())
    return _share_interval(share, share + (x - share * y) / float(y.mean()))


def _share_interval(mean: float, x: Floats) -> Interval | None:
    """Find where a t-test is just not significant, with the spread that holds at the limit."""
    n, limits = x.size, (math.nan, math.nan)
    if n >= _FEWEST and not is_constant(x) and 0 < mean < 1:
        effective = mean * (1 - mean) / (float(x.var(ddof=1)) / n)
        low, high = wilson_effective(mean, effective, n - 1)
        limits = float(low), float(high)
    return make_interval(mean, limits, "Student t, score form", n)
