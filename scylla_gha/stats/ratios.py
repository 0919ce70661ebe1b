"""Intervals of ratios, of positive means and of the cost of a success; the cheapest success, and the Pareto set.

Cost of a success: mean cost of an attempt over the success rate, which includes the cost of failures. Without a success
it is infinite. Failures often cost more, so costs and successes are analysed together, never as independent.
Source: Erol et al. 2025, arXiv:2504.13359.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats import Interval, make_interval
from scylla_gha.stats.arrays import Bools, Floats, is_constant, pair, vector
from scylla_gha.stats.means import Labels, clustered, t_quantile
from scylla_gha.stats.resampling import DEFAULT_RESAMPLING, TAIL, Resampling, resample

_NO_SPREAD: Final = 1e-7  # about the square root of a double's rounding error
_FEWEST: Final = 2
_TIE = 1 + 1e-12  # costs within rounding are equal


def ratio_interval(x: ArrayLike, y: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of sum(x) / sum(y), over the same units, by Student's t (df: units - 1).

    Status `point`: one unit, sum(x) = 0, or no spread. None: no units, or sum(y) = 0.

    Raises:
        ValueError: the lengths differ, or a mean is below 0.
    """
    return _delta_interval(*pair(x, y), "log-delta with t")


def fieller_interval(x: ArrayLike, y: ArrayLike) -> Interval | None:
    """Compute mean(x) / mean(y) of paired values, and its 95 % interval by Fieller's theorem with t.

    None unless the interval is bounded: mean(y) must differ from 0 at the 5 % level. Values may be below 0.

    Raises:
        ValueError: the lengths differ.
    """
    top, bottom = pair(x, y)
    n = top.size
    if n < _FEWEST or not bottom.mean():
        return None
    t, mean = t_quantile(n - 1), float(bottom.mean())
    a, b, scale = top - top.mean(), bottom - bottom.mean(), 1 / (n * (n - 1))
    var_x, var_y, cov = scale * float(a @ a), scale * float(b @ b), scale * float(a @ b)
    ratio, g = float(top.mean()) / mean, t**2 * var_y / mean**2
    if g >= 1:
        return None
    of_x = var_x - (cov**2 / var_y if var_y > 0 else 0.0)  # the part of the variance that y does not explain
    spread = var_x - 2 * ratio * cov + ratio**2 * var_y - g * of_x
    half = t / abs(mean) * math.sqrt(spread) if spread > _NO_SPREAD**2 else math.nan
    centre = ratio - (g * cov / var_y if var_y > 0 else 0.0)
    return make_interval(ratio, ((centre - half) / (1 - g), (centre + half) / (1 - g)), "Fieller with t", n)


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

    The upper limit is infinite if it overflows, as with almost no successes.
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

    The variance of the rate is at least q (1 - q) / n with q = (k + 1/2) / (n + 1), since attempts without a failure do
    not prove that none can fail. Without a success the status is `infinite`, with a one-sided lower limit.

    Args:
        cost: cost of each attempt; all must be known.
        success: 0 or 1 for each attempt.

    Raises:
        ValueError: the lengths differ, a cost is below 0, or a success is neither 0 nor 1.
    """
    costs, successes = _attempts(cost, success)
    return _cost_interval(costs, successes, float(successes.sum()), costs.size)


def macro_success_cost_interval(cost: ArrayLike, success: ArrayLike, labels: Labels) -> Interval | None:
    """Compute the 95 % interval of the cost of a success over clusters of equal weight (df: clusters - 1).

    With one cluster it is `success_cost_interval`, which is about this cluster alone. Without a success the lower limit
    counts clusters, not attempts: repetitions without a success say nothing about other clusters.

    Args:
        cost: cost of each attempt.
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
        """Variance to add to the logarithm's, so that the rate has at least its assumed variance."""
        seen = float(self.rate.var(ddof=1)) / self.rate.size if self.rate.size > 1 else 0.0
        missing = max(0.0, _rate_variance_floor(self.successes, self.attempts) - seen)
        return missing / float(self.rate.mean()) ** 2


def success_cost_ratio(first: Attempts, second: Attempts, confidence: float = 0.95) -> Interval | None:
    """Compute the ratio of two arms' costs of a success, paired by unit, by Student's t (df: units - 1).

    A unit that is expensive for both arms cancels out. A `point` with one unit, or without spread; None if an arm has
    no finite cost of a success, or is free.
    """
    if not first.cost.size or first.cost_of_success is None or second.cost_of_success is None:
        return None
    estimate, n = first.cost_of_success / second.cost_of_success, first.cost.size
    limits = (math.nan, math.nan)
    if n >= _FEWEST:
        difference = first.influence - second.influence
        variance = float(difference.var(ddof=1)) / n + first.missing_variance + second.missing_variance
        limits = _log_limits(estimate, variance, n, confidence)
    return make_interval(estimate, limits, "log-delta with t on scenario means, paired, floor", n)


@dataclass(frozen=True, slots=True)
class PooledFrontier:
    """Lowest ratio of total cost to total successes among the arms, and all arms that reach it.

    The cost is None if it is infinite, or if nothing is known.
    """

    cost: float | None
    best: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StrataFrontier:
    """Mean over strata of the least cost of a success; None if a stratum is unsolved, or without strata.

    `unsolved` is the number of strata without a success and without an outside price, `strata` the number of strata
    that an arm tried.
    """

    cost: float | None
    unsolved: int
    strata: int


def _checked(cost: ArrayLike, success: ArrayLike) -> tuple[Floats, Floats]:
    """Validate both as arrays of shape (arms, strata); NaN in both marks strata that an arm did not try."""
    costs, successes = np.asarray(cost, dtype=np.float64), np.asarray(success, dtype=np.float64)
    if costs.ndim != 2 or costs.shape != successes.shape:  # noqa: PLR2004 arms and strata
        raise ValueError("cost and success must both have the shape (arms, strata)")
    if np.any(np.isnan(costs) != np.isnan(successes)):
        raise ValueError("cost and success must be known, or NaN, in the same places")
    if np.any(costs < 0) or np.any(successes < 0) or np.isinf(costs).any() or np.isinf(successes).any():
        raise ValueError("cost and success must be finite and not below 0")
    return costs, successes


def _price(costs: Floats, successes: Floats) -> Floats:
    """Divide cost by success: infinite without a success, NaN without an attempt."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(successes > 0, costs / successes, np.where(np.isnan(costs), np.nan, np.inf))


def pooled_frontier(cost: ArrayLike, success: ArrayLike) -> PooledFrontier:
    """Find the arms with the lowest ratio of total cost to total successes.

    Args:
        cost: shape (arms, strata), sum (or mean, if all have the same repetitions) over the attempts; NaN: no attempt.
        success: likewise.

    Raises:
        ValueError: the shapes differ, a number is below 0 or infinite, or one is known without the other.
    """
    costs, successes = _checked(cost, success)
    tried = ~np.isnan(costs).all(axis=1)
    price = np.where(tried, _price(np.nansum(costs, axis=1), np.nansum(successes, axis=1)), np.nan)
    least = float(np.min(price[tried], initial=math.inf))
    if not math.isfinite(least):
        return PooledFrontier(None, ())
    return PooledFrontier(least, tuple(int(arm) for arm in np.flatnonzero(price <= least * _TIE)))


def strata_frontier(cost: ArrayLike, success: ArrayLike, outside: ArrayLike = math.inf) -> StrataFrontier:
    """Average the lowest cost of a success in each stratum; skip strata that no arm tried.

    Args:
        cost: shape (arms, strata), as `pooled_frontier`.
        success: likewise.
        outside: cost of a success elsewhere, such as by a person: a price for each stratum, or one for all strata;
            infinite: there is no price.

    Raises:
        ValueError: as `pooled_frontier`.
    """
    costs, successes = _checked(cost, success)
    tried = ~np.isnan(costs).all(axis=0)
    price = _price(costs, successes)[:, tried]
    if price.size == 0:
        return StrataFrontier(None, 0, 0)
    least = np.nanmin(price, axis=0)
    value = np.minimum(least, np.broadcast_to(np.asarray(outside, dtype=np.float64), tried.shape)[tried])
    solved = np.isfinite(value)
    return StrataFrontier(float(value.mean()) if solved.all() else None, int((~solved).sum()), int(tried.sum()))


@dataclass(frozen=True, slots=True)
class ResampledFrontier:
    """The pooled frontier over resampled strata; `best` is the share of resamples in which each arm was cheapest."""

    interval: Interval | None
    best: tuple[float, ...]


def resampled_frontier(cost: ArrayLike, success: ArrayLike, how: Resampling = DEFAULT_RESAMPLING) -> ResampledFrontier:
    """Compute 95 % percentile limits of the pooled frontier; each resample of strata picks its own best arm.

    Computed as success per cost, which is finite and ordered, and inverted at the end. Use at least 20 strata.

    Args:
        cost: shape (arms, strata), all known and above 0.
        success: likewise; may be 0.
        how: draws and seed.

    Raises:
        ValueError: a cost is unknown or not above 0.
    """
    costs, successes = _checked(cost, success)
    if not np.all(costs > 0):
        raise ValueError("each arm must have tried each stratum, at a cost above 0")
    strata = costs.shape[1] if costs.size else 0
    if strata == 0:
        return ResampledFrontier(None, ())
    drawn = resample(successes, how) / resample(costs, how)
    top = drawn.max(axis=0)
    share = drawn == top
    least = pooled_frontier(costs, successes).cost
    if least is None or strata == 1:
        return ResampledFrontier(None, _shares(share))
    low, high = (float(q) for q in np.quantile(top, [TAIL, 1 - TAIL]))
    limits = (1 / high if high > 0 else math.inf, 1 / low if low > 0 else math.inf)
    interval = make_interval(least, limits, "percentile of the resampled best", strata)
    return ResampledFrontier(interval, _shares(share))


def _shares(winners: Bools) -> tuple[float, ...]:
    """Average over resamples; arms that tie share the win."""
    return tuple(float(share) for share in (winners / winners.sum(axis=0)).mean(axis=1))


def pareto_set(gain: ArrayLike, price: ArrayLike) -> Bools:
    """Mark the candidates that no other dominates (as good in both values, better in one); equal ones are all marked.

    Args:
        gain: more is better; shape (candidates,).
        price: less is better; same shape.

    Returns:
        Same shape; False if either is NaN (unknown), and such a candidate dominates none.
    """
    up, down = np.asarray(gain, dtype=np.float64), np.asarray(price, dtype=np.float64)
    members = ~(np.isnan(up) | np.isnan(down))
    for at in range(up.size):
        no_worse = (up >= up[at]) & (down <= down[at])
        better = (up > up[at]) | (down < down[at])
        members[at] &= not np.any(no_worse & better)
    return members
