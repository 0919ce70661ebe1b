"""Differences between samples: effect sizes, hypothesis tests, and the smallest effect that a paired design detects.

An undefined effect size is None: without a spread, a difference of means is not a multiple of it. Labels such as
"large" need an interval: without an effect, 24 % of comparisons of 5 with 5 values have |d| above 0.8.

The paired design is that of Miller 2024, arXiv:2411.00640: n clusters, K repetitions each in both arms. The variance of
a cluster's difference is w^2 + a^2 / K_a + b^2 / K_b, with w^2 that between clusters and a^2, b^2 that within.

The tests are of stratified successes and of ranks; their p values are adjusted for a family of tests. `resampling` has
the sign-flip test of paired differences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, gammainc, gammainccinv, gammaincinv, gammaln, ndtr, stdtrit

from scylla_gha.stats.arrays import NOISE_BITS, Floats, is_constant, pair, table_of, vector

_TWO: Final = 2  # values that a spread takes
_MANY: Final = 1e4
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_FAR: Final = 9.0  # standard deviations; larger offsets have a chance below 1e-18
_TAIL: Final = 1e-18
_SLACK: Final = 1e-9  # of whole and half successes, which differ by far more
_LEAST_P: Final = math.ulp(0.0)  # a p is never 0


def cohens_d(x: ArrayLike, y: ArrayLike) -> float | None:
    """Divide the difference of means by the pooled standard deviation (Cohen 1988, section 2.2).

    None with fewer than two values in a sample, or if neither varies and the means differ. It is 0 if neither varies
    and the means are equal.
    """
    first, second = vector(x, "x"), vector(y, "y")
    if first.size < _TWO or second.size < _TWO:
        return None
    if is_constant(first) and is_constant(second):
        return 0.0 if is_constant(np.concatenate([first, second])) else None
    square = (first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)
    return float((first.mean() - second.mean()) / math.sqrt(square / (first.size + second.size - _TWO)))


@lru_cache(maxsize=1024)
def hedges_correction(df: float) -> float | None:
    """Return the exact J that removes the bias of d; None unless df is above 1.

    Source: Hedges 1981, Journal of Educational Statistics 6:107, c(m).
    """
    if df <= 1:
        return None
    if df > _MANY:  # the difference of logarithms would lose digits, and this errs by less than 1e-9
        return 1 - 3 / (4 * df - 1)
    return math.exp(float(gammaln(df / 2) - gammaln((df - 1) / 2))) / math.sqrt(df / 2)


def cohens_dz(x: ArrayLike, y: ArrayLike) -> float | None:
    """Divide the mean of paired differences by their standard deviation; None as `cohens_d`.

    Differences are rounded at 1e-13 of the largest value, so that 4/5 - 3/5 equals 2/5 - 1/5.
    """
    first, second = pair(x, y)
    top = max(np.max(np.abs(first), initial=0.0), np.max(np.abs(second), initial=0.0))
    shift = NOISE_BITS - int(np.frexp(top)[1])
    d = np.ldexp(np.rint(np.ldexp(first - second, shift)), -shift)
    if d.size < _TWO:
        return None
    if is_constant(d):
        return 0.0 if d[0] == 0 else None
    return float(d.mean() / d.std(ddof=1))


def correlation(x: ArrayLike, y: ArrayLike) -> float | None:
    """Compute Pearson's r of pairs; None with fewer than three, or if x or y does not vary."""
    first, second = pair(x, y)
    if first.size <= _TWO or is_constant(first) or is_constant(second):
        return None
    a, b = first - first.mean(), second - second.mean()
    r = float((a * b).sum() / math.sqrt(float((a * a).sum()) * float((b * b).sum())))
    return min(max(r, -1.0), 1.0)


def cliffs_delta(x: ArrayLike, y: ArrayLike) -> float | None:
    """Compute P(x > y) - P(x < y) over all pairs, in [-1, 1]; None if a sample is empty.

    Source: Cliff 1993, Psychological Bulletin 114:494; usual cut-offs are 0.147, 0.33, 0.474 (Romano 2006).
    """
    first, second = vector(x, "x"), np.sort(vector(y, "y"))
    if not first.size or not second.size:
        return None
    below = int(np.searchsorted(second, first, side="left").sum())
    above = first.size * second.size - int(np.searchsorted(second, first, side="right").sum())
    return (below - above) / (first.size * second.size)


@dataclass(frozen=True, slots=True)
class Split:
    """Variances of a paired design: of the true differences between clusters, and of repetitions in each arm.

    `rate` is the mean of y if the values are 0 and 1 and it is known.
    """

    between: float
    within_x: float
    within_y: float
    rate: float | None = None

    def of_difference(self, repetitions_x: int, repetitions_y: int) -> float:
        """Return the variance of one cluster's mean difference.

        Raises:
            ValueError: no repetition.
        """
        if repetitions_x < 1 or repetitions_y < 1:
            raise ValueError("repetitions must be at least 1")
        return self.between + self.within_x / repetitions_x + self.within_y / repetitions_y


def split_variance(x: ArrayLike, y: ArrayLike) -> Split | None:
    """Estimate the variances from a pilot; None with fewer than two clusters in both arms, or without repetitions.

    Args:
        x: shape (clusters, repetitions), NaN for a missing repetition.
        y: likewise, for the same clusters.

    Raises:
        ValueError: other shapes.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 2 or second.ndim != 2 or len(first) != len(second):  # noqa: PLR2004 clusters and repetitions
        raise ValueError("x and y must both have the shape (clusters, repetitions)")
    in_both = ~np.isnan(first).all(axis=1) & ~np.isnan(second).all(axis=1)
    first, second = first[in_both], second[in_both]
    within_x, within_y = _variance_within(first), _variance_within(second)
    if len(first) < _TWO or within_x is None or within_y is None:
        return None
    total = float((np.nanmean(first, axis=1) - np.nanmean(second, axis=1)).var(ddof=1))
    noise = within_x * _mean_inverse(first) + within_y * _mean_inverse(second)
    return Split(max(0.0, total - noise), within_x, within_y)


def _variance_within(table: Floats) -> float | None:
    """Pool the variance over the clusters with repetitions."""
    repeated = table[(~np.isnan(table)).sum(axis=1) >= _TWO]
    if not len(repeated):
        return None
    offsets = repeated - np.nanmean(repeated, axis=1, keepdims=True)
    return float(np.nansum(offsets**2) / ((~np.isnan(repeated)).sum() - len(repeated)))


def _mean_inverse(table: Floats) -> float:
    return float((1 / (~np.isnan(table)).sum(axis=1)).mean())


def mde_paired(variance: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Find the smallest true mean difference that a t-test on n clusters detects with the given power.

    None with fewer than two clusters.

    Args:
        variance: variance of a cluster's difference (`Split.of_difference`).
        n: clusters.
        alpha: two-sided; divide it by the size of the family for Bonferroni.
        power: chance of detecting the difference.
    """
    if n < _TWO:
        return None
    low, high = 0.0, 1.0
    while power_t(high, n - 1, alpha) < power:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if power_t(middle, n - 1, alpha) < power else (low, middle)
    return high * math.sqrt(variance / n)


def power_t(effect: float, df: float, alpha: float = 0.05) -> float:
    """Compute the power of a two-sided t-test; `effect` is the true mean over the standard error of its estimate."""
    critical = float(stdtrit(df, 1 - alpha / 2))
    return noncentral_t_sf(critical, df, effect) + noncentral_t_sf(critical, df, -effect)


def noncentral_t_sf(t: float, df: float, nc: float) -> float:
    """Compute P(T > t) for T = (Z + nc) / sqrt(chi2(df) / df), t above 0, also in the far tails (SciPy: NaN).

    It is the mean of Phi(nc - t u) over u = sqrt(chi2(df) / df). If t u is so far below nc that Phi is 1, the mean
    is a gamma function; the rest is a smooth integral over a short way.
    """
    half = df / 2
    # u in [least, most] but for a chance of 1e-18 on either side.
    least = math.sqrt(float(gammaincinv(half, _TAIL)) / half)
    most = math.sqrt(float(gammainccinv(half, _TAIL)) / half)
    start = min(max((nc - _FAR) / t, least), most)
    end = max(min((nc + _FAR) / t, most), start)
    sure = float(gammainc(half, half * start * start)) if (nc - _FAR) / t > least else 0.0
    u = start + (end - start) * (_NODES + 1) / 2
    density = np.exp(math.log(2) + half * math.log(half) - gammaln(half) + (df - 1) * np.log(u) - half * u * u)
    rest = float((_WEIGHTS * density * ndtr(nc - t * u)).sum()) * (end - start) / 2
    return min(1.0, max(0.0, sure + rest))


def stratified_exact_p(counts: ArrayLike) -> float | None:
    """Compute the exact two-sided p of successes in strata; None if no stratum has trials of both arms.

    Convolves the hypergeometric distributions of the strata; the statistic is the successes of the first arm less those
    expected by chance (the numerator of Cochran-Mantel-Haenszel; Mehta, Patel & Gray 1985, JASA 80:969). The answer is
    about these strata alone: it finds differences between strata that average out, with 13-24 % false positives about
    strata like these.

    Args:
        counts: shape (strata, 4): successes and trials of the first arm, successes and trials of the second.

    Raises:
        ValueError: another shape, or successes that do not lie in 0..trials.
    """
    table = np.asarray(counts, dtype=np.int64)
    if table.size == 0:
        return None
    if table.ndim != 2 or table.shape[1] != 4:  # noqa: PLR2004 strata, and four counts of each
        raise ValueError("counts must have the shape (strata, 4)")
    if np.any(table[:, [0, 2]] < 0) or np.any(table[:, [0, 2]] > table[:, [1, 3]]):
        raise ValueError("successes must lie in 0..trials")
    table = table[(table[:, 1] > 0) & (table[:, 3] > 0)]
    if not len(table):
        return None
    chance, lowest, expected = np.ones(1), 0, 0.0
    for won, n, also_won, m in table.tolist():
        chance = np.convolve(chance, _hypergeometric(won + also_won, n, m))
        lowest += max(0, won + also_won - m)
        expected += (won + also_won) * n / (n + m)
    offsets = np.abs(np.arange(lowest, lowest + chance.size) - expected)
    observed = abs(float(table[:, 0].sum()) - expected)
    return min(1.0, max(math.fsum(chance[offsets >= observed - _SLACK].tolist()), _LEAST_P))


@lru_cache(maxsize=4096)  # few trials have few such tables, which thousands of strata share
def _hypergeometric(successes: int, n: int, m: int) -> Floats:
    """Return how probably the n trials of the first arm get each possible number of the successes; read-only."""
    k = np.arange(max(0, successes - m), min(successes, n) + 1)

    def log_choose(top: int, bottom: Floats) -> Floats:
        return np.asarray(gammaln(top + 1) - gammaln(bottom + 1) - gammaln(top - bottom + 1))

    logs = log_choose(n, k.astype(np.float64)) + log_choose(m, (successes - k).astype(np.float64))
    weights = np.exp(logs - logs.max())
    chance = np.asarray(weights / weights.sum())
    chance.flags.writeable = False
    return chance


def holm(p: Sequence[float | None]) -> Floats:
    """Adjust p values for the chance of any false claim (family-wise error). Source: Holm 1979, Scand. J. Stat. 6:65.

    A test that gave no p (None or NaN) stays NaN, and counts as a member of the family.

    Raises:
        ValueError: a p is not in [0, 1].
    """
    adjusted, order = _rising(p)
    scaled = adjusted[order] * (adjusted.size - np.arange(order.size))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def benjamini_hochberg(p: Sequence[float | None]) -> Floats:
    """Adjust p values for the expected share of false claims (false discovery rate); otherwise as `holm`.

    Source: Benjamini & Hochberg 1995, JRSS B 57:289.
    """
    adjusted, order = _rising(p)
    scaled = adjusted[order] * adjusted.size / (np.arange(order.size) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def _rising(p: Sequence[float | None]) -> tuple[Floats, np.ndarray]:
    """Return the p values with NaN for None, and the indices of the known ones in rising order."""
    values = np.array(p, dtype=np.float64)
    if np.any((values < 0) | (values > 1)):
        raise ValueError("each p must lie in [0, 1]")
    known = np.flatnonzero(~np.isnan(values))
    return values, known[np.argsort(values[known], kind="stable")]


def average_ranks(values: ArrayLike) -> Floats:
    """Rank values from 1 along the first dimension; ties share the mean of their ranks.

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
    """Compute W in [0, 1], corrected for ties: how far all raters put the units in the same order.

    12 S / (m^2 (n^3 - n) - m T), S the sum of squares of the rank sums, T of t^3 - t over all ties. Units that a rater
    did not rate are ignored. None with fewer than two units or two raters, or if no rater ranks any unit before
    another. Source: Kendall & Babington Smith 1939; Siegel & Castellan 1988.

    Args:
        ratings: shape (units, raters), NaN if missing.

    Raises:
        ValueError: other than two dimensions, or an infinite rating.
    """
    table = table_of(ratings, "ratings")
    table = table[~np.isnan(table).any(axis=1)]
    n, m = table.shape
    if n < _TWO or m < _TWO:
        return None
    ranks = average_ranks(table)
    sums = ranks.sum(axis=1)
    spread = float(((sums - sums.mean()) ** 2).sum())
    most = m * m * (n**3 - n) - m * sum(_ties(column) for column in table.T)
    return 12 * spread / most if most > 0 else None


def _ties(values: Floats) -> float:
    """Return the sum of t^3 - t over groups of t equal values."""
    _, counts = np.unique(values, return_counts=True)
    return float((counts.astype(np.float64) ** 3 - counts).sum())


@dataclass(frozen=True, slots=True)
class KruskalWallis:
    """Kruskal-Wallis test of several samples for equal location: H, and its p by chi-squared."""

    h: float
    p: float


def kruskal_wallis(samples: Sequence[ArrayLike]) -> KruskalWallis | None:
    """Test several samples, corrected for ties; None with fewer than two nonempty samples, or if all values are equal.

    Source: Kruskal & Wallis 1952, JASA 47:583.
    """
    nonempty = [x for x in (vector(sample) for sample in samples) if x.size]
    if len(nonempty) < _TWO:
        return None
    ranks = average_ranks(np.concatenate(nonempty))
    n, correction = ranks.size, _tie_correction(ranks)
    if correction == 0:
        return None
    ends = np.cumsum([x.size for x in nonempty])
    sums = sum(part.sum() ** 2 / part.size for part in np.split(ranks, ends[:-1]))
    h = (12 / (n * (n + 1)) * float(sums) - 3 * (n + 1)) / correction
    return KruskalWallis(h, max(float(chdtrc(len(nonempty) - 1, max(h, 0.0))), _LEAST_P))


def mann_whitney_p(x: ArrayLike, y: ArrayLike) -> float | None:
    """Compute the two-sided p, by the normal distribution with corrections for ties and continuity.

    None if a sample is empty, or if all values are equal.
    Source: Mann & Whitney 1947, Annals of Mathematical Statistics 18:50.
    """
    first, second = vector(x, "x"), vector(y, "y")
    if not first.size or not second.size:
        return None
    ranks = average_ranks(np.concatenate([first, second]))
    n, pairs = ranks.size, first.size * second.size
    variance = pairs * (n + 1) / 12 * _tie_correction(ranks)
    if variance == 0:
        return None
    u = float(ranks[: first.size].sum()) - first.size * (first.size + 1) / 2
    z = max(abs(u - pairs / 2) - 0.5, 0.0) / math.sqrt(variance)
    return min(1.0, max(2 * float(ndtr(-z)), _LEAST_P))


def _tie_correction(ranks: Floats) -> float:
    """Return the factor by which ties reduce the variance of ranks: 1 without ties, 0 if all are equal."""
    n = ranks.size
    return 1 - _ties(ranks) / (n**3 - n) if n > 1 else 0.0
