"""CUSUM: slow drift, as a sum that runs up while values stay on one side of a target.

In units of sigma, `k` (half the drift that matters) is taken off each value, and a sum above `h` is a signal. With the
usual k = 0.5 and h = 5 a stationary normal series gives a false signal once in some 465 values.
Source: Montgomery, Introduction to Statistical Quality Control, ch. 9.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, flat, vector


@dataclass(frozen=True, slots=True)
class Cusum:
    """Both sums after each value, in sigmas and none below 0."""

    upper: Floats
    lower: Floats


@dataclass(frozen=True, slots=True)
class Signal:
    """`at`: the value, counted from 0, that brought a sum above h; `since`: the first value of that run."""

    at: int
    since: int
    side: Literal["up", "down"]


def standardised(values: ArrayLike, reference: int) -> Floats | None:
    """Values in sds (with n - 1) from the mean of the first `reference` ones, which stand for "as it should be".

    None where there are fewer than these, or where they are all equal.

    Raises:
        ValueError: reference below 2, or a value that is NaN or infinite.
    """
    x = vector(values)
    if reference < 2:  # noqa: PLR2004 an sd takes two
        raise ValueError(f"the reference must be at least 2 values, not {reference}")
    first = x[:reference]
    if x.size < reference or flat(first):
        return None
    return np.asarray((x - first.mean()) / first.std(ddof=1))


def cusum(residuals: ArrayLike, k: float = 0.5) -> Cusum:
    """Both sums of standardised residuals; empty for no residuals.

    Raises:
        ValueError: k below 0, or a residual that is NaN or infinite.
    """
    if not k >= 0:
        raise ValueError(f"k must be at least 0, not {k}")
    z = vector(residuals, "residuals")
    return Cusum(_run(z - k), _run(-z - k))


def _run(steps: Floats) -> Floats:
    """S_i = max(0, S_(i-1) + step): the running sum less its lowest point so far, 0 before the start."""
    total, found = 0.0, np.empty_like(steps)
    for at, step in enumerate(steps):  # a loop, for a difference of long sums would not be 0 where it should
        total = max(0.0, total + float(step))
        found[at] = total
    return found


def first_signal(sums: Cusum, h: float = 5.0) -> Signal | None:
    """The first sum above h; None where there is none. `since` tells where the drift is likely to have begun.

    Raises:
        ValueError: h is not above 0.
    """
    if not h > 0:
        raise ValueError(f"h must be above 0, not {h}")
    up, down = _first(sums.upper, h), _first(sums.lower, h)
    found = [(at, side) for at, side in ((up, "up"), (down, "down")) if at is not None]
    if not found:
        return None
    at, _ = min(found)
    if at == up:
        return Signal(at, _since(sums.upper, at), "up")
    return Signal(at, _since(sums.lower, at), "down")


def _first(sums: Floats, h: float) -> int | None:
    above = np.flatnonzero(sums > h)
    return int(above[0]) if above.size else None


def _since(sums: Floats, at: int) -> int:
    zeros = np.flatnonzero(sums[:at] == 0)
    return int(zeros[-1]) + 1 if zeros.size else 0
