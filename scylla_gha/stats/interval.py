"""An estimate with its limits; an infinite one is a status, never an infinity, and an unknown limit is None."""

import math
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "point", "infinite", "unbounded"]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and the limits that are told about it.

    Status `ok`: both limits. `point`: the data are too few, or all equal, for limits. `infinite`: the estimate is
    infinite, and `low` is a one-sided limit at `confidence`. `unbounded`: a limit that is None is infinite.
    """

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    n: int  # the independent units: values, or clusters where there are clusters
    confidence: float = 0.95
    status: Status = "ok"


def interval(
    estimate: float, limits: tuple[float, float], method: str, n: int, confidence: float = 0.95
) -> Interval | None:
    """From numbers in which NaN means "not known": None where the estimate is, `point` where a limit is."""
    if math.isnan(estimate):
        return None
    low, high = (float(limit) for limit in limits)
    if math.isnan(low) or math.isnan(high):
        return Interval(float(estimate), None, None, method, n, confidence, "point")
    if math.isinf(low) or math.isinf(high):
        finite = [None if math.isinf(limit) else limit for limit in (low, high)]
        return Interval(float(estimate), finite[0], finite[1], method, n, confidence, "unbounded")
    return Interval(float(estimate), low, high, method, n, confidence)
