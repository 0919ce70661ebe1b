"""Values in clusters: repetitions of one thing resemble each other, so the cluster is what is counted."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scylla_gha.stats.arrays import Floats, Ints, vector
from scylla_gha.stats.binomial import wilson_effective
from scylla_gha.stats.interval import Interval, interval
from scylla_gha.stats.mean import t_interval


@dataclass(frozen=True, slots=True)
class Clusters:
    """Size, sum and sum of squared offsets from the own mean, one each per cluster, in the order of sorted labels."""

    sizes: Ints
    sums: Floats
    within: Floats

    @property
    def means(self) -> Floats:
        """One mean per cluster."""
        return self.sums / self.sizes


@dataclass(frozen=True, slots=True)
class Places:
    """Labels as whole numbers from 0, which are found once for many columns of values."""

    of: NDArray[np.intp]
    count: int


Labels: TypeAlias = ArrayLike | Places


def places(labels: ArrayLike) -> Places:
    """The place of each label among the sorted ones."""
    unique, of = np.unique(np.asarray(labels), return_inverse=True)
    return Places(of, unique.size)


def clustered(values: ArrayLike, labels: Labels) -> Clusters:
    """Bring values together by label.

    Args:
        values: one number per trial.
        labels: its cluster, of any type that sorts, or `places` of these; as long as `values`.

    Raises:
        ValueError: the lengths differ, or a value is NaN or infinite.
    """
    x, found = vector(values), labels if isinstance(labels, Places) else places(labels)
    if x.shape != found.of.shape:
        raise ValueError(f"there are {x.size} values and {found.of.size} labels; give one label per value")
    sizes = np.bincount(found.of, minlength=found.count)
    sums = np.bincount(found.of, weights=x, minlength=found.count)
    offsets = x - (sums / np.maximum(sizes, 1))[found.of]
    within = np.bincount(found.of, weights=offsets * offsets, minlength=found.count)
    return Clusters(sizes.astype(np.int64), sums.astype(np.float64), within.astype(np.float64))


def macro_interval(values: ArrayLike, labels: Labels, confidence: float = 0.95) -> Interval | None:
    """Of the mean over clusters of their means, each weighing the same: t on clusters less one.

    It speaks of clusters like these, not of these alone. None without values; a `point` with one cluster, or where all
    means are equal.
    """
    return t_interval(clustered(values, labels).means, confidence)


def macro_rate(values: ArrayLike, labels: Labels, confidence: float = 0.95) -> Interval | None:
    """`macro_interval` of a rate: Wilson's limits with effective n and Student's quantile.

    They stay in [0, 1], exist where all trials are alike, and are shorter than those of t with few clusters. None
    without values; a `point` with one cluster.

    Args:
        values: 0 or 1 per trial.
        labels: its cluster.
        confidence: of the interval.

    Raises:
        ValueError: a value is neither 0 nor 1.
    """
    found, x = clustered(values, labels), np.asarray(values, dtype=np.float64)
    if not np.all((x == 0) | (x == 1)):
        raise ValueError("values must be 0 or 1 to have a rate")
    trials = _effective_n(found)
    if trials is None:
        return None
    rate, count = float(found.means.mean()), found.sizes.size
    low, high = wilson_effective(rate, trials, count - 1, confidence)
    return interval(rate, (float(low), float(high)), "Wilson, effective n and t", count, confidence)


def icc1(values: ArrayLike, labels: Labels) -> float | None:
    """How alike repetitions of one cluster are, from one-way analysis of variance; sizes may differ.

    Below 0 where clusters differ less than chance would have them. None with fewer than two clusters, without a
    repetition, or where all values are equal. Source: Shrout & Fleiss 1979, ICC(1); n0 as in Donner 1986.
    """
    return _icc1(clustered(values, labels))


def _icc1(found: Clusters) -> float | None:
    count, n = found.sizes.size, int(found.sizes.sum())
    if count < 2 or n == count:  # noqa: PLR2004 clusters to compare
        return None
    between = float((found.sizes * (found.means - found.sums.sum() / n) ** 2).sum()) / (count - 1)
    within = float(found.within.sum()) / (n - count)
    usual = (n - float((found.sizes**2).sum()) / n) / (count - 1)
    total = between + (usual - 1) * within
    return (between - within) / total if total > 0 else None


def design_effect(size: float, icc: float) -> float:
    """How many times the variance of a mean is that of independent values. Source: Kish 1965."""
    return 1 + (size - 1) * icc


def effective_n(values: ArrayLike, labels: Labels) -> float | None:
    """How many independent trials would tell the mean over clusters as well; None without values.

    C / (ICC + (1 - ICC) / m), with m the harmonic mean of the sizes: with equal sizes, trials over the design effect.
    An ICC below 0 is taken as 0. Where it cannot be told (all trials alike, or no repetition) it is the number of
    clusters, which is safe.
    """
    return _effective_n(clustered(values, labels))


def _effective_n(found: Clusters) -> float | None:
    sizes, icc = found.sizes, _icc1(found)
    if not sizes.size:
        return None
    alike = 1.0 if icc is None else min(max(icc, 0.0), 1.0)
    return sizes.size / (alike + (1 - alike) * float((1 / sizes).mean()))
