"""Raters of the same units on a continuous scale: reliability, bias, and whether they would decide alike.

Ratings have shape (units, raters), NaN where one is missing.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats

_TWO: Final = 2
_Z95: Final = 1.959963984540054  # the standard normal's 0.975 quantile


def rated(ratings: ArrayLike) -> Floats:
    """Ratings as an array of units and raters.

    Raises:
        ValueError: other than two dimensions, or an infinite rating.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != _TWO or np.isinf(table).any():
        raise ValueError("ratings must have two dimensions (units, raters) and no infinity")
    return table


@dataclass(frozen=True, slots=True)
class Icc:
    """Intraclass correlations, for one rater and (`k`) for the mean of all; below 0 is noise, None undefined.

    1: each unit has raters of its own. 2: a sample of raters, who may be biased (absolute agreement). 3: these raters
    alone, their bias left out (consistency).
    """

    icc1: float | None
    icc2: float | None
    icc3: float | None
    icc1k: float | None
    icc2k: float | None
    icc3k: float | None
    units: int


def icc(ratings: ArrayLike) -> Icc | None:
    """From two-way analysis of variance of the units that all raters rated.

    None with fewer than two such units or two raters, or where all ratings are equal. Source: Shrout & Fleiss 1979,
    Psychological Bulletin 86:420.

    Raises:
        ValueError: other than two dimensions, or an infinite rating.
    """
    table = rated(ratings)
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if n < _TWO or k < _TWO or np.ptp(table) == 0:
        return None
    centred = table - table.mean()
    rows, columns = centred.mean(axis=1), centred.mean(axis=0)
    between = k * float(rows @ rows) / (n - 1)
    raters = n * float(columns @ columns) / (k - 1)
    rest = float(((centred - rows[:, None] - columns) ** 2).sum()) / ((n - 1) * (k - 1))
    within = float(((centred - rows[:, None]) ** 2).sum()) / (n * (k - 1))
    shift = (raters - rest) / n
    return Icc(
        icc1=_over(between - within, between + (k - 1) * within),
        icc2=_over(between - rest, between + (k - 1) * rest + k * shift),
        icc3=_over(between - rest, between + (k - 1) * rest),
        icc1k=_over(between - within, between),
        icc2k=_over(between - rest, between + shift),
        icc3k=_over(between - rest, between),
        units=n,
    )


def _over(top: float, bottom: float) -> float | None:
    return top / bottom if bottom > 0 else None


@dataclass(frozen=True, slots=True)
class Bias:
    """Of pairs, first - second: the mean, the sd, and where 95 % of differences lie. With one pair the mean alone."""

    mean: float
    sd: float | None
    low: float | None
    high: float | None
    n: int


def bias(first: ArrayLike, second: ArrayLike) -> Bias | None:
    """Of the units that both rated; None where there is none. Source: Bland & Altman 1986, Lancet 327:307.

    Raises:
        ValueError: the lengths differ, or an infinite rating.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError(f"there are {one.size} and {other.size} ratings; give pairs")
    table = rated(np.stack([one, other], axis=1))
    apart = (table[:, 0] - table[:, 1])[~np.isnan(table).any(axis=1)]
    if not apart.size:
        return None
    mean = float(apart.mean())
    if apart.size == 1:
        return Bias(mean, None, None, None, 1)
    sd = float(apart.std(ddof=1))
    return Bias(mean, sd, mean - _Z95 * sd, mean + _Z95 * sd, apart.size)


def biases(ratings: ArrayLike) -> dict[tuple[int, int], Bias | None]:
    """`bias` of each pair of raters, by their columns."""
    table = rated(ratings)
    return {(a, b): bias(table[:, a], table[:, b]) for a, b in combinations(range(table.shape[1]), 2)}


def decisive_share(ratings: ArrayLike, threshold: float) -> float | None:
    """Share of units whose ratings lie on both sides of the threshold (lowest < threshold <= highest).

    There the rule that makes one of many ratings decides, and not the raters. Of units with two or more ratings; None
    where there is none. A rating is compared after rounding to 1e-9, as a score is.

    Raises:
        ValueError: other than two dimensions, an infinite rating, or a threshold that is NaN.
    """
    if math.isnan(threshold):
        raise ValueError("the threshold must be a number")
    table = np.round(rated(ratings), 9)
    table = table[(~np.isnan(table)).sum(axis=1) >= _TWO]
    if not table.size:
        return None
    below, above = np.nanmin(table, axis=1) < threshold, np.nanmax(table, axis=1) >= threshold
    return float((below & above).mean())
