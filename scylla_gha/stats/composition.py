"""Parts of a whole, and success bought with a budget."""

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, pair, rows, vector


def shares(parts: ArrayLike) -> Floats | None:
    """Of disjoint parts, each part's share of all: the ratio of the sums, not the mean of ratios; None where all are 0.

    Args:
        parts: shape (parts,) or (units, parts), none below 0.

    Returns:
        Shape (parts,), summing to 1.

    Raises:
        ValueError: a part below 0, or not known (leave such a unit out and count it).
    """
    table = rows(parts, "parts")
    if np.any(table < 0):
        raise ValueError("a part must not be below 0")
    sums = table.sum(axis=0)
    total = float(sums.sum())
    return sums / total if total > 0 else None


def budget_curve(cost: ArrayLike, success: ArrayLike, budgets: ArrayLike) -> Floats:
    """Share of all tries that succeed at no more than each budget: shape of `budgets`; NaN without tries.

    Args:
        cost: of each try, none below 0.
        success: 0 or 1 of each try.
        budgets: any order.

    Raises:
        ValueError: lengths that differ, a cost below 0, or a success that is neither 0 nor 1.
    """
    spent, limits = _won(cost, success), vector(budgets, "budgets")
    tries = np.size(success)
    if not tries:
        return np.full(limits.shape, np.nan)
    return np.searchsorted(np.sort(spent), limits, side="right") / tries


def budget_area(cost: ArrayLike, success: ArrayLike, limit: float) -> float | None:
    """Area under `budget_curve` from 0 to the limit, over the limit: in [0, 1]; None without tries.

    1 is success for nothing; a success that costs the limit or more adds nothing.

    Raises:
        ValueError: as for `budget_curve`, or a limit that is not above 0.
    """
    if not limit > 0:
        raise ValueError(f"the limit must be above 0, not {limit}")
    spent, tries = _won(cost, success), np.size(success)
    return float(np.maximum(0.0, 1 - spent / limit).sum()) / tries if tries else None


def _won(cost: ArrayLike, success: ArrayLike) -> Floats:
    """What the successful tries cost."""
    paid, won = pair(cost, success)
    if np.any(paid < 0) or not np.isin(won, (0.0, 1.0)).all():
        raise ValueError("a cost must not be below 0, and a success must be 0 or 1")
    return np.asarray(paid[won == 1])
