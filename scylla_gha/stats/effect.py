"""Effect sizes. An undefined one is None: without any spread, a difference of means is no multiple of a spread.

Never print a label without an interval: without an effect, 24 % of comparisons of 5 with 5 have |d| above 0.8.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from scylla_gha.stats.arrays import NOISE_BITS, is_constant, pair, vector

_TWO: Final = 2  # values that a spread takes
_MANY: Final = 1e4


def cohens_d(x: ArrayLike, y: ArrayLike) -> float | None:
    """Divide the difference of means by the pooled standard deviation.

    None with fewer than two values in a sample, or if neither varies and the means differ. It is 0 if neither varies
    and the means are equal.
    """
    one, other = vector(x, "x"), vector(y, "y")
    if one.size < _TWO or other.size < _TWO:
        return None
    if is_constant(one) and is_constant(other):
        return 0.0 if is_constant(np.concatenate([one, other])) else None
    square = (one.size - 1) * one.var(ddof=1) + (other.size - 1) * other.var(ddof=1)
    return float((one.mean() - other.mean()) / math.sqrt(square / (one.size + other.size - _TWO)))


@lru_cache(maxsize=1024)
def hedges_correction(df: float) -> float | None:
    """Return the exact J that removes the bias of d; None unless df is above 1.

    Source: Hedges 1981, Journal of Educational Statistics 6:107, c(m).
    """
    if df <= 1:
        return None
    if df > _MANY:  # the difference of logarithms would lose digits, and this errs by less than 1e-9
        return 1 - 3 / (4 * df - 1)
    return math.exp(float(gammaln(df / 2) - gammaln((df - 1) / 2))) / math.sqrt(df / 2)


def cohens_dz(x: ArrayLike, y: ArrayLike) -> float | None:
    """Divide the mean of paired differences by their standard deviation; None as `cohens_d`.

    Differences are rounded at 1e-13 of the largest value, so that 4/5 - 3/5 and 2/5 - 1/5 are equal, as they should be.
    """
    first, second = pair(x, y)
    top = max(np.max(np.abs(first), initial=0.0), np.max(np.abs(second), initial=0.0))
    shift = NOISE_BITS - int(np.frexp(top)[1])
    d = np.ldexp(np.rint(np.ldexp(first - second, shift)), -shift)
    if d.size < _TWO:
        return None
    if is_constant(d):
        return 0.0 if d[0] == 0 else None
    return float(d.mean() / d.std(ddof=1))


def correlation(x: ArrayLike, y: ArrayLike) -> float | None:
    """Compute Pearson's r of pairs; None with fewer than three, or if x or y does not vary."""
    one, other = pair(x, y)
    if one.size <= _TWO or is_constant(one) or is_constant(other):
        return None
    a, b = one - one.mean(), other - other.mean()
    r = float((a * b).sum() / math.sqrt(float((a * a).sum()) * float((b * b).sum())))
    return min(max(r, -1.0), 1.0)


def cliffs_delta(x: ArrayLike, y: ArrayLike) -> float | None:
    """Compute P(x > y) - P(x < y) over all pairs, in [-1, 1]; None if a sample is empty.

    Usual cut-offs: 0.147, 0.33, 0.474 (Romano 2006). Sorting makes it O(n log n).
    """
    one, other = vector(x, "x"), np.sort(vector(y, "y"))
    if not one.size or not other.size:
        return None
    below = int(np.searchsorted(other, one, side="left").sum())
    above = one.size * other.size - int(np.searchsorted(other, one, side="right").sum())
    return (below - above) / (one.size * other.size)
