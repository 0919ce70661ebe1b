"""Limits of means by Student's t, for many samples at once.

Rows are samples and NaN marks a missing value; limits are NaN with fewer than two values.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, stdtrit

from scylla_gha.stats.arrays import Bools, Floats, Limits, finite, is_constant

FEW_NOT_ZERO: Final = 6  # with fewer values that are not 0, their spread says too little about rare values
_LEAST_SQUARES: Final = 0.02  # the sum of squares that equal values are assumed to have
_FEWEST: Final = 2
_AT_THE_EDGE: Final = 1e-9


@lru_cache(maxsize=1024)
def t_quantile(df: float, confidence: float = 0.95) -> float:
    """Return Student's two-sided quantile; NaN unless df is above 0."""
    return float(stdtrit(df, (1 + confidence) / 2)) if df > 0 else math.nan


def mean_limits(values: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Compute mean, lower and upper limit of each row.

    The mean is NaN without values; limits are NaN too if all values of a row are equal, which says nothing about their
    spread.

    Args:
        values: shape (rows, n).
        confidence: of the interval.
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


def mean_limits_bounded(values: ArrayLike, confidence: float = 0.95) -> Limits:
    """Compute limits of each row's mean, of numbers between -1 and 1 such as differences of rates.

    Student's t in score form, which takes the spread that the mean would have if the limit were true (0 at -1 and 1);
    `rare_limits` for rows with fewer than six values that are not 0. Coverage: tests/benchmarks/verdicts.py.

    Args:
        values: shape (rows, n), between -1 and 1.
        confidence: of the interval.
    """
    known, x, n = _bounded(values)
    low, high = _score_limits(x, known, n, confidence)
    few = ((x != 0) & known).sum(axis=1) < FEW_NOT_ZERO
    few |= np.abs(x.sum(axis=1)) >= n * (1 - _AT_THE_EDGE)
    rare_low, rare_high = rare_limits(values, confidence, weight=0.5)
    return np.where(few, rare_low, low), np.where(few, rare_high, high)


def rare_limits(values: ArrayLike, confidence: float = 0.90, *, weight: float = 1.0) -> Limits:
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
    return -_upper(-x, known, n, level, weight), _upper(x, known, n, level, weight)


def _bounded(values: ArrayLike) -> tuple[Bools, Floats, Floats]:
    """Return a mask of known values, the values with 0 for unknown ones, and their number; NaN if it is below two.

    Raises:
        ValueError: a value is beyond -1 or 1.
    """
    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    known = ~np.isnan(table)
    if np.any(np.abs(finite(table[known], "values")) > 1 + _AT_THE_EDGE):
        raise ValueError("values must lie between -1 and 1")
    n = known.sum(axis=1).astype(np.float64)
    return known, np.where(known, np.clip(table, -1, 1), 0.0), np.where(n >= _FEWEST, n, np.nan)


def _upper(x: Floats, known: Bools, n: Floats, level: float, weight: float) -> Floats:
    least = np.min(np.where(known, x, 1.0), axis=1, initial=1.0)
    mean = (x.sum(axis=1) + weight) / (n + weight)
    offsets = np.where(known, x - mean[:, None], 0.0)
    squares = (offsets**2).sum(axis=1) + weight * (1 - mean) ** 2
    span = np.where(least < 1 - _AT_THE_EDGE, 1 - least, np.nan)
    centre, variance = (mean - least) / span, squares / span**2 / (n + weight) / (n + weight + 1)
    size = centre * (1 - centre) / variance - 1
    limit = least + span * betaincinv(centre * size, (1 - centre) * size, level)
    return np.where(np.isnan(n), np.nan, np.where(np.isnan(span), 1.0, limit))


def _score_limits(x: Floats, known: Bools, n: Floats, confidence: float) -> Limits:
    mean = x.sum(axis=1) / n
    squares = (np.where(known, x - mean[:, None], 0.0) ** 2).sum(axis=1)
    error = np.maximum(squares, _LEAST_SQUARES) / (n - 1) / n
    inside = np.maximum(1 - mean * mean, _AT_THE_EDGE)
    # The mean m and a limit u satisfy (m - u)^2 = k (1 - u^2).
    k = stdtrit(n - 1, (1 + confidence) / 2) ** 2 * error / inside
    half = np.sqrt(k * (1 + k - mean * mean))
    return (mean - half) / (1 + k), (mean + half) / (1 + k)
