"""Paired comparison over shared scenarios: the mean difference, or the ratio of geometric means, with limits."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis.verdicts import ALPHA, can_show
from scylla_gha.model.analysis import Contrast
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.effects import mde_paired
from scylla_gha.stats.means import FEW_NOT_ZERO, mean_limits, mean_limits_bounded, rare_limits

Scale = Literal["difference", "ratio"]
WIDE: Final = 0.95
INNER: Final = 0.90  # two one-sided tests at 0.05 are an interval at this confidence
_TWO: Final = 2
_FEWEST_UNBOUNDED: Final = 10  # scenarios for equivalence by t: with fewer, skewed data look more alike than they are
_SIGN_FLIP_FACTOR: Final = 1.08  # a verdict's smallest effect over that of a t-test
_LARGEST: Final = 700.0  # whose exponential a double still holds


@dataclass(frozen=True, slots=True)
class PairedSides:
    """Scenario means of both sides, shape (scenarios,), NaN if a side has none, and their differences `d`.

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
        """A mask of the scenarios that both have."""
        return ~np.isnan(self.d)


def pair_sides(one: Floats, other: Floats, scale: Scale, *, bounded: bool, family: int = 1) -> list[PairedSides]:
    """Pair scenario means and compute limits, for many comparisons at once.

    Args:
        one: shape (comparisons, scenarios).
        other: likewise.
        scale: of what is compared.
        bounded: whether the values lie between 0 and 1, as rates and scores do.
        family: number of comparisons, for which equivalence is adjusted (Bonferroni).
    """
    d = np.log(one) - np.log(other) if scale == "ratio" else one - other
    mean, low, high = mean_limits(d, WIDE)
    confidence = 1 - (1 - INNER) / family
    columns = [low, high, *mean_limits(d, INNER)[1:]]
    if bounded:
        columns = [*mean_limits_bounded(d), *rare_limits(d, INNER), *rare_limits(d, confidence)]
    else:
        enough = (~np.isnan(d)).sum(axis=1) >= _FEWEST_UNBOUNDED
        columns += [np.where(enough, limit, np.nan) for limit in mean_limits(d, confidence)[1:]]
    limits = np.column_stack(columns)
    return [PairedSides(one[at], other[at], d[at], float(mean[at]), limits[at], scale, bounded) for at in range(len(d))]


def paired_contrast(pair: PairedSides, metric: str, family: int = 1) -> Contrast:
    """Build the contrast, without names, p and effect sizes; `family` is for the smallest effect."""
    d = pair.d[pair.shared]
    blank = Contrast(
        arm="", baseline="", metric=metric, scale=pair.scale, value=None, scenarios=d.size,
        dropped=int(np.sum(np.isnan(pair.one) != np.isnan(pair.other))),
        wins=(int((d > 0).sum()), int((d == 0).sum()), int((d < 0).sum())),
    )  # fmt: skip
    if not d.size:
        return blank.model_copy(update={"note": "the two share no scenario with a known value"})
    method, note = _method(pair, d)
    value, limits, effect = pair.mean, pair.limits, _smallest_effect(d, family)
    if pair.scale == "ratio":
        value, limits = float(np.exp(value)), np.exp(limits)
        effect = None if effect is None else float(np.exp(min(effect, _LARGEST)))
    elif pair.bounded and effect is not None and effect >= 1:
        effect = None
    names = ("low", "high", "inner_low", "inner_high", "equal_low", "equal_high")
    known = {name: None if np.isnan(limit) else float(limit) for name, limit in zip(names, limits, strict=True)}
    return blank.model_copy(update={"value": value, **known, "method": method, "note": note, "smallest_effect": effect})


def _method(pair: PairedSides, d: Floats) -> tuple[str, str]:
    """Return the method of the 95 % interval, and why there is none."""
    if d.size < _TWO:
        return "", "one scenario shows no spread"
    if pair.bounded:
        few = int((d != 0).sum()) < FEW_NOT_ZERO
        return ("bounded mean, as few scenarios differ" if few else "paired t on scenario means, score form"), ""
    if np.isnan(pair.limits[0]):
        return "", "all differences are alike, and show no spread"
    return f"paired t on scenario means{', logarithms' if pair.scale == 'ratio' else ''}", ""


def _smallest_effect(d: Floats, family: int) -> float | None:
    """Return the effect that the verdict detects with 80 % power on so many scenarios with this spread, or None."""
    spread = float(d.std(ddof=1)) if d.size >= _TWO else 0.0
    unit = likely_effect(d.size, family) if spread > 0 and can_show(d.size, family) else None
    return None if unit is None else unit * spread


@lru_cache(maxsize=256)
def likely_effect(n: int, family: int, power: float = 0.8) -> float | None:
    """Approximate the effect, in standard deviations, that the strictest verdict of a family detects.

    The effect of a t-test, times what the sign-flip test (the verdict's second condition) adds to it. The simulation of
    the command `power` starts here.
    """
    effect = mde_paired(1.0, n, ALPHA / family, power)
    return None if effect is None else effect * _SIGN_FLIP_FACTOR
