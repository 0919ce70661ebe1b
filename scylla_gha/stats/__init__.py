"""Numeric functions that know nothing of agents and trials.

The functions in this file need no NumPy: the record of an interval, Wilson's limits, and paired differences of rates.
Their test and interval of differences are never less cautious than the test of `resampling` and the limits of `means`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

MOST_EXACT: Final = 16  # differences whose 65,536 assignments of signs are enumerated
_LEAST_P: Final = 0.0001  # 9,999 draws cannot resolve a smaller p
_Z: Final = 1.959963984540054  # the standard normal's 0.975 quantile
_LEVEL: Final = 0.975
_LEAST_SQUARES: Final = 0.02  # the sum of squares that equal differences are assumed to have
_EDGE: Final = 1e-9
_BISECTIONS: Final = 80


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95 % limits.

    Status `ok`: both limits are known. `point`: there are no limits, since there are too few values or all are equal.
    `infinite`: the estimate is infinite, and `low` is a one-sided limit. `unbounded`: a limit of None is infinite.
    """

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    n: int  # independent units: values, or clusters if there are clusters
    status: Literal["ok", "point", "infinite", "unbounded"] = "ok"


def make_interval(estimate: float, limits: tuple[float, float], method: str, n: int) -> Interval | None:
    """Build an interval from numbers in which NaN means unknown: None without an estimate, `point` without a limit."""
    if math.isnan(estimate):
        return None
    low, high = (float(limit) for limit in limits)
    if math.isnan(low) or math.isnan(high):
        return Interval(float(estimate), None, None, method, n, "point")
    if math.isinf(low) or math.isinf(high):
        finite = [None if math.isinf(limit) else limit for limit in (low, high)]
        return Interval(float(estimate), finite[0], finite[1], method, n, "unbounded")
    return Interval(float(estimate), low, high, method, n)


def format_p(p: float | None) -> str:
    """Format a p value for people; never as 0."""
    if p is None:
        return "unknown"
    if p < _LEAST_P:
        return f"< {_LEAST_P}"
    return f"{p:.{max(2, 1 - math.floor(math.log10(p)))}f}" if p < 1 else "1"


def wilson(successes: int, n: int) -> tuple[float, float] | None:
    """Compute Wilson's 95 % score interval of a proportion, both limits in [0, 1]; None if n is 0.

    Source: Wilson 1927, JASA 22:209; Newcombe 1998, Statistics in Medicine 17:857, method 3.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..{n}, not {successes}")
    if n == 0:
        return None
    p = successes / n
    centre = (p + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z * math.sqrt(p * (1 - p) / n + _Z * _Z / (4 * n * n)) / (1 + _Z * _Z / n)
    # At the edges the limit is exactly 0 or 1; floating point must not miss it.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def cost_per_success(total: float, successes: int) -> float | None:
    """Divide the total cost by the successes; None without a success (the cost is infinite).

    Source: Erol et al. 2025, arXiv:2504.13359: mean cost of an attempt over the success rate.
    """
    return total / successes if successes else None


def sign_flip_bound(differences: Sequence[float]) -> float:
    """Compute the two-sided p of the sign-flip test, or an upper bound of it; differences of 0 are ignored.

    Exact (Fisher 1935) up to 16 differences, else Hoeffding's bound on the tail (1963, theorem 2).
    """
    nonzero = [d for d in differences if d]
    observed = abs(math.fsum(nonzero)) - _EDGE
    if len(nonzero) > MOST_EXACT:
        return min(1.0, 2 * math.exp(-(max(0.0, observed) ** 2) / (2 * math.fsum(d * d for d in nonzero))))
    sums = [0.0]
    for d in nonzero:
        sums = [partial + sign for partial in sums for sign in (d, -d)]
    return sum(1 for total in sums if abs(total) >= observed) / len(sums)


def difference_interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """Compute the 95 % interval of the mean of numbers between -1 and 1; None with fewer than two.

    Student's t in score form; if all differences are 1 (or -1), the interval of Clopper and Pearson.
    """
    n = len(differences)
    if n < 2:  # noqa: PLR2004 a spread needs two values
        return None
    mean = math.fsum(differences) / n
    if abs(mean) >= 1 - _EDGE:
        least = 2 * (1 - _LEVEL) ** (1 / n) - 1
        return (least, 1.0) if mean > 0 else (-1.0, -least)
    squares = max(math.fsum((d - mean) ** 2 for d in differences), _LEAST_SQUARES)
    k = student_t_975(n - 1) ** 2 * squares / (n - 1) / n / (1 - mean * mean)
    half = math.sqrt(k * (1 + k - mean * mean))
    return (mean - half) / (1 + k), (mean + half) / (1 + k)


@lru_cache(maxsize=256)
def student_t_975(df: int) -> float:
    """Find Student's 0.975 quantile for a whole number of degrees of freedom, by bisection."""
    low, high = 0.0, 13.0  # that of one degree is 12.71
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cdf(middle, df) < _LEVEL else (low, middle)
    return high


def _t_cdf(t: float, df: int) -> float:
    """Compute the distribution function for t above 0. Source: Abramowitz & Stegun 1964, 26.7.3 and 26.7.4."""
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
