"""Intervals of ratios and of positive means, by the delta method on logarithms; and what one success costs.

Cost of a success: mean cost of an attempt over the success rate, so failures are paid for. Without a success it is
infinite. Failures often cost more, so costs and successes are analysed together, never as independent.
Source: Erol et al. 2025, arXiv:2504.13359.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats import Interval, make_interval
from scylla_gha.stats.arrays import Floats, is_constant, pair, vector
from scylla_gha.stats.clusters import Labels, clustered
from scylla_gha.stats.means import t_quantile

_NO_SPREAD: Final = 1e-7  # the square root of a rounding
_FEWEST: Final = 2


def ratio_interval(x: ArrayLike, y: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of sum(x) / sum(y), measured on the same units, with t on units less one.

    A `point` with one unit, if sum(x) is 0, or without any spread; None without units, or if sum(y) is 0.

    Raises:
        ValueError: the lengths differ, or a mean is below 0.
    """
    return _delta_interval(*pair(x, y), "log-delta with t")


def _delta_interval(top: Floats, bottom: Floats, method: str, floor: float = 0.0) -> Interval | None:
    """Use se^2 = var(x) / x^2 + var(y) / y^2 - 2 cov / (x y) of the ratio's logarithm; var(y) is at least `floor`."""
    n = top.size
    if n == 0:
        return None
    x, y = float(top.mean()), float(bottom.mean())
    if x < 0 or y < 0:
        raise ValueError("means must not be below 0 to have a ratio on the scale of logarithms")
    if y == 0:
        return None
    limits = (math.nan, math.nan)
    if x > 0 and n > 1:
        a, b, scale = top - top.mean(), bottom - bottom.mean(), 1 / (n * (n - 1))
        var_x, var_y, cov = scale * float(a @ a), max(scale * float(b @ b), floor), scale * float(a @ b)
        limits = _log_limits(x / y, var_x / x**2 + var_y / y**2 - 2 * cov / (x * y), n)
    return make_interval(x / y, limits, method, n)


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
    return _cost_interval(costs, successes, float(successes.sum()), costs.size)


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
    return _cost_interval(paid.means, won.means, float(successes.sum()), costs.size)


def _attempts(cost: ArrayLike, success: ArrayLike) -> tuple[Floats, Floats]:
    costs, successes = pair(cost, success)
    if np.any(costs < 0) or not np.all(np.isin(successes, (0.0, 1.0))):
        raise ValueError("costs must not be below 0, and a success is 0 or 1")
    return costs, successes


def _cost_interval(costs: Floats, rates: Floats, successes: float, attempts: int) -> Interval | None:
    """Compute the interval from mean costs and success rates of units, and the totals."""
    if not rates.size:
        return None
    if not rates.any():
        return _infinite_cost(float(costs.mean()), costs.size)
    return _delta_interval(costs, rates, "log-delta with t, floor", _rate_variance_floor(successes, attempts))


def _rate_variance_floor(successes: float, n: int) -> float:
    """Return the least variance that a rate of n trials is assumed to have, even if all are alike."""
    rate = (successes + 0.5) / (n + 1)
    return rate * (1 - rate) / n


def _infinite_cost(mean: float, n: int) -> Interval:
    """Divide the mean cost by the one-sided 95 % limit of a rate without a success in n units, about 3 / n.

    Source: Hanley & Lippman-Hand 1983, JAMA 249:1743.
    """
    most = -math.expm1(math.log1p(-0.95) / n)
    return Interval(None, mean / most if mean else None, None, "one-sided, no success", n, "infinite")


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
        """Influence of each unit on the logarithm of the cost of a success."""
        return np.asarray(self.cost / self.cost.mean() - self.rate / self.rate.mean())

    @property
    def missing_variance(self) -> float:
        """Amount added to the variance of that logarithm to reach the least variance of a rate."""
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
