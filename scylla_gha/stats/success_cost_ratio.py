"""What one success costs on one side, over what it costs on the other, on the same units."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.interval import Interval, interval
from scylla_gha.stats.ratio import log_limits
from scylla_gha.stats.success_cost import rate_variance_floor

_TWO: Final = 2
_METHOD: Final = "log-delta with t on scenario means, paired, floor"


@dataclass(frozen=True, slots=True)
class Attempts:
    """Of one side, for each unit: mean cost and rate of success, shape (units,); and all attempts and successes."""

    cost: Floats
    rate: Floats
    attempts: int
    successes: float

    @property
    def value(self) -> float | None:
        """Mean cost over the mean rate; None where nothing succeeded (it is infinite), or where it costs nothing."""
        cost, rate = float(self.cost.mean()), float(self.rate.mean())
        return cost / rate if cost > 0 and rate > 0 else None

    @property
    def influence(self) -> Floats:
        """How each unit moves the logarithm of the value."""
        return np.asarray(self.cost / self.cost.mean() - self.rate / self.rate.mean())

    @property
    def lack(self) -> float:
        """What is added to the variance of that, where the rates of all units say too little of how rates vary."""
        seen = float(self.rate.var(ddof=1)) / self.rate.size if self.rate.size > 1 else 0.0
        lack = max(0.0, rate_variance_floor(self.successes, self.attempts) - seen)
        return lack / float(self.rate.mean()) ** 2


def success_cost_ratio(one: Attempts, other: Attempts, confidence: float = 0.95) -> Interval | None:
    """The ratio of both values: log-delta on the paired units, with t on units less one.

    The variance of the logarithm is that of the units' influences, side less side, over their number; so what makes a
    unit dear on both sides cancels out. A `point` with one unit, or without spread; None where a side has no value.
    """
    if not one.cost.size or one.value is None or other.value is None:
        return None
    estimate, n = one.value / other.value, one.cost.size
    limits = (math.nan, math.nan)
    if n >= _TWO:
        moved = one.influence - other.influence
        variance = float(moved.var(ddof=1)) / n + one.lack + other.lack
        limits = log_limits(estimate, variance, n, confidence)
    return interval(estimate, limits, _METHOD, n, confidence)
