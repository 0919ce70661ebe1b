"""Effect sizes. Undefined is None: where nothing varies but the means differ, no multiple of a spread tells it.

Never give a label without an interval: with no effect, 24 % of comparisons of 5 with 5 have |d| above 0.8.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from scylla_gha.stats.arrays import Floats, differences, flat, pair, vector

_TWO: Final = 2  # values that a spread takes
_MANY: Final = 1e4


def mean_difference(x: ArrayLike, y: ArrayLike) -> float | None:
    """Mean x - mean y of two samples; None where one is empty."""
    one, other = vector(x, "x"), vector(y, "y")
    return float(one.mean() - other.mean()) if one.size and other.size else None


def cohens_d(x: ArrayLike, y: ArrayLike) -> float | None:
    """Difference of means over the pooled standard deviation.

    None with fewer than two values in a sample, or where neither varies and the means differ. It is 0 where neither
    varies and the means are equal.
    """
    one, other = vector(x, "x"), vector(y, "y")
    if one.size < _TWO or other.size < _TWO:
        return None
    if flat(one) and flat(other):
        return 0.0 if flat(np.concatenate([one, other])) else None
    square = (one.size - 1) * one.var(ddof=1) + (other.size - 1) * other.var(ddof=1)
    return float((one.mean() - other.mean()) / math.sqrt(square / (one.size + other.size - _TWO)))


@lru_cache(maxsize=1024)
def hedges_correction(df: float) -> float | None:
    """The exact J that takes the bias out of d; None where df is not above 1.

    Source: Hedges 1981, Journal of Educational Statistics 6:107, c(m).
    """
    if df <= 1:
        return None
    if df > _MANY:  # the difference of logarithms would lose digits, and this errs by less than 1e-9
        return 1 - 3 / (4 * df - 1)
    return math.exp(float(gammaln(df / 2) - gammaln((df - 1) / 2))) / math.sqrt(df / 2)


def hedges_g(x: ArrayLike, y: ArrayLike) -> float | None:
    """Cohen's d without its bias at few values; None where d is."""
    d = cohens_d(x, y)
    j = hedges_correction(np.size(x) + np.size(y) - _TWO)
    return None if d is None or j is None else j * d


def cohens_dz(x: ArrayLike, y: ArrayLike) -> float | None:
    """Mean over standard deviation of paired differences; None as `cohens_d`."""
    d = differences(x, y)
    if d.size < _TWO:
        return None
    if flat(d):
        return 0.0 if d[0] == 0 else None
    return float(d.mean() / d.std(ddof=1))


def cohens_dav(x: ArrayLike, y: ArrayLike) -> float | None:
    """Mean paired difference over the mean of the two standard deviations; None as `cohens_d`.

    Source: Lakens 2013, Frontiers in Psychology 4:863.
    """
    one, other = pair(x, y)
    if one.size < _TWO:
        return None
    if flat(one) and flat(other):
        return 0.0 if flat(np.concatenate([one, other])) else None
    return float((one.mean() - other.mean()) * 2 / (one.std(ddof=1) + other.std(ddof=1)))


def correlation(x: ArrayLike, y: ArrayLike) -> float | None:
    """Pearson's r of pairs; None with fewer than three, or where a side does not vary."""
    one, other = pair(x, y)
    if one.size <= _TWO or flat(one) or flat(other):
        return None
    a, b = one - one.mean(), other - other.mean()
    r = float((a * b).sum() / math.sqrt(float((a * a).sum()) * float((b * b).sum())))
    return min(max(r, -1.0), 1.0)


def cliffs_delta(x: ArrayLike, y: ArrayLike) -> float | None:
    """P(x > y) - P(x < y) over all pairs, in [-1, 1]; None where a sample is empty.

    Usual cut-offs: 0.147, 0.33, 0.474 (Romano 2006). Sorting makes it O(n log n).
    """
    one, other = vector(x, "x"), np.sort(vector(y, "y"))
    if not one.size or not other.size:
        return None
    below = int(np.searchsorted(other, one, side="left").sum())
    above = one.size * other.size - int(np.searchsorted(other, one, side="right").sum())
    return (below - above) / (one.size * other.size)


def cliffs_deltas(x: ArrayLike, y: ArrayLike) -> Floats:
    """`cliffs_delta` of each row of x with the same row of y; NaN where one is empty.

    Args:
        x: shape (rows, n).
        y: shape (rows, m).

    Raises:
        ValueError: the numbers of rows differ.
    """
    one, other = np.atleast_2d(np.asarray(x, dtype=np.float64)), np.atleast_2d(np.asarray(y, dtype=np.float64))
    found = [cliffs_delta(a, b) for a, b in zip(one, other, strict=True)]
    return np.array(found, dtype=np.float64)


def vargha_delaney_a(x: ArrayLike, y: ArrayLike) -> float | None:
    """P(x > y) + P(x = y) / 2, in [0, 1]; None where a sample is empty."""
    delta = cliffs_delta(x, y)
    return None if delta is None else (delta + 1) / 2
