"""The bootstrap of means and of what is made of means (ratios, variances), for many rows at once.

Not for few values: below n = 30, or 50 where skewed, the intervals are too short (77-84 % instead of 95 % at n = 5).
For clusters give one sum or mean per cluster, and have 20 of them. Source: Efron & Tibshirani 1993, chapter 14.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from scylla_gha.stats.arrays import Floats, Limits, flat, on_grid, rows
from scylla_gha.stats.interval import Interval, interval
from scylla_gha.stats.resampling import USUAL, Resampling, in_blocks, multinomial_weights

Combine: TypeAlias = Callable[..., Floats]  # means of the columns, each an array of any shape -> the statistic


def mean_of(x: Floats) -> Floats:
    """The mean itself."""
    return x


def ratio_of(x: Floats, y: Floats) -> Floats:
    """Mean x over mean y: the ratio of the sums; NaN where y is 0."""
    return np.asarray(np.divide(x, y, out=np.full(np.broadcast(x, y).shape, np.nan), where=np.asarray(y) != 0))


def variance_of(x: Floats, squares: Floats) -> Floats:
    """The variance over n, from the means of the values and of their squares."""
    return squares - x * x


def resample(values: ArrayLike, how: Resampling = USUAL) -> Floats:
    """Mean of each row in each resample: shape (rows, draws). All rows, and all calls of one seed, share the resamples.

    Args:
        values: shape (rows, n), n above 0.
        how: resamples and seed.
    """
    x = rows(values)
    n = x.shape[1]
    return np.asarray(on_grid(x, n) @ multinomial_weights(n, how.draws, how.seed) / n)


def acceleration(columns: Sequence[ArrayLike], combine: Combine = mean_of) -> Floats:
    """The a of BCa, by the jackknife in closed form; 0 where nothing varies. One number per row."""
    found = [rows(column) for column in columns]
    n = found[0].shape[1]
    if n < 2:  # noqa: PLR2004 one value cannot be left out
        return np.zeros(found[0].shape[0])
    left = combine(*((x.sum(axis=1, keepdims=True) - x) / (n - 1) for x in found))
    offset = left.mean(axis=1, keepdims=True) - left
    spread = (offset * offset).sum(axis=1) ** 1.5
    return np.asarray(np.divide((offset**3).sum(axis=1), 6 * spread, out=np.zeros(len(spread)), where=spread > 0))


def percentile_limits(columns: Sequence[ArrayLike], combine: Combine = mean_of, how: Resampling = USUAL) -> Limits:
    """The limits of each row; NaN with fewer than two values, or where no column varies."""
    return _limits(columns, combine, how, corrected=False)


def bca_limits(columns: Sequence[ArrayLike], combine: Combine = mean_of, how: Resampling = USUAL) -> Limits:
    """Bias-corrected and accelerated limits of each row; NaN with fewer than two values, or where no column varies.

    Args:
        columns: one array (rows, n) for each mean that `combine` takes, the same units in the same order.
        combine: what is made of the means, say `ratio_of`.
        how: resamples, seed, confidence, threads.
    """
    return _limits(columns, combine, how, corrected=True)


def _limits(columns: Sequence[ArrayLike], combine: Combine, how: Resampling, *, corrected: bool) -> Limits:
    found = [rows(column) for column in columns]
    if len({x.shape for x in found}) != 1:
        raise ValueError("all columns must have one shape, (rows, n)")
    count, n = found[0].shape
    if count == 0 or n < 2:  # noqa: PLR2004 a spread takes two
        return np.full(count, np.nan), np.full(count, np.nan)
    grids = [on_grid(x, n) for x in found]
    a = acceleration(found, combine) if corrected else np.zeros(count)
    weights = multinomial_weights(n, how.draws, how.seed)

    def work(block: slice) -> Floats:
        drawn = combine(*(x[block] @ weights / n for x in grids))
        estimate = combine(*(x[block].sum(axis=1) / n for x in grids))
        return _block(drawn, estimate, a[block] if corrected else None, how.confidence)

    both = np.concatenate(in_blocks(count, how.draws, work, how.threads))
    still = np.logical_and.reduce([flat(x) for x in found])
    return np.where(still, np.nan, both[:, 0]), np.where(still, np.nan, both[:, 1])


def _block(drawn: Floats, estimate: Floats, a: Floats | None, confidence: float) -> Floats:
    """Shape (rows, 2)."""
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    levels = np.broadcast_to(tails, (len(drawn), 2))
    if a is not None:
        strictly = np.count_nonzero(drawn < estimate[:, None], axis=1)
        below = strictly + np.count_nonzero(drawn <= estimate[:, None], axis=1)
        bias = ndtri(below / (2 * drawn.shape[1]))[:, None]
        with np.errstate(invalid="ignore"):
            shifted = bias + ndtri(tails)
            levels = ndtr(bias + shifted / (1 - a[:, None] * shifted))
    return _quantiles(drawn, levels)


def _quantiles(drawn: Floats, levels: Floats) -> Floats:
    """Of type 7, each row at its own two levels; NaN where a level is, or a resample had none. Changes `drawn`.

    Only the tails are sorted: that is half of the time.
    """
    last = drawn.shape[1] - 1
    place = np.where(np.isnan(levels), 0.5, levels) * last
    under = np.floor(place).astype(np.int64)
    over = np.minimum(under + 1, last)
    low, high = int(over[:, 0].max()), int(under[:, 1].min())
    if low < high:
        drawn.partition((low, high), axis=1)
        drawn[:, : low + 1].sort(axis=1)
        drawn[:, high:].sort(axis=1)
    else:
        drawn.sort(axis=1)
    below, above = (np.take_along_axis(drawn, index, axis=1) for index in (under, over))
    found = below + (place - under) * (above - below)
    return np.where(np.isnan(levels) | np.isnan(drawn[:, -1:]), np.nan, found)


def bootstrap_interval(
    columns: Sequence[ArrayLike], combine: Combine = mean_of, how: Resampling = USUAL, *, corrected: bool = True
) -> Interval | None:
    """BCa, or percentile where not `corrected`, of one sample; None without values or without an estimate."""
    found = [rows(column) for column in columns]
    n = found[0].shape[1]
    if n == 0:
        return None
    estimate = float(combine(*(x.mean(axis=1) for x in found))[0])
    low, high = _limits(columns, combine, how, corrected=corrected)
    name = "bootstrap BCa" if corrected else "bootstrap percentile"
    return interval(estimate, (float(low[0]), float(high[0])), name, n, how.confidence)


def inverse_ratio_limits(x: ArrayLike, y: ArrayLike, how: Resampling = USUAL) -> Limits:
    """BCa limits of sum(x) / sum(y), where resampled y may be 0, by those of y / x; an infinite limit is infinite.

    Args:
        x: shape (rows, n), above 0.
        y: likewise, not below 0.
        how: resamples, seed, confidence, threads.
    """
    low, high = bca_limits([y, x], ratio_of, how)
    with np.errstate(divide="ignore"):
        return 1 / high, 1 / low
