"""Intervals of means of what cannot be below 0, or above 1: limits that never leave that range."""

import math

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, flat, pair, vector
from scylla_gha.stats.binomial import wilson_effective
from scylla_gha.stats.interval import Interval, interval
from scylla_gha.stats.ratio import log_limits

_FEWEST = 2


def positive_mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Return limits of the mean of values that are never below 0: t on the scale of logarithms (delta method).

    None without values, a `point` where there is one or all are equal.

    Raises:
        ValueError: a value is below 0.
    """
    x = vector(values)
    if np.any(x < 0):
        raise ValueError("values must not be below 0")
    if not x.size:
        return None
    mean, limits = float(x.mean()), (math.nan, math.nan)
    if x.size >= _FEWEST and not flat(x):
        limits = log_limits(mean, float(x.var(ddof=1)) / x.size / mean**2, x.size, confidence)
    return interval(mean, limits, "Student t, delta method on logarithms", x.size, confidence)


def share_mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Return limits of the mean of values in 0..1: Student's t in score form (Wilson's with an effective n).

    None without values, a `point` where there is one or all are equal.

    Raises:
        ValueError: a value is not between 0 and 1.
    """
    x = vector(values)
    if np.any(x < 0) or np.any(x > 1 + 1e-9):
        raise ValueError("values must lie between 0 and 1")
    return _share(min(float(x.mean()), 1.0), x, x.size, confidence) if x.size else None


def share_ratio_interval(part: ArrayLike, whole: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Return limits of sum(part) / sum(whole), no part above its whole: as `share_mean_interval`, by the delta method.

    None without units, or where sum(whole) is 0.
    """
    x, y = pair(part, whole)
    if not y.sum() > 0:
        return None
    share = float(x.sum() / y.sum())
    return _share(share, share + (x - share * y) / float(y.mean()), x.size, confidence)


def _share(mean: float, x: Floats, n: int, confidence: float) -> Interval | None:
    """Return the limits at which a t-test is just not significant, with the spread that holds at the limit."""
    limits = (math.nan, math.nan)
    if n >= _FEWEST and not flat(x) and 0 < mean < 1:
        effective = mean * (1 - mean) / (float(x.var(ddof=1)) / n)
        low, high = wilson_effective(mean, effective, n - 1, confidence)
        limits = float(low), float(high)
    return interval(mean, limits, "Student t, score form", n, confidence)
