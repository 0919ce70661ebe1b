"""Intervals of means, rates and shares, for many samples at once, and of rates over clusters of repetitions.

Rows are samples and NaN marks a missing value. Limits are NaN if a row is too small. Intervals are by Student's t and
by score tests; `stats` itself has Wilson's limits of one rate without NumPy.

Repetitions in a cluster resemble each other, so the clusters are the independent units, not the values. This module
also computes intraclass correlation, consistency, pass@k and pass^k.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri, stdtrit

from scylla_gha.stats import Interval, make_interval
from scylla_gha.stats.arrays import Bools, Floats, Ints, Limits, finite, is_constant, pair, vector

FEW_NOT_ZERO: Final = 6  # with fewer values that are not 0, their spread says too little about rare values
LEVEL: Final = (1 + 0.95) / 2  # of each limit of a 95 % interval
_LEAST_SQUARES: Final = 0.02  # the sum of squares that equal values are assumed to have
_FEWEST: Final = 2
_EDGE: Final = 1e-9


@lru_cache(maxsize=1024)
def t_quantile(df: float, confidence: float = 0.95) -> float:
    """Return Student's two-sided quantile; NaN unless df is above 0."""
    return float(stdtrit(df, (1 + confidence) / 2)) if df > 0 else math.nan


def mean_limits(values: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Compute mean, lower and upper limit of each row, shape (rows, n), by Student's t.

    The mean is NaN without values. Limits are NaN with fewer than two values, or if all values of a row are equal, so
    that their spread is unknown.
    """
    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    known = ~np.isnan(table)
    finite(table[known], "values")
    n = known.sum(axis=1)
    mean = np.where(known, table, 0.0).sum(axis=1) / np.where(n > 0, n, np.nan)
    offset = np.where(known, table - mean[:, None], 0.0)
    spread = np.sqrt((offset * offset).sum(axis=1) / np.where(n > 1, n - 1, np.nan))
    spread = np.where(is_constant(table), np.nan, spread)  # the spread of equal values is rounding
    half = stdtrit(np.where(n > 1, n - 1, np.nan), (1 + confidence) / 2) * spread / np.sqrt(np.maximum(n, 1))
    return mean, mean - half, mean + half


def mean_limits_bounded(values: ArrayLike) -> Limits:
    """Compute 95 % limits of each row's mean, of numbers between -1 and 1 such as differences of rates.

    Student's t in score form, which takes the spread that the mean would have if the limit were true (0 at -1 and 1);
    rows with fewer than six nonzero values use `rare_limits`. Coverage: tests/benchmarks/verdicts.py.
    """
    known, x, n = _bounded(values)
    low, high = _t_score_limits(x, known, n)
    few = ((x != 0) & known).sum(axis=1) < FEW_NOT_ZERO
    few |= np.abs(x.sum(axis=1)) >= n * (1 - _EDGE)
    if few.any():
        low[few], high[few] = rare_limits(np.atleast_2d(np.asarray(values, dtype=np.float64))[few], 0.95, weight=0.5)
    return low, high


def rare_limits(values: ArrayLike, confidence: float, *, weight: float = 1.0) -> Limits:
    """Compute limits of each row's mean that hold even if a large value is so rare that the sample has none.

    The upper limit is the quantile of the mean under random weights (Bayesian bootstrap) after a value of 1 was added
    with `weight`; the lower one likewise with -1. The weighted mean's distribution is taken as a Beta distribution
    between the least value and 1, which is exact for values of 0 and 1: with weight 1 these are the limits of
    Clopper and Pearson, and n zeros have the upper limit 1 - (1 - level) ** (1 / n).
    Sources: Gaffke 2005; Learned-Miller & Thomas 2019, arXiv:1905.06208; weight 1/2 is that of Jeffreys's limits.

    Args:
        values: shape (rows, n), between -1 and 1.
        confidence: confidence of the two limits together.
        weight: weight of the added value; an observed value has weight 1.
    """
    known, x, n = _bounded(values)
    level = (1 + confidence) / 2
    return -_rare_upper(-x, known, n, level, weight), _rare_upper(x, known, n, level, weight)


def _bounded(values: ArrayLike) -> tuple[Bools, Floats, Floats]:
    """Return a mask of known values, the values with 0 for unknown ones, and their number; NaN if it is below two.

    Raises:
        ValueError: a value is beyond -1 or 1.
    """
    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    known = ~np.isnan(table)
    if np.any(np.abs(finite(table[known], "values")) > 1 + _EDGE):
        raise ValueError("values must lie between -1 and 1")
    n = known.sum(axis=1).astype(np.float64)
    return known, np.where(known, np.clip(table, -1, 1), 0.0), np.where(n >= _FEWEST, n, np.nan)


def _rare_upper(x: Floats, known: Bools, n: Floats, level: float, weight: float) -> Floats:
    least = np.min(np.where(known, x, 1.0), axis=1, initial=1.0)
    mean = (x.sum(axis=1) + weight) / (n + weight)
    offsets = np.where(known, x - mean[:, None], 0.0)
    squares = (offsets**2).sum(axis=1) + weight * (1 - mean) ** 2
    span = np.where(least < 1 - _EDGE, 1 - least, np.nan)
    centre, variance = (mean - least) / span, squares / span**2 / (n + weight) / (n + weight + 1)
    size = centre * (1 - centre) / variance - 1
    limit = least + span * betaincinv(centre * size, (1 - centre) * size, level)
    return np.where(np.isnan(n), np.nan, np.where(np.isnan(span), 1.0, limit))


def _t_score_limits(x: Floats, known: Bools, n: Floats) -> Limits:
    mean = x.sum(axis=1) / n
    squares = (np.where(known, x - mean[:, None], 0.0) ** 2).sum(axis=1)
    error = np.maximum(squares, _LEAST_SQUARES) / (n - 1) / n
    inside = np.maximum(1 - mean * mean, _EDGE)
    # The mean m and a limit u satisfy (m - u)^2 = k (1 - u^2).
    k = stdtrit(n - 1, LEVEL) ** 2 * error / inside
    half = np.sqrt(k * (1 + k - mean * mean))
    return (mean - half) / (1 + k), (mean + half) / (1 + k)


def wilson_limits(successes: ArrayLike, n: ArrayLike) -> Limits:
    """Compute Wilson's 95 % score limits of many rates; NaN if n is 0.

    Source: Wilson 1927, JASA 22:209; Newcombe 1998, Statistics in Medicine 17:857, method 3.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not np.all((k >= 0) & (k <= total)):
        raise ValueError("successes must lie in 0..n")
    total = np.where(total > 0, total, np.nan)
    return _wilson(k / total, total, ndtri(LEVEL))


def wilson_effective(rate: ArrayLike, n: ArrayLike, df: ArrayLike) -> Limits:
    """Compute Wilson's 95 % limits of clustered rates, with an effective number of trials and Student's quantile.

    NaN unless n and df are above 0.

    Args:
        rate: the mean of the clusters' rates.
        n: effective trials, which are trials over the design effect (`effective_n`); need not be whole.
        df: clusters less one.
    """
    p, total, degrees = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (rate, n, df)))
    total, degrees = np.where((total > 0) & (degrees > 0), total, np.nan), np.where(degrees > 0, degrees, np.nan)
    return _wilson(p, total, stdtrit(degrees, LEVEL))


def _wilson(rate: Floats, n: Floats, z: ArrayLike) -> Limits:
    """Find where the score test is just not significant; exactly 0 or 1 at the edges."""
    z = np.asarray(z, dtype=np.float64)
    square = z * z / n
    centre = (rate + square / 2) / (1 + square)
    half = np.sqrt(square * rate * (1 - rate) + square * square / 4) / (1 + square)
    low = np.where(rate == 0, 0.0, np.maximum(0.0, centre - half))
    high = np.where(rate == 1, 1.0, np.minimum(1.0, centre + half))
    return np.where(np.isnan(n), np.nan, low), np.where(np.isnan(n), np.nan, high)


def share_mean_interval(values: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of the mean of values in 0..1: Student's t in score form (Wilson's, effective n).

    None without values, a `point` for one value or equal values.

    Raises:
        ValueError: a value is not between 0 and 1.
    """
    x = vector(values)
    if np.any(x < 0) or np.any(x > 1 + _EDGE):
        raise ValueError("values must lie between 0 and 1")
    return _share_interval(min(float(x.mean()), 1.0), x) if x.size else None


def share_ratio_interval(part: ArrayLike, whole: ArrayLike) -> Interval | None:
    """Compute the 95 % interval of sum(part) / sum(whole), no part above its whole, by the delta method.

    None without units, or if sum(whole) is 0.
    """
    x, y = pair(part, whole)
    if not y.sum() > 0:
        return None
    share = float(x.sum() / y.sum())
    return _share_interval(share, share + (x - share * y) / float(y.mean()))


def _share_interval(mean: float, x: Floats) -> Interval | None:
    """Find where a t-test is just not significant, with the spread that holds at the limit."""
    n, limits = x.size, (math.nan, math.nan)
    if n >= _FEWEST and not is_constant(x) and 0 < mean < 1:
        effective = mean * (1 - mean) / (float(x.var(ddof=1)) / n)
        low, high = wilson_effective(mean, effective, n - 1)
        limits = float(low), float(high)
    return make_interval(mean, limits, "Student t, score form", n)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Size, sum, and sum of squared offsets from the cluster's mean, for each cluster in the order of sorted labels."""

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
        labels: the cluster of each value, as labels of any type that sorts, or as their `cluster_index`.

    Raises:
        ValueError: the lengths differ, or a value is NaN or infinite.
    """
    x, groups = vector(values), labels if isinstance(labels, ClusterIndex) else cluster_index(labels)
    if x.shape != groups.index.shape:
        raise ValueError(f"there are {x.size} values and {groups.index.size} labels; give one label per value")
    sizes = np.bincount(groups.index, minlength=groups.count)
    sums = np.bincount(groups.index, weights=x, minlength=groups.count)
    offsets = x - (sums / np.maximum(sizes, 1))[groups.index]
    within = np.bincount(groups.index, weights=offsets * offsets, minlength=groups.count)
    return Clusters(sizes.astype(np.int64), sums.astype(np.float64), within.astype(np.float64))


def macro_rate(values: ArrayLike, labels: Labels) -> Interval | None:
    """Compute the mean of the clusters' rates, by Wilson's limits with effective n and Student's quantile.

    The limits stay in [0, 1], exist if all trials are alike, and are narrower than t limits if clusters are few. None
    without values; a `point` with one cluster.

    Args:
        values: 0 or 1 per trial.
        labels: the cluster of each trial.

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
    low, high = wilson_effective(rate, trials, count - 1)
    return make_interval(rate, (float(low), float(high)), "Wilson, effective n and t", count)


def few_clusters_rate(values: ArrayLike, labels: Labels) -> Interval | None:
    """Compute `macro_rate` with limits that also hold for few clusters whose rates are near 0 and near 1.

    Each limit is the wider one of `macro_rate` and of the bounded mean of the clusters' rates (`rare_limits`).
    With 8 to 20 clusters it covers 93 % or more, while `macro_rate` covers 84 % if a tenth of the clusters is near 0
    and the rest near 1 (tests/benchmarks/trigger_coverage.py).

    Args:
        values: 0 or 1 per trial.
        labels: the cluster of each trial.

    Raises:
        ValueError: a value is neither 0 nor 1.
    """
    rate = macro_rate(values, labels)
    if rate is None or rate.estimate is None or rate.low is None or rate.high is None:
        return rate
    low, high = rare_limits(2 * clustered(values, labels).means - 1, 0.95, weight=0.5)
    limits = min(rate.low, (1 + float(low[0])) / 2), max(rate.high, (1 + float(high[0])) / 2)
    return make_interval(rate.estimate, limits, f"{rate.method}, and bounded mean", rate.n)


def icc1(clusters: Clusters) -> float | None:
    """Compute the intraclass correlation from one-way analysis of variance; sizes may differ.

    Below 0 if clusters differ less than by chance. None with fewer than two clusters, without a repetition, or if all
    values are equal. Source: Shrout & Fleiss 1979, Psychological Bulletin 86:420, ICC(1); n0 as in Donner 1986.
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
    """Return the factor by which clusters increase the variance of a mean. Source: Kish 1965."""
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


def cv_consistencies(clusters: Clusters) -> Floats:
    """Compute 1 - sd / |mean| of each cluster, with n - 1 in the sd, clamped to [0, 1].

    The Scylla paper's measure (section 5.1). It is too high for small n, and it changes if a constant is added. NaN
    with fewer than two values or a mean of 0.
    """
    n, mean = clusters.sizes.astype(np.float64), clusters.means
    usable = (n > 1) & (mean != 0)
    sd = np.sqrt(clusters.within / np.where(usable, n - 1, np.nan))
    return np.asarray(np.clip(1 - sd / np.abs(np.where(usable, mean, np.nan)), 0.0, 1.0))


def outcome_consistency(n: ArrayLike, c: ArrayLike) -> Floats:
    """Compute the chance that two of n tries, c of them successes, have the same outcome; NaN if n < 2.

    [C(c, 2) + C(n - c, 2)] / C(n, 2), unbiased for p^2 + (1 - p)^2. The result has the shape that n and c share.

    Raises:
        ValueError: not 0 <= c <= n.
    """
    total, hits = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64))
    if not np.all((hits >= 0) & (hits <= total)):
        raise ValueError("n and c must be numbers with 0 <= c <= n")
    misses, pairs = total - hits, np.where(total > 1, total * (total - 1), np.nan)
    return np.asarray((hits * (hits - 1) + misses * (misses - 1)) / pairs)


def score_consistency(scores: ArrayLike, labels: Labels) -> float | None:
    """Compute 1 - 2 * (mean over clusters of the sd within), for scores in [0, 1], whose sd is about 1/2 at most.

    Clusters with one score are ignored; None if no cluster has two. At least 0: with n - 1, the sd of few scores may be
    above 1/2.

    Raises:
        ValueError: a score outside [0, 1], or lengths that differ.
    """
    x = vector(scores, "scores")
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise ValueError("scores must lie in [0, 1]")
    clusters = clustered(x, labels)
    enough = clusters.sizes > 1
    if not enough.any():
        return None
    return max(0.0, 1 - 2 * float(np.sqrt(clusters.within[enough] / (clusters.sizes[enough] - 1)).mean()))


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats:
    """Estimate, without bias, the chance that one of k tries succeeds, for clusters of n tries with c successes.

    1 - C(n - c, k) / C(n, k), in the shape that n and c share; NaN if n < k.
    Source: Chen et al. 2021, arXiv:2107.03374, equation 1.

    Raises:
        ValueError: not 0 <= c <= n, numbers that are not whole, or k below 1.
    """
    return _look_up(n, c, k, lambda size, hits: math.comb(size, k) - math.comb(size - hits, k))


def pass_all_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats:
    """Compute the chance that all of k tries succeed (pass^k), C(c, k) / C(n, k); arguments as in `pass_at_k`.

    Source: Yao et al. 2024, arXiv:2406.12045.
    """
    return _look_up(n, c, k, lambda _, hits: math.comb(hits, k))


def _look_up(n: ArrayLike, c: ArrayLike, k: int, favourable: Callable[[int, int], int]) -> Floats:
    """Compute the chance once for each pair of size and hits, from integers, so that only the last step rounds."""
    sizes, hits = np.broadcast_arrays(np.asarray(n), np.asarray(c))
    are_integers = np.all((sizes % 1 == 0) & (hits % 1 == 0))
    if not (are_integers and np.all((hits >= 0) & (hits <= sizes))):
        raise ValueError("n and c must be whole numbers with 0 <= c <= n")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    chances = np.full(sizes.shape, np.nan)
    for size in np.unique(sizes[sizes >= k]).astype(int).tolist():
        table = np.array([favourable(size, won) / math.comb(size, k) for won in range(size + 1)])
        same = sizes == size
        chances[same] = table[hits[same].astype(np.int64)]
    return chances


@dataclass(frozen=True, slots=True)
class Solved:
    """Numbers of clusters: solved at least once, always solved, and with at least one try (`groups`)."""

    ever: int
    always: int
    groups: int


def solved(n: ArrayLike, c: ArrayLike) -> Solved:
    """Count clusters ever and always solved. Both counts depend on n: compare them only under the same n."""
    sizes, hits = np.broadcast_arrays(np.asarray(n), np.asarray(c))
    tried = sizes > 0
    return Solved(int((hits[tried] > 0).sum()), int((hits == sizes)[tried].sum()), int(tried.sum()))
