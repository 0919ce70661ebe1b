"""Intervals of ratios and of positive means, by the delta method on logarithms; and what one success costs.

Cost of a success: mean cost of an attempt over the success rate, so failures are paid for. Without a success it is
infinite. Failures often cost more, so costs and successes are analysed together, never as independent.
Source: Erol et al. 2025, arXiv:2504.13359.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, is_constant, pair, vector
from scylla_gha.stats.clusters import Labels, clustered
from scylla_gha.stats.means import t_quantile
from scylla_gha.stats.simple import Interval, make_interval

_NO_SPREAD: Final = 1e-7  # the square root of a rounding
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class _Moments:
    """Of two columns: the means, and the variances and covariance of these means; NaN with one unit."""

    x: float
    y: float
    var_x: float
    var_y: float
    cov: float
    n: int


def _moments(x: ArrayLike, y: ArrayLike) -> _Moments | None:
    """Return None without units."""
    top, bottom = pair(x, y)
    n = top.size
    if n == 0:
        return None
    a, b = top - top.mean(), bottom - bottom.mean()
    scale = 1 / (n * (n - 1)) if n > 1 else math.nan
    return _Moments(float(top.mean()), float(bottom.mean()), scale * float(a @ a), scale * float(b @ b),
                    scale * float(a @ b), n)  # fmt: skip


def ratio_interval(x: ArrayLike, y: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of sum(x) / sum(y), measured on the same units, with t on units less one.

    A `point` with one unit, if sum(x) is 0, or without any spread; None without units, or if sum(y) is 0.

    Raises:
        ValueError: the lengths differ, or a mean is below 0.
    """
    moments = _moments(x, y)
    return None if moments is None else _log_delta(moments)


def _log_delta(of: _Moments) -> Interval | None:
    """Use se^2 = var(x) / x^2 + var(y) / y^2 - 2 cov / (x y) of the ratio's logarithm."""
    if of.x < 0 or of.y < 0:
        raise ValueError("means must not be below 0 to have a ratio on the scale of logarithms")
    if of.y == 0:
        return None
    estimate = of.x / of.y
    limits = (math.nan, math.nan)
    if of.x > 0 and of.n > 1:
        square = of.var_x / of.x**2 + of.var_y / of.y**2 - 2 * of.cov / (of.x * of.y)
        limits = _log_limits(estimate, square, of.n)
    return make_interval(estimate, limits, "log-delta with t", of.n)


def _log_limits(estimate: float, variance: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Compute limits from the variance of the estimate's logarithm, with t on n - 1; NaN without variance.

    The upper limit is infinite if a double cannot hold it, as with hardly a success.
    """
    half = t_quantile(n - 1, confidence) * math.sqrt(max(variance, 0.0))
    if half <= _NO_SPREAD:
        return math.nan, math.nan
    high = estimate * math.exp(half) if half < 700 else math.inf  # noqa: PLR2004 exp(709.8) overflows
    return estimate * math.exp(-half), high


def positive_mean_interval(values: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of the mean of values that are never below 0.

    None without values, a `point` for one value or equal values.

    Raises:
        ValueError: a value is below 0.
    """
    x = vector(values)
    if np.any(x < 0):
        raise ValueError("values must not be below 0")
    if not x.size:
        return None
    mean, limits = float(x.mean()), (math.nan, math.nan)
    if x.size >= _FEWEST and not is_constant(x):
        limits = _log_limits(mean, float(x.var(ddof=1)) / x.size / mean**2, x.size)
    return make_interval(mean, limits, "Student t, delta method on logarithms", x.size)


def success_cost_interval(cost: ArrayLike, success: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of the cost of a success from repetitions in one cluster; None without attempts.

    The variance of the rate is at least q (1 - q) / n with q = (k + 1/2) / (n + 1), or an attempt that never failed
    would be certain. Without a success the status is `infinite`, with a one-sided lower limit.

    Args:
        cost: of each attempt; if one is unknown, do not compute this.
        success: 0 or 1 for each attempt.

    Raises:
        ValueError: the lengths differ, a cost is below 0, or a success is neither 0 nor 1.
    """
    costs, successes = _attempts(cost, success)
    return _cost_interval(_moments(costs, successes), float(successes.sum()), costs.size)


def macro_success_cost_interval(cost: ArrayLike, success: ArrayLike, labels: Labels) -> Interval | None:
    """Compute the 95 % interval of the cost of a success over clusters of equal weight, with t on clusters less one.

    With one cluster it is `success_cost_interval`, which is about this cluster alone. Without a success the lower limit
    counts clusters, not attempts: repetitions without a success say nothing about other clusters.

    Args:
        cost: of each attempt.
        success: 0 or 1 for each attempt.
        labels: the cluster of each attempt.

    Raises:
        ValueError: as `success_cost_interval`.
    """
    costs, successes = _attempts(cost, success)
    paid, won = clustered(costs, labels), clustered(successes, labels)
    if paid.sizes.size == 1:
        return success_cost_interval(costs, successes)
    return _cost_interval(_moments(paid.means, won.means), float(successes.sum()), costs.size)


def _attempts(cost: ArrayLike, success: ArrayLike) -> tuple[Floats, Floats]:
    costs, successes = pair(cost, success)
    if np.any(costs < 0) or not np.all(np.isin(successes, (0.0, 1.0))):
        raise ValueError("costs must not be below 0, and a success is 0 or 1")
    return costs, successes


def _cost_interval(of: _Moments | None, successes: float, attempts: int) -> Interval | None:
    if of is None:
        return None
    if of.y == 0:
        return _infinite_cost(of)
    floor = _rate_variance_floor(successes, attempts)
    # One unit has no variance of costs either, and NaN must stay NaN.
    cost = _log_delta(replace(of, var_y=max(of.var_y, floor) if of.n > 1 else math.nan))
    return None if cost is None else replace(cost, method=f"{cost.method}, floor")


def _rate_variance_floor(successes: float, n: int) -> float:
    """Return the least variance that a rate of n trials is assumed to have, even if all are alike."""
    rate = (successes + 0.5) / (n + 1)
    return rate * (1 - rate) / n


def _infinite_cost(of: _Moments) -> Interval:
    """Divide the mean cost by the one-sided upper limit of a rate without a success in n units, about 3 / n.

    Source: Hanley & Lippman-Hand 1983, JAMA 249:1743.
    """
    most = -math.expm1(math.log1p(-0.95) / of.n)
    low = None if of.x == 0 else of.x / most
    return Interval(None, low, None, "one-sided, no success", of.n, "infinite")


@dataclass(frozen=True, slots=True)
class Attempts:
    """Attempts of one arm: mean cost and success rate of each unit, shape (units,); and the totals."""

    cost: Floats
    rate: Floats
    attempts: int
    successes: float

    @property
    def cost_of_success(self) -> float | None:
        """Mean cost over mean rate; None without a success (it is infinite), or if all is free."""
        cost, rate = float(self.cost.mean()), float(self.rate.mean())
        return cost / rate if cost > 0 and rate > 0 else None

    @property
    def influence(self) -> Floats:
        """How each unit moves the logarithm of the cost of a success."""
        return np.asarray(self.cost / self.cost.mean() - self.rate / self.rate.mean())

    @property
    def missing_variance(self) -> float:
        """What is added to the variance of that logarithm to reach the least variance of a rate."""
        seen = float(self.rate.var(ddof=1)) / self.rate.size if self.rate.size > 1 else 0.0
        missing = max(0.0, _rate_variance_floor(self.successes, self.attempts) - seen)
        return missing / float(self.rate.mean()) ** 2


def success_cost_ratio(one: Attempts, other: Attempts, confidence: float = 0.95) -> Interval | None:
    """Compute the ratio of two arms' costs of a success, paired by unit, with t on units less one.

    A unit that is expensive for both arms cancels out. A `point` with one unit, or without spread; None if an arm has
    no finite cost of a success, or is free.
    """
    if not one.cost.size or one.cost_of_success is None or other.cost_of_success is None:
        return None
    estimate, n = one.cost_of_success / other.cost_of_success, one.cost.size
    limits = (math.nan, math.nan)
    if n >= _FEWEST:
        difference = one.influence - other.influence
        variance = float(difference.var(ddof=1)) / n + one.missing_variance + other.missing_variance
        limits = _log_limits(estimate, variance, n, confidence)
    return make_interval(estimate, limits, "log-delta with t on scenario means, paired, floor", n)
