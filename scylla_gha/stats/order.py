"""Quantiles and medians: what they are, how sure they are, and what a time limit hides."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from scylla_gha.stats.arrays import Floats, vector

_HALF: Final = 0.5


def quantile(values: ArrayLike, q: ArrayLike) -> Floats:
    """Type 7 of Hyndman & Fan 1996 (linear between order statistics), of the shape of q; NaN without values.

    It is NumPy's default. A 0.9 quantile of fewer than 20 values is hardly more than their maximum: say so, or
    leave it out.

    Raises:
        ValueError: q outside [0, 1], or a value that is NaN or infinite.
    """
    x, levels = vector(values), np.asarray(q, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError("q must lie in [0, 1]")
    return np.asarray(np.quantile(x, levels)) if x.size else np.full(levels.shape, np.nan)


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """Two order statistics, and the chance that they hold the median between them."""

    median: float
    low: float
    high: float
    coverage: float


def median_interval(values: ArrayLike, confidence: float = 0.95) -> MedianInterval | None:
    """The narrowest pair of mirrored order statistics that covers the median; assumes no distribution.

    None where even minimum and maximum do not reach the confidence: fewer than 6 values for 0.95.
    """
    x = np.sort(vector(values))
    lows = np.arange(1, x.size // 2 + 1)
    coverage = 1 - 2 * bdtr(
        lows - 1, x.size, _HALF
    )  # the median lies below the low-th value as often as above its mirror
    enough = np.flatnonzero(coverage >= confidence)
    if not enough.size:
        return None
    at = int(enough[-1])
    return MedianInterval(float(np.median(x)), float(x[at]), float(x[x.size - 1 - at]), float(coverage[at]))


@dataclass(frozen=True, slots=True)
class CensoredMedian:
    """`share` of the values is known only as "longer than this"; from one half on, the median is None."""

    median: float | None
    share: float
    n: int


def censored_median(values: ArrayLike, censored: ArrayLike) -> CensoredMedian | None:
    """The median where some values were cut off at a limit; None without values.

    A cut-off value is taken to be above all others, which holds where the limit is the same for all.

    Args:
        values: one per try; the limit where it was cut off.
        censored: true where it was cut off.

    Raises:
        ValueError: the lengths differ.
    """
    x, cut = vector(values), np.asarray(censored, dtype=np.bool_)
    if x.shape != cut.shape:
        raise ValueError(f"there are {x.size} values and {cut.size} flags; give one flag per value")
    if not x.size:
        return None
    share = float(cut.mean())
    middle = float(np.median(np.where(cut, math.inf, x))) if share < _HALF else None
    return CensoredMedian(middle, share, x.size)
