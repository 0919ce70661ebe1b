"""Intervals of readiness scores: a bootstrap over files, since anchors of one file resemble each other.

Percentile limits are too short for few files, so their levels are those of Student's t (the expanded percentile limits
of Hesterberg 2015, The American Statistician 69:371). Scores without any spread get the limits of a share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from scylla_gha.stats.arrays import Floats, is_constant, on_grid
from scylla_gha.stats.means import rare_limits, t_quantile
from scylla_gha.stats.resampling import Resampling, multinomial_weights

_FEWEST: Final = 2  # files
_HALF: Final = 0.5
Scores = Sequence[tuple[str, float]]  # file and score of each anchor


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Mean and 95 % limits; limits are None if one file has all anchors."""

    mean: float
    low: float | None
    high: float | None


def interval(scores: Scores, how: Resampling) -> ScoreInterval:
    """Compute the mean of the anchors' scores and its limits.

    Args:
        scores: at least one.
        how: draws and seed.
    """
    mean = float(np.mean([score for _, score in scores]))
    clusters = sorted({file for file, _ in scores})
    if len(clusters) < _FEWEST:
        return ScoreInterval(mean, None, None)
    values = np.array([score for _, score in scores])
    if is_constant(values):
        low, high = _limits_without_spread(mean, len(clusters))
        return ScoreInterval(mean, low, high)
    low, high = _percentiles(_resampled_means(scores, clusters, how), len(clusters))
    return ScoreInterval(mean, min(low, mean), min(1.0, max(high, mean)))


def interval_of_mean(groups: Mapping[str, Scores], how: Resampling) -> ScoreInterval:
    """Compute the mean of the groups' means and its limits; files are resampled for all groups together.

    The limits of a group without any spread are added as independent.

    Args:
        groups: scores by group, one at least in each.
        how: draws and seed.
    """
    parts = {name: interval(scores, how) for name, scores in groups.items()}
    mean = float(np.mean([part.mean for part in parts.values()]))
    clusters = sorted({file for scores in groups.values() for file, _ in scores})
    if len(clusters) < _FEWEST or any(part.low is None for part in parts.values()):
        return ScoreInterval(mean, None, None)
    flat = {name for name, scores in groups.items() if is_constant(np.array([score for _, score in scores]))}
    means = [np.full(how.draws, parts[name].mean) if name in flat else _resampled_means(scores, clusters, how)
             for name, scores in groups.items()]  # fmt: skip
    low, high = _percentiles(np.mean(means, axis=0), len(clusters))
    below = sum(((part.mean - (part.low or 0.0)) / len(parts)) ** 2 for name, part in parts.items() if name in flat)
    above = sum((((part.high or 0.0) - part.mean) / len(parts)) ** 2 for name, part in parts.items() if name in flat)
    return ScoreInterval(
        mean, mean - (max(0.0, mean - low) ** 2 + below) ** _HALF,
        min(1.0, mean + (max(0.0, high - mean) ** 2 + above) ** _HALF),
    )  # fmt: skip


def _resampled_means(scores: Scores, clusters: Sequence[str], how: Resampling) -> Floats:
    """Return the mean of each resample of files; one that has no anchor gets the mean of all."""
    at = {file: number for number, file in enumerate(clusters)}
    index = np.array([at[file] for file, _ in scores])
    values = np.array([score for _, score in scores])
    sums = np.bincount(index, weights=values, minlength=len(clusters)).astype(np.float64)
    sizes = np.bincount(index, minlength=len(clusters)).astype(np.float64)
    weights = multinomial_weights(len(clusters), how)
    totals, counts = on_grid(sums, len(clusters)) @ weights, sizes @ weights
    return np.asarray(np.where(counts > 0, totals / np.maximum(counts, 1.0), values.mean()))


def _percentiles(drawn: Floats, clusters: int) -> tuple[float, float]:
    """Return limits at levels that are those of Student's t for so many clusters."""
    tail = float(ndtr(-((clusters / (clusters - 1)) ** _HALF) * t_quantile(clusters - 1)))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def _limits_without_spread(mean: float, clusters: int) -> tuple[float, float]:
    """Return limits of equal scores, taken as shares between 0 and 1 of so many independent files."""
    share = min(max(mean, 0.0), 1.0)
    low, high = rare_limits(np.full((1, clusters), 2 * share - 1), 0.95, weight=_HALF)
    return min(mean, (float(low[0]) + 1) / 2), max(mean, (float(high[0]) + 1) / 2)
