"""How many, and how small an effect can be seen: before the experiment, never from its result.

The paired design of Miller 2024, arXiv:2411.00640: n clusters, K repetitions each in both arms. The variance of a
cluster's difference is w^2 + a^2 / K_a + b^2 / K_b, with w^2 that between clusters and a^2, b^2 that within.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.noncentral_t import noncentral_t_sf

_LIMIT: Final = 10**7  # more than anyone will run
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Split:
    """Variances from a pilot: of the true differences between clusters, and of repetitions in each arm.

    `rate` is the mean of y, where the values are 0 and 1 and it is known.
    """

    between: float
    within_x: float
    within_y: float
    rate: float | None = None

    def of_difference(self, repetitions_x: int, repetitions_y: int) -> float:
        """Of one cluster's mean difference.

        Raises:
            ValueError: no repetition.
        """
        if repetitions_x < 1 or repetitions_y < 1:
            raise ValueError("repetitions must be at least 1")
        return self.between + self.within_x / repetitions_x + self.within_y / repetitions_y


def split_variance(x: ArrayLike, y: ArrayLike) -> Split | None:
    """From a pilot; None where fewer than two clusters are in both arms, or no cluster has a repetition in an arm.

    Args:
        x: shape (clusters, repetitions), NaN where there is none.
        y: likewise, the same clusters.
    """
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if one.ndim != 2 or other.ndim != 2 or len(one) != len(other):  # noqa: PLR2004 clusters and repetitions
        raise ValueError("x and y must both have the shape (clusters, repetitions)")
    in_both = ~np.isnan(one).all(axis=1) & ~np.isnan(other).all(axis=1)
    one, other = one[in_both], other[in_both]
    within_x, within_y = _within(one), _within(other)
    if len(one) < _FEWEST or within_x is None or within_y is None:
        return None
    found = float((np.nanmean(one, axis=1) - np.nanmean(other, axis=1)).var(ddof=1))
    noise = within_x * _mean_inverse(one) + within_y * _mean_inverse(other)
    return Split(max(0.0, found - noise), within_x, within_y)


def _within(table: Floats) -> float | None:
    """Pooled over the clusters with repetitions."""
    many = table[(~np.isnan(table)).sum(axis=1) >= _FEWEST]
    if not len(many):
        return None
    offsets = many - np.nanmean(many, axis=1, keepdims=True)
    return float(np.nansum(offsets**2) / ((~np.isnan(many)).sum() - len(many)))


def _mean_inverse(table: Floats) -> float:
    return float((1 / (~np.isnan(table)).sum(axis=1)).mean())


def power_t(effect: float, df: float, alpha: float = 0.05) -> float:
    """Of a two-sided t-test.

    Args:
        effect: the true mean over the standard error of its estimate.
        df: degrees of freedom.
        alpha: the level; divide it by the size of the family for Bonferroni.
    """
    critical = float(stdtrit(df, 1 - alpha / 2))
    return noncentral_t_sf(critical, df, effect) + noncentral_t_sf(critical, df, -effect)


def mde_paired(variance: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true mean difference that is found with the given power, by a t-test on n clusters.

    None with fewer than two clusters.

    Args:
        variance: of a cluster's difference (`Split.of_difference`).
        n: clusters.
        alpha: two-sided.
        power: wanted.
    """
    if n < _FEWEST:
        return None
    low, high = 0.0, 1.0
    while power_t(high, n - 1, alpha) < power:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if power_t(middle, n - 1, alpha) < power else (low, middle)
    return high * math.sqrt(variance / n)


def mde_paired_normal(variance: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """As `mde_paired`, by the normal distribution: too small for few clusters. Source: Miller 2024, equation 10."""
    return _normal(alpha, power) * math.sqrt(variance / n) if n > 0 else None


def _normal(alpha: float, power: float) -> float:
    return float(ndtri(1 - alpha / 2) + ndtri(power))


def sample_size_paired_normal(variance: float, mde: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Clusters for a difference of `mde`, by the normal distribution; None where mde is 0.

    Source: Miller 2024, equation 9.
    """
    return math.ceil(_normal(alpha, power) ** 2 * variance / mde**2 - 1e-9) if mde else None


def sample_size_paired(variance: float, mde: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Clusters for a difference of `mde`, by the t-test; None where it is 0 or takes more than ten million.

    Two where nothing varies.
    """
    if variance == 0:
        return _FEWEST if mde else None
    return sample_size_paired_t(mde / math.sqrt(variance), alpha, power)


def sample_size_paired_t(dz: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Pairs for a mean difference of dz standard deviations of it; None where it is 0 or takes over ten million."""
    return _smallest(lambda n: power_t(abs(dz) * math.sqrt(n), n - 1, alpha) >= power) if dz else None


def sample_size_two_sample_t(d: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Values in each of two samples, for a difference of d standard deviations; None as `sample_size_paired_t`."""
    return _smallest(lambda n: power_t(abs(d) * math.sqrt(n / 2), 2 * n - 2, alpha) >= power) if d else None


def _smallest(enough: Callable[[int], bool]) -> int | None:
    """The smallest n, from two, that is enough; power rises with n."""
    high = _FEWEST
    while not enough(high):
        high *= 2
        if high > _LIMIT:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, _FEWEST)
