"""Agreement on categories beyond chance: two raters (Cohen), with weights for how far apart, and many (Fleiss).

Kappa falls where one category is rare, however well raters agree: show raw agreement and prevalence beside it.
"""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, rows

_NOISE: Final = 1e-12


def cross_table(first: Sequence[Hashable], second: Sequence[Hashable], levels: Sequence[Hashable]) -> Floats:
    """How often each pair of ratings stands together: shape (levels, levels), rows of `first`, in the order of levels.

    Raises:
        ValueError: the lengths differ, or a rating is no level.
    """
    if len(first) != len(second):
        raise ValueError(f"there are {len(first)} and {len(second)} ratings; give pairs")
    places = {level: place for place, level in enumerate(levels)}
    unknown = {*first, *second} - places.keys()
    if unknown:
        raise ValueError(f"not among the levels: {', '.join(sorted(map(str, unknown)))}")
    found = np.zeros((len(places), len(places)))
    np.add.at(found, ([places[one] for one in first], [places[one] for one in second]), 1.0)
    return found


def raw_agreement(table: ArrayLike) -> float | None:
    """Share of the pairs that agree; None without pairs."""
    counts = _square(table)
    total = counts.sum()
    return float(np.trace(counts) / total) if total > 0 else None


def prevalence(table: ArrayLike) -> Floats | None:
    """Share of each category among the ratings of both raters; None without pairs."""
    counts = _square(table)
    total = counts.sum()
    return np.asarray((counts.sum(axis=0) + counts.sum(axis=1)) / (2 * total)) if total > 0 else None


def cohen_kappa(table: ArrayLike) -> float | None:
    """(agreement - chance) / (1 - chance), chance from the margins; None without pairs or with one category alone.

    Source: Cohen 1960, Educational and Psychological Measurement 20:37.

    Args:
        table: counts or shares, shape (categories, categories).

    Raises:
        ValueError: not square, or a count below 0.
    """
    return weighted_kappa(table, 1.0 - np.eye(_square(table).shape[0]))


def weighted_kappa(table: ArrayLike, disagreement: ArrayLike) -> float | None:
    """1 - (weighed disagreement) / (that by chance); None where chance has none. Source: Cohen 1968.

    Args:
        table: counts or shares, shape (categories, categories).
        disagreement: same shape, 0 in the diagonal; `linear` and `quadratic` make the usual ones.

    Raises:
        ValueError: the shapes differ, not square, or a number below 0.
    """
    counts, weights = _square(table), _square(disagreement)
    if counts.shape != weights.shape:
        raise ValueError(f"table and disagreement must have one shape, not {counts.shape} and {weights.shape}")
    total = counts.sum()
    chance = float((np.outer(counts.sum(axis=1), counts.sum(axis=0)) * weights).sum())
    if chance <= _NOISE * total * total:
        return None
    return 1 - float((counts * weights).sum() * total) / chance


def linear(levels: int) -> Floats:
    """Disagreement of ordered categories: how many steps apart."""
    steps = np.arange(levels, dtype=np.float64)
    return np.abs(steps[:, None] - steps)


def quadratic(levels: int) -> Floats:
    """Disagreement of ordered categories: squared steps."""
    return linear(levels) ** 2


def fleiss_kappa(table: ArrayLike) -> float | None:
    """Of many raters, not the same ones for each unit; None without units or where all ratings are equal.

    Source: Fleiss 1971, Psychological Bulletin 76:378.

    Args:
        table: how many raters chose each category, shape (units, categories); every row sums to the same.

    Raises:
        ValueError: rows of unlike sums or of fewer than two ratings, or a count below 0.
    """
    counts = rows(table, "table")
    if not counts.size:
        return None
    sums = counts.sum(axis=1)
    if np.any(counts < 0) or sums[0] < 2 or np.any(sums != sums[0]):  # noqa: PLR2004 agreement takes two
        raise ValueError("every unit must have the same number of ratings, two or more")
    raters = float(sums[0])
    agreed = float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean())
    shares = counts.sum(axis=0) / counts.sum()
    chance = float(shares @ shares)
    return (agreed - chance) / (1 - chance) if chance < 1 - _NOISE else None


def _square(table: ArrayLike) -> Floats:
    found = np.asarray(table, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not np.all(found >= 0):  # noqa: PLR2004 a table
        raise ValueError("a table must be square, and none of its numbers below 0")
    return found
