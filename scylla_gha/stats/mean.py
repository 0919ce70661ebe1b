"""Intervals of means, by Student's t: of values, of logarithms, and of paired differences."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from scylla_gha.stats.arrays import Floats, differences, finite, flat, pair, vector
from scylla_gha.stats.interval import Interval, interval


@lru_cache(maxsize=1024)
def t_quantile(df: float, confidence: float = 0.95) -> float:
    """Student's two-sided quantile; NaN where df is not above 0."""
    return float(stdtrit(df, (1 + confidence) / 2)) if df > 0 else math.nan


def mean_limits(values: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Mean, lower and upper limit of each row, in which NaN marks what is missing.

    The mean is NaN without values; limits are NaN with fewer than two values, or where all are equal: then the data
    say nothing of their spread.

    Args:
        values: shape (rows, n).
        confidence: of the interval.
    """
    found = np.atleast_2d(np.asarray(values, dtype=np.float64))
    known = ~np.isnan(found)
    finite(found[known], "values")
    n = known.sum(axis=1)
    mean = np.where(known, found, 0.0).sum(axis=1) / np.where(n > 0, n, np.nan)
    offset = np.where(known, found - mean[:, None], 0.0)
    spread = np.sqrt((offset * offset).sum(axis=1) / np.where(n > 1, n - 1, np.nan))
    spread = np.where(flat(found), np.nan, spread)  # what is left of equal values is rounding
    half = stdtrit(np.where(n > 1, n - 1, np.nan), (1 + confidence) / 2) * spread / np.sqrt(np.maximum(n, 1))
    return mean, mean - half, mean + half


def t_interval(values: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Of the mean; None without values, a `point` where there is one or all are equal."""
    x = vector(values)
    if not x.size:
        return None
    mean = float(x.mean())
    if x.size < 2 or flat(x):  # noqa: PLR2004 a spread takes two
        return interval(mean, (math.nan, math.nan), "Student t", x.size, confidence)
    half = t_quantile(x.size - 1, confidence) * float(x.std(ddof=1)) / math.sqrt(x.size)
    return interval(mean, (mean - half, mean + half), "Student t", x.size, confidence)


def log_t_interval(values: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Of the geometric mean: t on logarithms, for what is skewed and above 0; None without values.

    Raises:
        ValueError: a value is not above 0.
    """
    x = vector(values)
    if np.any(x <= 0):
        raise ValueError("values must be above 0 to have logarithms; take `t_interval` where there are zeros")
    found = t_interval(np.log(x), confidence)
    if found is None or found.estimate is None:
        return None
    low, high = (math.nan if limit is None else math.exp(limit) for limit in (found.low, found.high))
    return interval(math.exp(found.estimate), (low, high), "Student t on logarithms", x.size, confidence)


def paired_difference(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Of the mean of x - y, pair by pair (t on n - 1 degrees): the difference of two arms over shared clusters.

    Args:
        x: one mean per cluster.
        y: of the same clusters, in the same order.
        confidence: of the interval.

    Raises:
        ValueError: the lengths differ.
    """
    return t_interval(differences(x, y), confidence)


def paired_ratio(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Of the geometric mean of x / y, pair by pair: what is paid, or waited for, relative to another arm."""
    first, second = pair(x, y)
    if np.any(first <= 0) or np.any(second <= 0):
        raise ValueError("values must be above 0 to have a ratio on the scale of logarithms")
    return log_t_interval(first / second, confidence)


def paired_t(paired: ArrayLike) -> float | None:
    """Student's t of paired differences; None with fewer than two, or where all are equal."""
    d = vector(paired)
    if d.size < 2 or flat(d):  # noqa: PLR2004 a spread takes two
        return None
    return float(d.mean() / (d.std(ddof=1) / math.sqrt(d.size)))


def paired_t_p(paired: ArrayLike) -> float | None:
    """Two-sided p of `paired_t`; None where it is."""
    d = vector(paired)
    t = paired_t(d)
    return None if t is None else max(2 * float(stdtr(d.size - 1, -abs(t))), math.ulp(0.0))


def se_bernoulli(rate: float, n: int) -> float | None:
    """Standard error of a rate over n independent trials; None where n is 0. It is 0 at 0 and 1: take an interval."""
    return math.sqrt(rate * (1 - rate) / n) if n > 0 else None


def plugin_variance(values: ArrayLike) -> float | None:
    """The variance over n, not n - 1; None without values. Source: Efron & Tibshirani 1993, chapter 14."""
    x = vector(values)
    return float(x.var()) if x.size else None
