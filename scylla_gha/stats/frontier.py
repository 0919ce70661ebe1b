"""What a success costs at least, over all arms: strata pooled, or stratum by stratum. Two estimands: name them."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.bootstrap import resample
from scylla_gha.stats.interval import Interval, interval
from scylla_gha.stats.resampling import USUAL, Resampling


@dataclass(frozen=True, slots=True)
class Frontier:
    """The least cost; None where it is infinite, or where nothing is known."""

    cost: float | None
    best: tuple[int, ...]  # arms that have it, ties too; of the frontier per stratum, in at least one
    unsolved: int  # columns in which no arm succeeded, and no outside price stands in
    strata: int


def _checked(cost: ArrayLike, success: ArrayLike) -> tuple[Floats, Floats]:
    """Both of shape (arms, strata), NaN in the same places: an arm that did not try the stratum.

    Raises:
        ValueError: the shapes differ, a number is below 0 or infinite, or one is known without the other.
    """
    costs, successes = np.asarray(cost, dtype=np.float64), np.asarray(success, dtype=np.float64)
    if costs.ndim != 2 or costs.shape != successes.shape:  # noqa: PLR2004 arms and strata
        raise ValueError("cost and success must both have the shape (arms, strata)")
    if np.any(np.isnan(costs) != np.isnan(successes)):
        raise ValueError("cost and success must be known, or NaN, in the same places")
    if np.any(costs < 0) or np.any(successes < 0) or np.isinf(costs).any() or np.isinf(successes).any():
        raise ValueError("cost and success must be finite and not below 0")
    return costs, successes


def _price(costs: Floats, successes: Floats) -> Floats:
    """Cost over success: infinite without a success, NaN without an attempt."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(successes > 0, costs / successes, np.where(np.isnan(costs), np.nan, np.inf))


def pooled_frontier(cost: ArrayLike, success: ArrayLike, outside: float | None = None) -> Frontier:
    """The least over arms of total cost over total success.

    Args:
        cost: shape (arms, strata), sum (or mean, where all have the same repetitions) over the attempts; NaN: none.
        success: likewise.
        outside: what a success costs elsewhere, say done by a person; None: no such price.
    """
    costs, successes = _checked(cost, success)
    tried = ~np.isnan(costs).all(axis=1)
    price = np.where(tried, _price(np.nansum(costs, axis=1), np.nansum(successes, axis=1)), np.nan)
    least = float(np.min(price[tried], initial=math.inf))
    value = min(least, math.inf if outside is None else outside)
    best = _winners(price, value) if value == least and math.isfinite(least) else ()
    return Frontier(value if math.isfinite(value) else None, best, int(math.isinf(value) and tried.any()), 1)


def _winners(price: Floats, value: float) -> tuple[int, ...]:
    return tuple(int(arm) for arm in np.flatnonzero(price <= value * (1 + 1e-12)))


def strata_frontier(cost: ArrayLike, success: ArrayLike, outside: ArrayLike = math.inf) -> Frontier:
    """Mean over strata of the least over arms of cost over success.

    Infinite where a stratum has neither a success nor an outside price, and then `unsolved` counts these. Takes what
    `pooled_frontier` takes, but for `outside`: one price for each stratum, or one for all, infinite for none. A stratum
    that no arm tried is left out.
    """
    costs, successes = _checked(cost, success)
    tried = ~np.isnan(costs).all(axis=0)
    price = _price(costs, successes)[:, tried]
    if price.size == 0:
        return Frontier(None, (), 0, 0)
    least = np.nanmin(price, axis=0)
    value = np.minimum(least, np.broadcast_to(np.asarray(outside, dtype=np.float64), tried.shape)[tried])
    solved = np.isfinite(value)
    wins = (price <= least * (1 + 1e-12)) & np.isfinite(price) & (least <= value)
    mean = float(value.mean()) if solved.all() else None
    arms = tuple(int(arm) for arm in np.flatnonzero(wins.any(axis=1)))
    return Frontier(mean, arms, int((~solved).sum()), int(tried.sum()))


@dataclass(frozen=True, slots=True)
class ResampledFrontier:
    """The pooled frontier over resampled strata.

    `best` is how often each arm was the cheapest.
    """

    interval: Interval | None
    best: tuple[float, ...]


def resampled_frontier(cost: ArrayLike, success: ArrayLike, how: Resampling = USUAL) -> ResampledFrontier:
    """Percentile limits of the pooled frontier as a whole, the choice of the arm included; strata are resampled.

    Computed as success per cost, which is finite and ordered, and inverted at the end. Advised from 20 strata on.

    Args:
        cost: shape (arms, strata), all known and above 0.
        success: likewise; may be 0.
        how: resamples, seed, confidence, threads.
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
    tail = (1 - how.confidence) / 2
    low, high = (float(q) for q in np.quantile(top, [tail, 1 - tail]))
    limits = (1 / high if high > 0 else math.inf, 1 / low if low > 0 else math.inf)
    found = interval(least, limits, "percentile of the resampled best", strata, how.confidence)
    return ResampledFrontier(found, _shares(share))


def _shares(winners: Bools) -> tuple[float, ...]:
    """Ties are shared out."""
    return tuple(float(share) for share in (winners / winners.sum(axis=0)).mean(axis=1))
