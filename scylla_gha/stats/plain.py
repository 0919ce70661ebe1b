"""Paired shares without NumPy: an exact test and an interval, both never narrower than those of the statistics.

The test flips signs (Fisher 1935): exact for up to 16 differences, else by Hoeffding's bound on its tail (1963, theorem
2), which is above the exact p. The interval is Student's t in score form; where all pairs differ by 1 it is that of
Clopper and Pearson.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

MOST_EXACT: Final = 16
_LEVEL: Final = 0.975
_LEAST_SQUARES: Final = 0.02
_EDGE: Final = 1e-9
_STEPS: Final = 80


def sign_flip_bound(differences: Sequence[float]) -> float:
    """The two-sided p of the sign-flip test, or a bound above it; zeros take no part, and alone they have p = 1."""
    moved = [d for d in differences if d]
    observed = abs(math.fsum(moved)) - _EDGE
    if len(moved) > MOST_EXACT:
        return min(1.0, 2 * math.exp(-(max(0.0, observed) ** 2) / (2 * math.fsum(d * d for d in moved))))
    sums = [0.0]
    for d in moved:
        sums = [one + sign for one in sums for sign in (d, -d)]
    return sum(1 for one in sums if abs(one) >= observed) / len(sums)


def mean_interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean of numbers between -1 and 1; None with fewer than two."""
    n = len(differences)
    if n < 2:  # noqa: PLR2004 a spread takes two
        return None
    mean = math.fsum(differences) / n
    if abs(mean) >= 1 - _EDGE:
        least = 2 * (1 - _LEVEL) ** (1 / n) - 1
        return (least, 1.0) if mean > 0 else (-1.0, -least)
    squares = max(math.fsum((d - mean) ** 2 for d in differences), _LEAST_SQUARES)
    k = t_quantile(n - 1) ** 2 * squares / (n - 1) / n / (1 - mean * mean)
    half = math.sqrt(k * (1 + k - mean * mean))
    return (mean - half) / (1 + k), (mean + half) / (1 + k)


@lru_cache(maxsize=256)
def t_quantile(df: int) -> float:
    """Student's 0.975 quantile for a whole number of degrees of freedom, found by bisection."""
    low, high = 0.0, 13.0  # that of one degree is 12.71
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cdf(middle, df) < _LEVEL else (low, middle)
    return high


def _t_cdf(t: float, df: int) -> float:
    """The distribution function for t above 0. Source: Abramowitz & Stegun 1964, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = cosine if df % 2 else 1.0
    for j in range(3 if df % 2 else 2, df, 2):
        term *= (j - 1) / j * cosine * cosine
        total += term
    inside = sine * total
    if df % 2:
        inside = 2 / math.pi * (angle + (inside if df > 1 else 0.0))
    return (1 + inside) / 2
