"""What one success costs: mean cost of an attempt over the rate of success, failures paid for.

Source: Erol et al. 2025, arXiv:2504.13359. Without a success it is infinite: status `infinite`, no estimate, and a
one-sided lower limit. Failures often cost more, so costs and successes are taken together, never as independent.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, pair
from scylla_gha.stats.binomial import zero_events_upper
from scylla_gha.stats.clusters import Labels, clustered
from scylla_gha.stats.interval import Interval
from scylla_gha.stats.proportion import cost_per_success
from scylla_gha.stats.ratio import Moments, log_delta, moments


def success_cost(cost: ArrayLike, success: ArrayLike) -> float | None:
    """Total cost over successes; None without attempts, or where no attempt succeeded (it is infinite).

    Raises:
        ValueError: as `success_cost_interval` says.
    """
    costs, successes = _checked(cost, success)
    return cost_per_success(float(costs.sum()), int(successes.sum()))


def _checked(cost: ArrayLike, success: ArrayLike) -> tuple[Floats, Floats]:
    costs, successes = pair(cost, success)
    if np.any(costs < 0) or not np.all(np.isin(successes, (0.0, 1.0))):
        raise ValueError("costs must not be below 0, and a success is 0 or 1")
    return costs, successes


def success_cost_interval(cost: ArrayLike, success: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Of repetitions in one cluster: log-delta with t on attempts less one; None without attempts.

    The variance of the rate is not let below q (1 - q) / n with q = (k + 1/2) / (n + 1), or an attempt that never
    failed would be certain.

    Args:
        cost: of each attempt; an unknown one is no number: leave the whole out.
        success: 0 or 1 for each attempt.
        confidence: of the interval.

    Raises:
        ValueError: the lengths differ, a cost is below 0, or a success is neither 0 nor 1.
    """
    costs, successes = _checked(cost, success)
    return _from(moments(costs, successes), float(successes.sum()), costs.size, confidence)


def macro_success_cost_interval(
    cost: ArrayLike, success: ArrayLike, labels: Labels, confidence: float = 0.95
) -> Interval | None:
    """Of attempts in clusters that weigh the same: log-delta on the clusters' means, t on clusters less one.

    The estimate is that of `success_cost` where clusters are equally large. With one cluster it is that of
    `success_cost_interval`, and speaks of this cluster alone. Without a success the lower limit counts clusters, not
    attempts: repetitions where nothing succeeds say nothing of other clusters.

    Args:
        cost: of each attempt.
        success: 0 or 1 for each attempt.
        labels: the cluster of each attempt.
        confidence: of the interval.

    Raises:
        ValueError: as `success_cost_interval` says.
    """
    costs, successes = _checked(cost, success)
    paid, won = clustered(costs, labels), clustered(successes, labels)
    if paid.sizes.size == 1:
        return success_cost_interval(costs, successes, confidence)
    return _from(moments(paid.means, won.means), float(successes.sum()), costs.size, confidence)


def _from(of: Moments | None, successes: float, attempts: int, confidence: float) -> Interval | None:
    if of is None:
        return None
    if of.y == 0:
        return _infinite(of, confidence)
    floor = rate_variance_floor(successes, attempts)
    # One unit has no variance of costs either, and NaN must stay NaN.
    found = log_delta(replace(of, var_y=max(of.var_y, floor) if of.n > 1 else math.nan), confidence)
    return None if found is None else replace(found, method=f"{found.method}, floor")


def rate_variance_floor(successes: float, n: int) -> float:
    """The least variance that a rate of n trials is taken to have, also where all are alike."""
    rate = (successes + 0.5) / (n + 1)
    return rate * (1 - rate) / n


def _infinite(of: Moments, confidence: float) -> Interval:
    """Mean cost over the one-sided upper limit of a rate of which nothing was seen; costs are taken as known."""
    most = zero_events_upper(of.n, confidence)
    low = None if most is None or of.x == 0 else of.x / most
    return Interval(None, low, None, "one-sided, no success", of.n, confidence, "infinite")
