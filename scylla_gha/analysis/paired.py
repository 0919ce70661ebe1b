"""Two sides over the scenarios that both have: the mean difference, or the ratio of geometric means, with limits."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from scylla_gha.model.analysis import Contrast
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.binomial import newcombe_limits
from scylla_gha.stats.mean import mean_limits
from scylla_gha.stats.power import mde_paired

Scale = Literal["difference", "ratio"]
WIDE: Final = 0.95
INNER: Final = 0.90  # two one-sided tests at 0.05 are an interval at this confidence
_TWO: Final = 2
_LARGEST: Final = 700.0  # whose exponential a double still holds


@dataclass(frozen=True, slots=True)
class Sides:
    """Scenario means of both sides, shape (scenarios,), NaN where a side has none; `limits`: wide, then inner."""

    one: Floats
    other: Floats
    d: Floats
    mean: float
    limits: Floats
    scale: Scale
    is_rate: bool

    @property
    def shared(self) -> Bools:
        """The scenarios that both have."""
        return ~np.isnan(self.d)


def sides(one: Floats, other: Floats, scale: Scale, *, is_rate: bool) -> list[Sides]:
    """Many comparisons at once.

    Args:
        one: shape (comparisons, scenarios).
        other: likewise.
        scale: of what is compared.
        is_rate: whether means are rates, of which more can be said where all differences are alike.
    """
    d = np.log(one) - np.log(other) if scale == "ratio" else one - other
    mean, low, high = mean_limits(d, WIDE)
    _, inner_low, inner_high = mean_limits(d, INNER)
    limits = np.column_stack([low, high, inner_low, inner_high])
    return [Sides(one[at], other[at], d[at], float(mean[at]), limits[at], scale, is_rate) for at in range(len(d))]


def told(pair: Sides, metric: str) -> Contrast:
    """As a record, but for who they are, p and effect sizes."""
    d = pair.d[pair.shared]
    blank = Contrast(
        arm="", baseline="", metric=metric, scale=pair.scale, value=None, scenarios=d.size,
        dropped=int(np.sum(np.isnan(pair.one) != np.isnan(pair.other))),
        wins=(int((d > 0).sum()), int((d == 0).sum()), int((d < 0).sum())),
    )  # fmt: skip
    if not d.size:
        return blank.model_copy(update={"note": "the two share no scenario with a known value"})
    limits, method, note = pair.limits, "paired t on scenario means", ""
    if np.isnan(limits[0]):
        limits, method, note = _alike(pair)
    value, effect = pair.mean, _smallest_effect(d)
    if pair.scale == "ratio":
        value, limits = float(np.exp(value)), np.exp(limits)
        method = method.replace("means", "means, logarithms")
        effect = None if effect is None else float(np.exp(min(effect, _LARGEST)))
    low, high, inner_low, inner_high = (None if np.isnan(one) else float(one) for one in limits)
    return blank.model_copy(update={"value": value, "low": low, "high": high, "inner_low": inner_low,
                                    "inner_high": inner_high, "method": method, "note": note,
                                    "smallest_effect": effect})  # fmt: skip


def _alike(pair: Sides) -> tuple[Floats, str, str]:
    """Where differences are alike, or one is alone, their spread says nothing; of rates, their number does."""
    shared = pair.shared
    n = int(shared.sum())
    if n < _TWO or not pair.is_rate:
        why = "one scenario shows no spread" if n < _TWO else "all differences are alike, and show no spread"
        return np.full(4, np.nan), "", why
    one, other = pair.one[shared].mean() * n, pair.other[shared].mean() * n
    both = [newcombe_limits((one, n), (other, n), confidence) for confidence in (WIDE, INNER)]
    return np.array(both, dtype=np.float64).ravel(), "Newcombe, scenarios as units", "all differences are alike"


def _smallest_effect(d: Floats) -> float | None:
    """What is found with 80 % power by a t-test on so many scenarios with this spread."""
    spread = float(d.std(ddof=1)) if d.size >= _TWO else 0.0
    unit = _unit_effect(d.size) if spread > 0 else None
    return None if unit is None else unit * spread


@lru_cache(maxsize=256)
def _unit_effect(n: int) -> float | None:
    return mde_paired(1.0, n)
