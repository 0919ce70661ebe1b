"""Agreement of raters beyond chance: Krippendorff's alpha, intraclass correlation, weighted kappa, and bias.

Ratings have shape (units, raters), NaN if one is missing. Raters of one family are not independent: their agreement
does not show that they are right.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, is_constant, on_grid, table_of
from scylla_gha.stats.resampling import DEFAULT_RESAMPLING, TAIL, Resampling, multinomial_weights

_TWO: Final = 2
_NOISE: Final = 1e-12  # of the sum of squares: rounding


def alpha(ratings: ArrayLike) -> float | None:
    """Compute Krippendorff's alpha for interval data: 1 is perfect, 0 chance; reliable from .80, tentative from .667.

    None if no unit has two ratings, or if all ratings are equal, so that chance agreement is perfect too.
    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability; in closed form.

    Raises:
        ValueError: other than two dimensions, or an infinite rating.
    """
    table = table_of(ratings, "ratings")
    table = table[_has_two(table)]
    if is_constant(table.ravel()):
        return None
    value = float(_alphas(_unit_moments(table).sum(axis=0)[:, None])[0])
    return None if np.isnan(value) else value


def alpha_limits(
    ratings: ArrayLike, clusters: ArrayLike, how: Resampling = DEFAULT_RESAMPLING
) -> tuple[float, float] | None:
    """Compute 95 % percentile limits of alpha, by resampling whole clusters of units (good from some 20 clusters on).

    None with fewer than two clusters that have a unit with two ratings, or if alpha is None.

    Args:
        ratings: shape (units, raters), NaN if missing.
        clusters: one label per unit.
        how: draws and seed.

    Raises:
        ValueError: not one label per unit, or ratings that `alpha` refuses.
    """
    table, labels = table_of(ratings, "ratings"), np.asarray(clusters)
    if labels.shape != table.shape[:1]:
        raise ValueError(f"there are {table.shape[0]} units and {labels.size} labels; give one label per unit")
    usable = _has_two(table)
    if is_constant(table[usable].ravel()):
        return None
    moments = _unit_moments(table[usable])
    unique, index = np.unique(labels[usable], return_inverse=True)
    if unique.size < _TWO:
        return None
    sums = np.stack(
        [np.bincount(index, weights=column, minlength=unique.size) for column in moments.T], dtype=np.float64
    )
    drawn = _alphas(on_grid(sums, unique.size) @ multinomial_weights(unique.size, how))
    drawn = drawn[~np.isnan(drawn)]  # a resample in which all is equal has no alpha
    if not drawn.size:
        return None
    low, high = np.quantile(drawn, [TAIL, 1 - TAIL])
    return float(low), float(high)


def _has_two(table: Floats) -> np.ndarray:
    return np.asarray((~np.isnan(table)).sum(axis=1) >= _TWO)


def _unit_moments(table: Floats) -> Floats:
    """Return number, sum and sum of squares of each unit's ratings, and 2 m SS / (m - 1), around the common mean."""
    known = ~np.isnan(table)
    centred = np.where(known, table - (np.nanmean(table) if table.size else 0.0), 0.0)
    m = known.sum(axis=1)
    sums = centred.sum(axis=1)
    offsets = np.where(known, centred - (sums / m)[:, None], 0.0)
    within = 2 * m * (offsets * offsets).sum(axis=1) / (m - 1)
    return np.stack([m.astype(np.float64), sums, (centred * centred).sum(axis=1), within], axis=1)


def _alphas(totals: Floats) -> Floats:
    """Compute 1 - Do / De from columns of summed moments; NaN if nothing varies."""
    n, sums, squares, within = totals
    size = np.maximum(n, 1.0)
    spread = squares - sums * sums / size
    varies = spread > _NOISE * squares
    expected = np.where(varies, 2 * spread / np.maximum(size - 1, 1.0), 1.0)
    return np.where(varies, 1 - within / size / expected, np.nan)


@dataclass(frozen=True, slots=True)
class Icc:
    """Intraclass correlations of absolute agreement, for one rater (ICC2) and for the mean of all raters (ICC2k)."""

    single: float | None
    panel: float | None


def icc(ratings: ArrayLike) -> Icc | None:
    """Compute ICC(2, 1) and ICC(2, k) of the units that all raters rated; below 0 is noise.

    None with fewer than two such units or two raters, or if all ratings are equal. Source: Shrout & Fleiss 1979,
    Psychological Bulletin 86:420.

    Raises:
        ValueError: other than two dimensions, or an infinite rating.
    """
    table = table_of(ratings, "ratings")
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if n < _TWO or k < _TWO or np.ptp(table) == 0:
        return None
    centred = table - table.mean()
    rows, columns = centred.mean(axis=1), centred.mean(axis=0)
    between = k * float(rows @ rows) / (n - 1)
    raters = n * float(columns @ columns) / (k - 1)
    rest = float(((centred - rows[:, None] - columns) ** 2).sum()) / ((n - 1) * (k - 1))
    shift = (raters - rest) / n
    single, panel = between + (k - 1) * rest + k * shift, between + shift
    return Icc((between - rest) / single if single > 0 else None, (between - rest) / panel if panel > 0 else None)


def quadratic_kappa(first: ArrayLike, second: ArrayLike, levels: int) -> float | None:
    """Compute Cohen's kappa of two raters' ordered categories 0..levels - 1, weighted by squared distance.

    None without pairs, or if chance has no disagreement. Source: Cohen 1968, Psychological Bulletin 70:213.
    """
    table = np.zeros((levels, levels))
    np.add.at(table, (np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)), 1.0)
    steps = np.arange(levels, dtype=np.float64)
    weights = np.abs(steps[:, None] - steps) ** 2
    total = table.sum()
    chance = float((np.outer(table.sum(axis=1), table.sum(axis=0)) * weights).sum())
    if chance <= _NOISE * total * total:
        return None
    return 1 - float((table * weights).sum() * total) / chance


@dataclass(frozen=True, slots=True)
class Bias:
    """First rating minus second: the mean, the standard deviation (None for one pair), and the number of pairs."""

    mean: float
    sd: float | None
    n: int


def bias(first: ArrayLike, second: ArrayLike) -> Bias | None:
    """Compare two raters on the units that both rated; None if there are none.

    Source: Bland & Altman 1986, Lancet 327:307.

    Raises:
        ValueError: the lengths differ.
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    difference = difference[~np.isnan(difference)]
    if not difference.size:
        return None
    sd = float(difference.std(ddof=1)) if difference.size > 1 else None
    return Bias(float(difference.mean()), sd, difference.size)
