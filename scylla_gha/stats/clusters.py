"""Values in clusters: repetitions of one thing resemble each other, so clusters are counted, not values."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scylla_gha.stats.arrays import Floats, Ints, vector
from scylla_gha.stats.interval import Interval, make_interval
from scylla_gha.stats.rates import wilson_effective


@dataclass(frozen=True, slots=True)
class Clusters:
    """Size, sum and sum of squared offsets from the own mean of each cluster, in the order of sorted labels."""

    sizes: Ints
    sums: Floats
    within: Floats

    @property
    def means(self) -> Floats:
        """One mean per cluster."""
        return self.sums / self.sizes


@dataclass(frozen=True, slots=True)
class ClusterIndex:
    """The cluster of each value as a whole number from 0, so that labels are sorted once for many columns."""

    index: NDArray[np.intp]
    count: int


Labels: TypeAlias = ArrayLike | ClusterIndex


def cluster_index(labels: ArrayLike) -> ClusterIndex:
    """Number the labels in sorted order."""
    unique, index = np.unique(np.asarray(labels), return_inverse=True)
    return ClusterIndex(index, unique.size)


def clustered(values: ArrayLike, labels: Labels) -> Clusters:
    """Group values by label.

    Args:
        values: one number per trial.
        labels: its cluster, of any type that sorts, or `cluster_index` of these; as long as `values`.

    Raises:
        ValueError: the lengths differ, or a value is NaN or infinite.
    """
    x, of = vector(values), labels if isinstance(labels, ClusterIndex) else cluster_index(labels)
    if x.shape != of.index.shape:
        raise ValueError(f"there are {x.size} values and {of.index.size} labels; give one label per value")
    sizes = np.bincount(of.index, minlength=of.count)
    sums = np.bincount(of.index, weights=x, minlength=of.count)
    offsets = x - (sums / np.maximum(sizes, 1))[of.index]
    within = np.bincount(of.index, weights=offsets * offsets, minlength=of.count)
    return Clusters(sizes.astype(np.int64), sums.astype(np.float64), within.astype(np.float64))


def macro_rate(values: ArrayLike, labels: Labels, confidence: float = 0.95) -> Interval | None:
    """Compute the mean of the clusters' rates, by Wilson's limits with effective n and Student's quantile.

    The limits stay in [0, 1], exist if all trials are alike, and are shorter than those of t with few clusters. None
    without values; a `point` with one cluster.

    Args:
        values: 0 or 1 per trial.
        labels: its cluster.
        confidence: of the interval.

    Raises:
        ValueError: a value is neither 0 nor 1.
    """
    clusters, x = clustered(values, labels), np.asarray(values, dtype=np.float64)
    if not np.all((x == 0) | (x == 1)):
        raise ValueError("values must be 0 or 1 to have a rate")
    trials = effective_n(clusters)
    if trials is None:
        return None
    rate, count = float(clusters.means.mean()), clusters.sizes.size
    low, high = wilson_effective(rate, trials, count - 1, confidence)
    return make_interval(rate, (float(low), float(high)), "Wilson, effective n and t", count, confidence)


def icc1(clusters: Clusters) -> float | None:
    """Compute the intraclass correlation from one-way analysis of variance; sizes may differ.

    Below 0 if clusters differ less than by chance. None with fewer than two clusters, without a repetition, or if all
    values are equal. Source: Shrout & Fleiss 1979, ICC(1); n0 as in Donner 1986.
    """
    count, n = clusters.sizes.size, int(clusters.sizes.sum())
    if count < 2 or n == count:  # noqa: PLR2004 clusters to compare
        return None
    between = float((clusters.sizes * (clusters.means - clusters.sums.sum() / n) ** 2).sum()) / (count - 1)
    within = float(clusters.within.sum()) / (n - count)
    usual = (n - float((clusters.sizes**2).sum()) / n) / (count - 1)
    total = between + (usual - 1) * within
    return (between - within) / total if total > 0 else None


def design_effect(size: float, icc: float) -> float:
    """Return how many times the variance of a mean is that of independent values. Source: Kish 1965."""
    return 1 + (size - 1) * icc


def effective_n(clusters: Clusters) -> float | None:
    """Return how many independent trials have a mean as precise as the mean over clusters; None without values.

    C / (ICC + (1 - ICC) / m), with m the harmonic mean of the sizes: with equal sizes, trials over the design effect.
    An ICC below 0 is taken as 0. If there is no ICC (all trials alike, or no repetition) it is the number of clusters,
    which is safe.
    """
    sizes, icc = clusters.sizes, icc1(clusters)
    if not sizes.size:
        return None
    alike = 1.0 if icc is None else min(max(icc, 0.0), 1.0)
    return sizes.size / (alike + (1 - alike) * float((1 / sizes).mean()))
