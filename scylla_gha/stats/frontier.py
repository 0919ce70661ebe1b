"""Cheapest success over all arms (the frontier), for strata pooled or stratum by stratum; and the Pareto set.

Source: Erol et al. 2025, arXiv:2504.13359.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats import Interval, make_interval
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.resampling import TAIL, USUAL, Resampling, resample

_TIE = 1 + 1e-12  # costs within rounding are equal


@dataclass(frozen=True, slots=True)
class PooledFrontier:
    """The least of the arms' total cost over total success, and the arms that have it (ties too).

    The cost is None if it is infinite, or if nothing is known.
    """

    cost: float | None
    best: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StrataFrontier:
    """Mean over strata of the least cost of a success; None if a stratum is unsolved, or without strata.

    `unsolved`: strata without a success and without an outside price. `strata`: those that an arm tried.
    """

    cost: float | None
    unsolved: int
    strata: int


def _checked(cost: ArrayLike, success: ArrayLike) -> tuple[Floats, Floats]:
    """Return both, of shape (arms, strata), NaN in the same places: an arm that did not try the stratum."""
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
    """Find the least over arms of total cost over total success.

    Args:
        cost: shape (arms, strata), sum (or mean, if all have the same repetitions) over the attempts; NaN: none.
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
    """Average over strata the least over arms of cost over success; strata that no arm tried are ignored.

    Args:
        cost: shape (arms, strata), as `pooled_frontier`.
        success: likewise.
        outside: what a success costs elsewhere, say if a person does it: one price for each stratum, or one for all;
            infinite for no price.

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
    """The pooled frontier over resampled strata; `best` is how often each arm was the cheapest."""

    interval: Interval | None
    best: tuple[float, ...]


def resampled_frontier(cost: ArrayLike, success: ArrayLike, how: Resampling = USUAL) -> ResampledFrontier:
    """Compute 95 % percentile limits of the pooled frontier, the choice of the arm included, by resampling strata.

    Computed as success per cost, which is finite and ordered, and inverted at the end. Advised from 20 strata on.

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
