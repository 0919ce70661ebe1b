"""An estimate with its limits, and how a p value is printed. Needs no NumPy."""

import math
from dataclasses import dataclass
from typing import Final, Literal

Status = Literal["ok", "point", "infinite", "unbounded"]
_LEAST_P: Final = 0.0001  # 9,999 draws cannot resolve a smaller p


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its limits.

    Status `ok`: both limits. `point`: too few values, or all equal, so there are no limits. `infinite`: the estimate is
    infinite, and `low` is a one-sided limit at `confidence`. `unbounded`: a limit that is None is infinite.
    """

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    n: int  # independent units: values, or clusters if there are clusters
    confidence: float = 0.95
    status: Status = "ok"


def make_interval(
    estimate: float, limits: tuple[float, float], method: str, n: int, confidence: float = 0.95
) -> Interval | None:
    """Build an interval from numbers in which NaN means unknown: None without an estimate, `point` without a limit."""
    if math.isnan(estimate):
        return None
    low, high = (float(limit) for limit in limits)
    if math.isnan(low) or math.isnan(high):
        return Interval(float(estimate), None, None, method, n, confidence, "point")
    if math.isinf(low) or math.isinf(high):
        finite = [None if math.isinf(limit) else limit for limit in (low, high)]
        return Interval(float(estimate), finite[0], finite[1], method, n, confidence, "unbounded")
    return Interval(float(estimate), low, high, method, n, confidence)


def format_p(p: float | None) -> str:
    """Format a p value for people; never as 0."""
    if p is None:
        return "unknown"
    if p < _LEAST_P:
        return f"< {_LEAST_P}"
    return f"{p:.{max(2, 1 - math.floor(math.log10(p)))}f}" if p < 1 else "1"
