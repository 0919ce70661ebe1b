"""Intervals of a ratio of two means (which is the ratio of the sums), measured together on the same units."""

import math
from dataclasses import dataclass
from typing import Final

from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import pair
from scylla_gha.stats.interval import Interval, interval
from scylla_gha.stats.mean import t_quantile

_NO_SPREAD: Final = 1e-7  # the square root of a rounding


@dataclass(frozen=True, slots=True)
class Moments:
    """Of two columns: the means, and the variances and covariance of these means; NaN with one unit."""

    x: float
    y: float
    var_x: float
    var_y: float
    cov: float
    n: int


def moments(x: ArrayLike, y: ArrayLike) -> Moments | None:
    """None without units.

    Raises:
        ValueError: the lengths differ.
    """
    top, bottom = pair(x, y)
    n = top.size
    if n == 0:
        return None
    a, b = top - top.mean(), bottom - bottom.mean()
    scale = 1 / (n * (n - 1)) if n > 1 else math.nan
    return Moments(float(top.mean()), float(bottom.mean()), scale * float(a @ a), scale * float(b @ b),
                   scale * float(a @ b), n)  # fmt: skip


def log_delta(of: Moments, confidence: float = 0.95) -> Interval | None:
    """Of mean x over mean y, on the scale of logarithms, with t on n - 1: unequal arms, always above 0.

    se^2 = var(x) / x^2 + var(y) / y^2 - 2 cov / (x y). A `point` with one unit, where x is 0, or where there is no
    spread at all; None where y is 0 and the ratio infinite.

    Raises:
        ValueError: a mean is below 0.
    """
    if of.x < 0 or of.y < 0:
        raise ValueError("means must not be below 0 to have a ratio on the scale of logarithms")
    if of.y == 0:
        return None
    estimate = of.x / of.y
    limits = (math.nan, math.nan)
    if of.x > 0 and of.n > 1:
        square = of.var_x / of.x**2 + of.var_y / of.y**2 - 2 * of.cov / (of.x * of.y)
        limits = log_limits(estimate, square, of.n, confidence)
    return interval(estimate, limits, "log-delta with t", of.n, confidence)


def log_limits(estimate: float, variance: float, n: int, confidence: float) -> tuple[float, float]:
    """With t on n - 1 by the variance of the estimate's logarithm; NaN where that is nothing.

    The upper limit is infinite where it is beyond what a double holds, as with hardly a success.
    """
    half = t_quantile(n - 1, confidence) * math.sqrt(max(variance, 0.0))
    if half <= _NO_SPREAD:
        return math.nan, math.nan
    high = estimate * math.exp(half) if half < 700 else math.inf  # noqa: PLR2004 exp(709.8) overflows
    return estimate * math.exp(-half), high


def ratio_interval(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """`log_delta` of sum(x) / sum(y); None without units, or where sum(y) is 0."""
    found = moments(x, y)
    return None if found is None else log_delta(found, confidence)


def fieller(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Of mean x over mean y: all ratios r at which a t-test of x - r y is not significant.

    Where mean y is not clear of 0 the set has no end: `unbounded`, with the lower limit where it has one. None without
    units, or where mean y is 0; a `point` with one unit. Source: Fieller 1954, JRSS B 16:175.
    """
    of = moments(x, y)
    if of is None or of.y == 0:
        return None
    estimate = of.x / of.y
    if of.n == 1 or of.var_x == of.var_y == 0:
        return interval(estimate, (math.nan, math.nan), "Fieller", of.n, confidence)
    t2 = t_quantile(of.n - 1, confidence) ** 2
    a, b, c = of.y**2 - t2 * of.var_y, of.x * of.y - t2 * of.cov, of.x**2 - t2 * of.var_x
    root = math.sqrt(max(b * b - a * c, 0.0))
    limits = (-math.inf, math.inf)
    if a > 0:
        limits = (b - root) / a, (b + root) / a
    elif a < 0 < c:  # two rays, and 0 lies between them: the one that holds the estimate
        limits = ((b - root) / a, math.inf) if estimate > 0 else (-math.inf, (b + root) / a)
    return interval(estimate, limits, "Fieller", of.n, confidence)
