"""Intervals of means, rates and shares, by Student's t and by score tests, for many samples at once.

Rows are samples and NaN marks a missing value. Limits are NaN if a row is too small. `stats` itself has Wilson's limits
of one rate without NumPy.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from scylla_gha.stats import Interval, make_interval
from scylla_gha.stats.arrays import Bools, Floats, Limits, finite, is_constant, pair, vector

FEW_NOT_ZERO: Final = 6  # with fewer values that are not 0, their spread says too little about rare values
LEVEL: Final = (1 + 0.95) / 2  # of each limit of a 95 % interval
_LEAST_SQUARES: Final = 0.02  # the sum of squares that equal values are assumed to have
_FEWEST: Final = 2
_EDGE: Final = 1e-9


@lru_cache(maxsize=1024)
def t_quantile(df: float, confidence: float = 0.95) -> float:
    """Return Student's two-sided quantile; NaN unless df is above 0."""
    return float(stdtrit(df, (1 + confidence) / 2)) if df > 0 else math.nan


def mean_limits(values: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Compute mean, lower and upper limit of each row, shape (rows, n), by Student's t.

    The mean is NaN without values. Limits are NaN with fewer than two values, or if all values of a row are equal, so
    that their spread is unknown.
    """
    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    known = ~np.isnan(table)
    finite(table[known], "values")
    n = known.sum(axis=1)
    mean = np.where(known, table, 0.0).sum(axis=1) / np.where(n > 0, n, np.nan)
    offset = np.where(known, table - mean[:, None], 0.0)
    spread = np.sqrt((offset * offset).sum(axis=1) / np.where(n > 1, n - 1, np.nan))
    spread = np.where(is_constant(table), np.nan, spread)  # the spread of equal values is rounding
    half = stdtrit(np.where(n > 1, n - 1, np.nan), (1 + confidence) / 2) * spread / np.sqrt(np.maximum(n, 1))
    return mean, mean - half, mean + half


def mean_limits_bounded(values: ArrayLike) -> Limits:
    """Compute 95 % limits of each row's mean, of numbers between -1 and 1 such as differences of rates.

    Student's t in score form, which takes the spread that the mean would have if the limit were true (0 at -1 and 1);
    `rare_limits` for rows with fewer than six values that are not 0. Coverage: tests/benchmarks/verdicts.py.
    """
    known, x, n = _bounded(values)
    low, high = _t_score_limits(x, known, n)
    few = ((x != 0) & known).sum(axis=1) < FEW_NOT_ZERO
    few |= np.abs(x.sum(axis=1)) >= n * (1 - _EDGE)
    if few.any():
        low[few], high[few] = rare_limits(np.atleast_2d(np.asarray(values, dtype=np.float64))[few], 0.95, weight=0.5)
    return low, high


def rare_limits(values: ArrayLike, confidence: float, *, weight: float = 1.0) -> Limits:
    """Compute limits of each row's mean that hold even if a large value is so rare that the sample has none.

    The upper limit is the quantile of the mean under random weights (Bayesian bootstrap) after a value of 1 was added
    with `weight`; the lower one likewise with -1. The weighted mean's distribution is taken as a Beta distribution
    between the least value and 1, which is exact for values of 0 and 1: with weight 1 these are the limits of
    Clopper and Pearson, and n zeros have the upper limit 1 - (1 - level) ** (1 / n).
    Sources: Gaffke 2005; Learned-Miller & Thomas 2019, arXiv:1905.06208; weight 1/2 is that of Jeffreys's limits.

    Args:
        values: shape (rows, n), between -1 and 1.
        confidence: of the two limits together.
        weight: of the added value, in values.
    """
    known, x, n = _bounded(values)
    level = (1 + confidence) / 2
    return -_rare_upper(-x, known, n, level, weight), _rare_upper(x, known, n, level, weight)


def _bounded(values: ArrayLike) -> tuple[Bools, Floats, Floats]:
    """Return a mask of known values, the values with 0 for unknown ones, and their number; NaN if it is below two.

    Raises:
        ValueError: a value is beyond -1 or 1.
    """
    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    known = ~np.isnan(table)
    if np.any(np.abs(finite(table[known], "values")) > 1 + _EDGE):
        raise ValueError("values must lie between -1 and 1")
    n = known.sum(axis=1).astype(np.float64)
    return known, np.where(known, np.clip(table, -1, 1), 0.0), np.where(n >= _FEWEST, n, np.nan)


def _rare_upper(x: Floats, known: Bools, n: Floats, level: float, weight: float) -> Floats:
    least = np.min(np.where(known, x, 1.0), axis=1, initial=1.0)
    mean = (x.sum(axis=1) + weight) / (n + weight)
    offsets = np.where(known, x - mean[:, None], 0.0)
    squares = (offsets**2).sum(axis=1) + weight * (1 - mean) ** 2
    span = np.where(least < 1 - _EDGE, 1 - least, np.nan)
    centre, variance = (mean - least) / span, squares / span**2 / (n + weight) / (n + weight + 1)
    size = centre * (1 - centre) / variance - 1
    limit = least + span * betaincinv(centre * size, (1 - centre) * size, level)
    return np.where(np.isnan(n), np.nan, np.where(np.isnan(span), 1.0, limit))


def _t_score_limits(x: Floats, known: Bools, n: Floats) -> Limits:
    mean = x.sum(axis=1) / n
    squares = (np.where(known, x - mean[:, None], 0.0) ** 2).sum(axis=1)
    error = np.maximum(squares, _LEAST_SQUARES) / (n - 1) / n
    inside = np.maximum(1 - mean * mean, _EDGE)
    # The mean m and a limit u satisfy (m - u)^2 = k (1 - u^2).
    k = stdtrit(n - 1, LEVEL) ** 2 * error / inside
    half = np.sqrt(k * (1 + k - mean * mean))
    return (mean - half) / (1 + k), (mean + half) / (1 + k)


def wilson_limits(successes: ArrayLike, n: ArrayLike) -> Limits:
    """Compute Wilson's 95 % score limits of many rates; NaN if n is 0.

    Source: Wilson 1927, JASA 22:209; Newcombe 1998, Statistics in Medicine 17:857, method 3.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not np.all((k >= 0) & (k <= total)):
        raise ValueError("successes must lie in 0..n")
    total = np.where(total > 0, total, np.nan)
    return _wilson(k / total, total, ndtri(LEVEL))


def wilson_effective(rate: ArrayLike, n: ArrayLike, df: ArrayLike) -> Limits:
    """Compute Wilson's 95 % limits of clustered rates, with an effective number of trials and Student's quantile.

    NaN unless n and df are above 0.

    Args:
        rate: the mean of the clusters' rates.
        n: effective trials, which are trials over the design effect (`clusters.effective_n`); need not be whole.
        df: clusters less one.
    """
    p, total, degrees = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (rate, n, df)))
    total, degrees = np.where((total > 0) & (degrees > 0), total, np.nan), np.where(degrees > 0, degrees, np.nan)
    return _wilson(p, total, stdtrit(degrees, LEVEL))


def _wilson(rate: Floats, n: Floats, z: ArrayLike) -> Limits:
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
    if np.any(x < 0) or np.any(x > 1 + _EDGE):
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
