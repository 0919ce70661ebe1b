"""Two sides over the scenarios that both have: the mean difference, or the ratio of geometric means, with limits."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from scylla_gha.model.analysis import Contrast
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.bounded import FEW_NOT_ZERO, mean_limits_bounded, rare_limits
from scylla_gha.stats.mean import mean_limits
from scylla_gha.stats.power import mde_paired

Scale = Literal["difference", "ratio"]
WIDE: Final = 0.95
INNER: Final = 0.90  # two one-sided tests at 0.05 are an interval at this confidence
_TWO: Final = 2
_FEWEST_UNBOUNDED: Final = 10  # scenarios for equivalence by t: skewed data of fewer look more alike than they are
_LARGEST: Final = 700.0  # whose exponential a double still holds


@dataclass(frozen=True, slots=True)
class Sides:
    """Scenario means of both sides, shape (scenarios,), NaN where a side has none.

    `limits`: at 95 %, at 90 %, and those of equivalence: 90 % adjusted for the family; two each.
    """

    one: Floats
    other: Floats
    d: Floats
    mean: float
    limits: Floats
    scale: Scale
    bounded: bool

    @property
    def shared(self) -> Bools:
        """The scenarios that both have."""
        return ~np.isnan(self.d)


def sides(one: Floats, other: Floats, scale: Scale, *, bounded: bool, family: int = 1) -> list[Sides]:
    """Many comparisons at once.

    Args:
        one: shape (comparisons, scenarios).
        other: likewise.
        scale: of what is compared.
        bounded: whether what is compared lies between 0 and 1, as rates and scores do.
        family: comparisons that equivalence is adjusted for (Bonferroni).
    """
    d = np.log(one) - np.log(other) if scale == "ratio" else one - other
    mean, low, high = mean_limits(d, WIDE)
    confidence = 1 - (1 - INNER) / family
    found = [low, high, *mean_limits(d, INNER)[1:]]
    if bounded:
        found = [*mean_limits_bounded(d, WIDE), *rare_limits(d, INNER), *rare_limits(d, confidence)]
    else:
        enough = (~np.isnan(d)).sum(axis=1) >= _FEWEST_UNBOUNDED
        found += [np.where(enough, each, np.nan) for each in mean_limits(d, confidence)[1:]]
    limits = np.column_stack(found)
    return [Sides(one[at], other[at], d[at], float(mean[at]), limits[at], scale, bounded) for at in range(len(d))]


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
    method, note = _method(pair, d)
    value, limits, effect = pair.mean, pair.limits, _smallest_effect(d)
    if pair.scale == "ratio":
        value, limits = float(np.exp(value)), np.exp(limits)
        effect = None if effect is None else float(np.exp(min(effect, _LARGEST)))
    names = ("low", "high", "inner_low", "inner_high", "equal_low", "equal_high")
    known = {name: None if np.isnan(limit) else float(limit) for name, limit in zip(names, limits, strict=True)}
    return blank.model_copy(update={"value": value, **known, "method": method, "note": note, "smallest_effect": effect})


def _method(pair: Sides, d: Floats) -> tuple[str, str]:
    """Of the 95 % interval, and why there is none."""
    if d.size < _TWO:
        return "", "one scenario shows no spread"
    if pair.bounded:
        few = int((d != 0).sum()) < FEW_NOT_ZERO
        return ("bounded mean, as few scenarios differ" if few else "paired t on scenario means, score form"), ""
    if np.isnan(pair.limits[0]):
        return "", "all differences are alike, and show no spread"
    return f"paired t on scenario means{', logarithms' if pair.scale == 'ratio' else ''}", ""


def _smallest_effect(d: Floats) -> float | None:
    """What is found with 80 % power by a t-test on so many scenarios with this spread."""
    spread = float(d.std(ddof=1)) if d.size >= _TWO else 0.0
    unit = _unit_effect(d.size) if spread > 0 else None
    return None if unit is None else unit * spread


@lru_cache(maxsize=256)
def _unit_effect(n: int) -> float | None:
    return mde_paired(1.0, n)
