"""Which candidates no other beats on both counts, and how sure that is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.ranking import resampled_means
from scylla_gha.stats.resampling import USUAL, Resampling


def pareto_set(gain: ArrayLike, price: ArrayLike) -> Bools:
    """The candidates that no other dominates: as good in both and better in one. Equal ones are in together.

    Args:
        gain: more is better; shape (candidates, ...).
        price: less is better; same shape. Every further place is a set of its own.

    Returns:
        Same shape; False where either is NaN (unknown), and such a candidate dominates none.

    Raises:
        ValueError: the shapes differ.
    """
    up, down = np.asarray(gain, dtype=np.float64), np.asarray(price, dtype=np.float64)
    if up.shape != down.shape or not up.ndim:
        raise ValueError(f"gain and price must have one shape of at least one dimension, not {up.shape}, {down.shape}")
    found = ~(np.isnan(up) | np.isnan(down))
    for one in range(up.shape[0]):
        no_worse = (up >= up[one]) & (down <= down[one])
        better = (up > up[one]) | (down < down[one])
        found[one] &= ~np.any(no_worse & better, axis=0)
    return found


@dataclass(frozen=True, slots=True)
class Pareto:
    """One place per candidate: whether it is in the set, and in which share of the resamples it is.

    The share is NaN, and `member` False, where the mean of one of both is unknown.
    """

    member: Bools
    share: Floats


def pareto_resampled(gain: ArrayLike, price: ArrayLike, how: Resampling = USUAL) -> Pareto:
    """The set by means over units, and how it holds when the units are drawn again, the same ones for all candidates.

    Args:
        gain: shape (candidates, units), more is better; NaN where a candidate has no value on a unit.
        price: same shape, less is better.
        how: draws and seed.

    Raises:
        ValueError: the shapes differ.
    """
    if np.shape(gain) != np.shape(price):
        raise ValueError(f"gain and price must have one shape, not {np.shape(gain)} and {np.shape(price)}")
    up, up_drawn = resampled_means(gain, how)
    down, down_drawn = resampled_means(price, how)
    share = pareto_set(up_drawn, down_drawn).mean(axis=1) if up.size else np.empty(0)
    unknown = np.isnan(up) | np.isnan(down)
    return Pareto(pareto_set(up, down), np.where(unknown, np.nan, share))
