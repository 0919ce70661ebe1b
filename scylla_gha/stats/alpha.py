"""Krippendorff's alpha: how far raters agree beyond chance, with ratings missing.

1 is perfect, 0 is chance; .80 and above is called firm, .667 to .80 tentative (Krippendorff 2004). Ratings have shape
(units, raters), NaN where one is missing; a unit with fewer than two ratings tells nothing and is left out.
Raters of one family are not independent: that they agree does not show that they are right.
"""

from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Bools, Floats, flat, on_grid
from scylla_gha.stats.raters import rated
from scylla_gha.stats.resampling import USUAL, Resampling, multinomial_weights

Level = Literal["nominal", "ordinal", "interval", "ratio"]
_PAIR: Final = 2
_NOISE: Final = 1e-12  # of the sum of squares: no difference but that of rounding


def alpha(ratings: ArrayLike, level: Level = "interval") -> float | None:
    """Alpha; None where no unit has two ratings, or where all ratings are equal: chance agreement is then perfect too.

    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability. For `interval` in closed form, linear in
    time and memory.

    Raises:
        ValueError: other than two dimensions, an infinite rating, an unknown level, or on the ratio level one below 0.
    """
    if level not in get_args(Level):
        raise ValueError(f"level {level!r} is none of {', '.join(get_args(Level))}")
    table = _paired(ratings)
    if level == "ratio" and np.nanmin(table, initial=0.0) < 0:
        raise ValueError("the ratio level takes ratings that are not below 0")
    if flat(table.ravel()):
        return None
    return _interval(_moments(table).sum(axis=0)) if level == "interval" else _by_value(table, level)


def alpha_limits(ratings: ArrayLike, clusters: ArrayLike, how: Resampling = USUAL) -> tuple[float, float] | None:
    """Percentile limits of interval alpha, by drawing whole clusters of units again (good from some 20 clusters on).

    Args:
        ratings: shape (units, raters), NaN where missing.
        clusters: one label per unit.
        how: draws, seed and confidence.

    Returns:
        None with fewer than two clusters that have a unit with two ratings, or where alpha is None.

    Raises:
        ValueError: not one label per unit, or as `alpha`.
    """
    table, labels = rated(ratings), np.asarray(clusters)
    if labels.shape != table.shape[:1]:
        raise ValueError(f"there are {table.shape[0]} units and {labels.size} labels; give one label per unit")
    kept = _enough(table)
    if flat(table[kept].ravel()):
        return None
    moments = _moments(table[kept])
    unique, places = np.unique(labels[kept], return_inverse=True)
    if unique.size < _PAIR:
        return None
    sums = np.stack(
        [np.bincount(places, weights=column, minlength=unique.size) for column in moments.T], dtype=np.float64
    )
    found = _alphas(on_grid(sums, unique.size) @ multinomial_weights(unique.size, how.draws, how.seed))
    found = found[~np.isnan(found)]  # a resample in which all is equal has no alpha
    if not found.size:
        return None
    tail = (1 - how.confidence) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return float(low), float(high)


def _enough(table: Floats) -> Bools:
    return np.asarray((~np.isnan(table)).sum(axis=1) >= _PAIR)


def _paired(ratings: ArrayLike) -> Floats:
    table = rated(ratings)
    return table[_enough(table)]


def _moments(table: Floats) -> Floats:
    """Of each unit: ratings, their sum, their sum of squares, and 2 m SS / (m - 1) within; around the common mean."""
    known = ~np.isnan(table)
    centred = np.where(known, table - (np.nanmean(table) if table.size else 0.0), 0.0)
    m = known.sum(axis=1)
    sums = centred.sum(axis=1)
    offsets = np.where(known, centred - (sums / m)[:, None], 0.0)
    within = 2 * m * (offsets * offsets).sum(axis=1) / (m - 1)
    return np.stack([m.astype(np.float64), sums, (centred * centred).sum(axis=1), within], axis=1)


def _interval(total: Floats) -> float | None:
    found = float(_alphas(total[:, None])[0])
    return None if np.isnan(found) else found


def _alphas(totals: Floats) -> Floats:
    """1 - Do / De from columns of summed moments; NaN where nothing varies."""
    n, sums, squares, within = totals
    size = np.maximum(n, 1.0)
    spread = squares - sums * sums / size
    varies = spread > _NOISE * squares
    expected = np.where(varies, 2 * spread / np.maximum(size - 1, 1.0), 1.0)
    return np.where(varies, 1 - within / size / expected, np.nan)


def _by_value(table: Floats, level: Level) -> float:
    """By coincidences of values: for a scale with few of them."""
    values = np.unique(table[~np.isnan(table)])
    counts = (table[:, :, None] == values).sum(axis=1).astype(np.float64)
    weighed = counts / (counts.sum(axis=1, keepdims=True) - 1)
    together = counts.T @ weighed - np.diag(weighed.sum(axis=0))
    margin = counts.sum(axis=0)
    apart = _ratios(values) if level == "ratio" else _apart(margin, level)
    expected = float((np.outer(margin, margin) * apart).sum()) / (margin.sum() - 1)
    return float(1 - (together * apart).sum() / expected)


def _apart(margin: Floats, level: Level) -> Floats:
    """Squared distance between values: 1 where they differ, or by how many ratings lie between."""
    if level == "nominal":
        return 1.0 - np.eye(margin.size)
    middle = np.cumsum(margin) - margin / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


def _ratios(values: Floats) -> Floats:
    """Squared difference of two values over their sum."""
    total = values[:, None] + values[None, :]
    return np.asarray(((values[:, None] - values[None, :]) / np.where(total > 0, total, 1.0)) ** 2)
