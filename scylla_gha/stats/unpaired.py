"""Samples that share nothing by which they could be paired, compared by ranks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr

from scylla_gha.stats.arrays import Floats, vector
from scylla_gha.stats.concordance import average_ranks

_TWO = 2


@dataclass(frozen=True, slots=True)
class KruskalWallis:
    """Test if any of several samples lies higher than another: H, and its p by chi-squared (Kruskal-Wallis)."""

    h: float
    p: float


def kruskal_wallis(samples: Sequence[ArrayLike]) -> KruskalWallis | None:
    """Corrected for ties; None with fewer than two samples that hold a value, or where all values are equal.

    Source: Kruskal & Wallis 1952, JASA 47:583.
    """
    held = [x for x in (vector(sample) for sample in samples) if x.size]
    if len(held) < _TWO:
        return None
    ranks = average_ranks(np.concatenate(held))
    n, spread = ranks.size, _corrected(ranks)
    if spread == 0:
        return None
    ends = np.cumsum([x.size for x in held])
    sums = sum(part.sum() ** 2 / part.size for part in np.split(ranks, ends[:-1]))
    h = (12 / (n * (n + 1)) * float(sums) - 3 * (n + 1)) / spread
    return KruskalWallis(h, max(float(chdtrc(len(held) - 1, max(h, 0.0))), math.ulp(0.0)))


def mann_whitney_p(x: ArrayLike, y: ArrayLike) -> float | None:
    """Two-sided, by the normal distribution with corrections for ties and continuity; None where all are equal.

    Source: Mann & Whitney 1947, Annals of Mathematical Statistics 18:50.
    """
    one, other = vector(x, "x"), vector(y, "y")
    if not one.size or not other.size:
        return None
    ranks = average_ranks(np.concatenate([one, other]))
    n, pairs = ranks.size, one.size * other.size
    variance = pairs * (n + 1) / 12 * _corrected(ranks)
    if variance == 0:
        return None
    u = float(ranks[: one.size].sum()) - one.size * (one.size + 1) / 2
    z = max(abs(u - pairs / 2) - 0.5, 0.0) / math.sqrt(variance)
    return min(1.0, max(2 * float(ndtr(-z)), math.ulp(0.0)))


def _corrected(ranks: Floats) -> float:
    """By how much ties make the variance of ranks smaller: 1 without any, 0 where all are equal."""
    _, counts = np.unique(ranks, return_counts=True)
    n = ranks.size
    return 1 - float((counts.astype(np.float64) ** 3 - counts).sum()) / (n**3 - n) if n > 1 else 0.0
