"""Several arms over shared blocks, by ranks: is there any difference, and how far apart must mean ranks be?

Source: Demsar 2006, JMLR 7:1.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr

from scylla_gha.stats.arrays import vector

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_REACH: Final = 8.5  # standard deviations, on either side of the normal
_FEWEST: Final = 2


def friedman_chi2(mean_ranks: ArrayLike, n: int) -> float | None:
    """Friedman's statistic; None with fewer than two arms, or without blocks.

    Args:
        mean_ranks: one per arm, over the blocks; ties in a block are not corrected for, which is safe.
        n: blocks.
    """
    ranks = vector(mean_ranks)
    k = ranks.size
    if k < _FEWEST or n < 1:
        return None
    return 12 * n / (k * (k + 1)) * (float(ranks @ ranks) - k * (k + 1) ** 2 / 4)


def friedman_p(mean_ranks: ArrayLike, n: int) -> float | None:
    """By chi-squared with arms - 1 degrees, rough below 10 blocks or 5 arms; None where the statistic is."""
    statistic = friedman_chi2(mean_ranks, n)
    return None if statistic is None else float(chdtrc(vector(mean_ranks).size - 1, max(statistic, 0.0)))


def range_cdf(width: float, k: int) -> float:
    """P(the range of k standard normal values <= width): the studentised range with infinite degrees of freedom."""
    if width <= 0:
        return 0.0
    z = _NODES * _REACH  # the largest of the k
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return min(1.0, float((_WEIGHTS * density * (ndtr(z) - ndtr(z - width)) ** (k - 1)).sum()) * _REACH * k)


def nemenyi_cd(k: int, n: int, alpha: float = 0.05) -> float | None:
    """How far apart the mean ranks of two of k arms over n blocks must be; None with one arm or no block."""
    if k < _FEWEST or n < 1:
        return None
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if range_cdf(middle, k) < 1 - alpha else (low, middle)
    return high / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))
