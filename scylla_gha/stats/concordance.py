"""Kendall's W: how far many raters put the same units in the same order."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.raters import rated

_TWO: Final = 2


def average_ranks(values: ArrayLike) -> Floats:
    """Ranks from 1 along the first dimension; those who tie share the mean of their ranks.

    Raises:
        ValueError: a value is NaN.
    """
    x = np.asarray(values, dtype=np.float64)
    if np.isnan(x).any():
        raise ValueError("ranks of NaN are not defined; leave out what is unknown")
    ordered = np.sort(x, axis=0)
    flat, table = ordered.reshape(len(x), -1), x.reshape(len(x), -1)
    pairs = zip(flat.T, table.T, strict=True)
    bounds = [(np.searchsorted(o, t, "left"), np.searchsorted(o, t, "right")) for o, t in pairs]
    columns = [(low + high + 1) / 2 for low, high in bounds]
    return np.asarray(columns).T.reshape(x.shape)


def kendall_w(ratings: ArrayLike) -> float | None:
    """W in [0, 1], corrected for ties, of the units that all raters rated.

    12 S / (m^2 (n^3 - n) - m T), S the sum of squares of the rank sums, T of t^3 - t over all ties. None with fewer
    than two such units or two raters, or where no rater puts any unit before another. Source: Kendall & Babington Smith
    1939; Siegel & Castellan 1988.

    Args:
        ratings: shape (units, raters), NaN where one is missing.

    Raises:
        ValueError: other than two dimensions, or an infinite rating.
    """
    table = rated(ratings)
    table = table[~np.isnan(table).any(axis=1)]
    n, m = table.shape
    if n < _TWO or m < _TWO:
        return None
    ranks = average_ranks(table)
    sums = ranks.sum(axis=1)
    spread = float(((sums - sums.mean()) ** 2).sum())
    ties = sum(_ties(column) for column in table.T)
    most = m * m * (n**3 - n) - m * ties
    return 12 * spread / most if most > 0 else None


def _ties(column: Floats) -> int:
    _, counts = np.unique(column, return_counts=True)
    return int((counts.astype(np.int64) ** 3 - counts).sum())
