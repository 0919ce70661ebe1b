"""Effect sizes, and the smallest effect that a paired design detects.

An undefined effect size is None: without a spread, a difference of means is not a multiple of it. Labels such as
"large" need an interval: without an effect, 24 % of comparisons of 5 with 5 values have |d| above 0.8.

The paired design is that of Miller 2024, arXiv:2411.00640: n clusters, K repetitions each in both arms. The variance of
a cluster's difference is w^2 + a^2 / K_a + b^2 / K_b, with w^2 that between clusters and a^2, b^2 that within.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammainccinv, gammaincinv, gammaln, ndtr, stdtrit

from scylla_gha.stats.arrays import NOISE_BITS, Floats, is_constant, pair, vector

_TWO: Final = 2  # values that a spread takes
_MANY: Final = 1e4
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_FAR: Final = 9.0  # standard deviations; larger offsets have a chance below 1e-18
_TAIL: Final = 1e-18


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
        x: shape (clusters, repetitions), NaN if there is none.
        y: likewise, the same clusters.

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
        variance: of a cluster's difference (`Split.of_difference`).
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
