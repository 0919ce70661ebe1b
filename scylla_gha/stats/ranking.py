"""How firm an order of candidates is when the units that they were measured on are drawn again."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, on_grid, pair
from scylla_gha.stats.resampling import USUAL, Resampling, multinomial_weights


def resampled_means(values: ArrayLike, how: Resampling = USUAL) -> tuple[Floats, Floats]:
    """Each candidate's mean over its units, and that of every resample of the units, drawn alike for all candidates.

    Args:
        values: shape (candidates, units); NaN where a candidate has no value on a unit.
        how: draws and seed.

    Returns:
        Shapes (candidates,) and (candidates, draws); NaN where there is nothing to take a mean of.

    Raises:
        ValueError: other than two dimensions, or an infinite value.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():  # noqa: PLR2004 candidates and units
        raise ValueError("values must have two dimensions (candidates, units) and no infinity")
    known = ~np.isnan(table)
    units = table.shape[1]
    if not units:
        return np.full(table.shape[0], np.nan), np.full((table.shape[0], how.draws), np.nan)
    sums = on_grid(np.where(known, table, 0.0), units)  # exact sums: equal means are equal, on any machine
    weights = multinomial_weights(units, how.draws, how.seed)
    plain = _over(sums.sum(axis=1), known.sum(axis=1).astype(np.float64))
    return plain, _over(sums @ weights, known.astype(np.float64) @ weights)


def _over(sums: Floats, counts: Floats) -> Floats:
    return np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan)


def best_share(values: ArrayLike, how: Resampling = USUAL) -> Floats:
    """In which share of the resamples each candidate has the highest mean; those who tie share it. Shape (candidates,).

    Args:
        values: shape (candidates, units), more is better (negate a cost).
        how: draws and seed.

    Returns:
        NaN for a candidate without a value; the others sum to 1.
    """
    plain, drawn = resampled_means(values, how)
    if not plain.size:
        return plain
    high = np.where(np.isnan(drawn), -np.inf, drawn)
    top = (high == high.max(axis=0)) & ~np.isnan(drawn)
    holders = top.sum(axis=0)
    share = (top / np.maximum(holders, 1)).sum(axis=1) / max(int((holders > 0).sum()), 1)
    return np.where(np.isnan(plain), np.nan, share)


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float | None:
    """Tau-b of two orders of the same candidates: 1 alike, -1 turned round; None where one has no order at all.

    Raises:
        ValueError: the lengths differ, or a value is NaN or infinite.
    """
    first, second = pair(x, y)
    found = float(_tau(first, second[:, None])[0])
    return None if np.isnan(found) else found


def _tau(one: Floats, others: Floats) -> Floats:
    """Tau-b of one order (n,) with each column of others (n, m); NaN where either has no order."""
    low, high = np.triu_indices(one.size, 1)
    signs = np.sign(one[low] - one[high])
    other = np.sign(others[low] - others[high])
    pairs = float(signs @ signs) * (other * other).sum(axis=0)
    return np.where(pairs > 0, (signs @ other) / np.sqrt(np.where(pairs > 0, pairs, 1.0)), np.nan)


@dataclass(frozen=True, slots=True)
class Stability:
    """Tau-b between the order as measured and those of the resamples: the mean, and its 5 % quantile."""

    mean: float
    low: float
    candidates: int


def rank_stability(values: ArrayLike, how: Resampling = USUAL) -> Stability | None:
    """Whether the order of the candidates would be the same on other units like these.

    Args:
        values: shape (candidates, units); a candidate that lacks a unit is measured on those that it has, and one that
            a resample leaves without any takes that resample out.
        how: draws and seed.

    Returns:
        None with fewer than two candidates with values, or where all means are equal.
    """
    plain, drawn = resampled_means(values, how)
    known = ~np.isnan(plain)
    plain, drawn = plain[known], drawn[known]
    drawn = drawn[:, ~np.isnan(drawn).any(axis=0)]
    if plain.size < 2 or not drawn.shape[1]:  # noqa: PLR2004 an order takes two
        return None
    taus = np.concatenate([_tau(plain, drawn[:, at : at + 256]) for at in range(0, drawn.shape[1], 256)])
    if np.ptp(plain) == 0:
        return None
    taus = np.where(np.isnan(taus), 0.0, taus)  # a resample in which all are equal knows no order
    return Stability(float(taus.mean()), float(np.quantile(taus, 0.05)), plain.size)
