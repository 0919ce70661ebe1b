"""What a design can see: from variances, a pilot's or the usual ones, to the smallest effect and its price."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.repetitions import passes
from scylla_gha.analysis.simulated import Layout, power_to_differ, smallest_effect
from scylla_gha.analysis.verdicts import ALPHA, scenarios_needed
from scylla_gha.model.design import Design, PairVariance, Power
from scylla_gha.stats.power import Split, split_variance
from scylla_gha.stats.pvalue import least_p_drawn, least_p_sign_flip
from scylla_gha.stats.resampling import DRAWS
from scylla_gha.stats.signflip import MOST_EXACT

# Rates that are uniform over scenarios, and correlated by 0.8 between two arms.
USUAL_SPLIT: Final = Split(between=1 / 30, within_x=1 / 6, within_y=1 / 6)
USUAL_BASIS: Final = "the usual variances (w^2 1/30, s^2 1/6), since no rows with repetitions are stored"
_SCENARIOS: Final = (5, 10, 20, 50, 100, 200)
_REPETITIONS: Final = (1, 3, 5, 10)
_MOST_REPETITIONS: Final = 100
_POWER: Final = 0.8


@dataclass(frozen=True, slots=True)
class Price:
    """Of one repetition of one scenario by every arm; None where it is not known."""

    usd: float | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked: of which experiment, with how many arms and scenarios, and the effect that is to be seen."""

    experiment: str
    arms: int
    scenarios: int
    repetitions: int
    effect: float

    @property
    def family(self) -> int:
        """Comparisons with the baseline."""
        return max(1, self.arms - 1)


def pair_variances(frame: Frame, baseline: str) -> tuple[PairVariance, ...]:
    """Of each arm against the baseline; arms without repetitions or a common scenario are left out."""
    if baseline not in frame.arms:
        return ()
    base, found = passes(frame, frame.arms.index(baseline)), []
    for place, arm in enumerate(frame.arms):
        table = passes(frame, place)
        split = split_variance(table, base) if arm != baseline else None
        if split is not None:
            shared = ~np.isnan(table).all(axis=1) & ~np.isnan(base).all(axis=1)
            rate = float(np.nanmean(base[shared], axis=1).mean())
            found.append(PairVariance(arm=arm, between=split.between, within=split.within_x,
                                      within_baseline=split.within_y, scenarios=int(shared.sum()),
                                      rate_baseline=rate))  # fmt: skip
    return tuple(found)


def split_of(variance: PairVariance) -> Split:
    """A pilot's variances, for power."""
    return Split(variance.between, variance.within, variance.within_baseline, variance.rate_baseline)


def splits_of(variances: Sequence[PairVariance]) -> tuple[Split, ...]:
    """For power; the usual ones where there are none."""
    found = tuple(split_of(one) for one in variances)
    return found or (USUAL_SPLIT,)


def price_of(frame: Frame, arms: Sequence[str]) -> Price:
    """What a repetition of a scenario by all these arms cost, judges included, and how long it took.

    By the trials that measure the agent, the mean of each arm; unknown in one is unknown in the sum.
    """
    columns = frame.columns
    usd, minutes = 0.0, 0.0
    for arm in arms:
        rows = frame.measures & (frame.arm == frame.arms.index(arm)) if arm in frame.arms else np.zeros(0, dtype=bool)
        if not rows.any():
            return Price()
        usd += float((columns["usd"][rows] + columns["judge_usd"][rows]).mean())
        minutes += float(columns["seconds"][rows].mean()) / 60
    return Price(None if math.isnan(usd) else usd, minutes)


def can_show(scenarios: int, family: int) -> bool:
    """Whether so many scenarios can ever give a p, adjusted for the family, that is small enough."""
    floor = least_p_drawn(DRAWS) if scenarios > MOST_EXACT else 0.0
    return max(least_p_sign_flip(scenarios), floor) * family <= ALPHA


def hardest_effect(splits: Sequence[Split], layout: Layout, family: int) -> float | None:
    """The smallest difference of pass rates that is seen with 80 % power in each pair; None where one sees none.

    Args:
        splits: the variances of each pair.
        layout: scenarios and repetitions.
        family: comparisons; the strictest one decides.
    """
    if not can_show(layout.scenarios, family):
        return None
    found = [smallest_effect(split, layout, family) for split in dict.fromkeys(splits)]
    known = [one for one in found if one is not None]
    return max(known) if len(known) == len(found) else None


def power(wanted: Wanted, variances: tuple[PairVariance, ...], price: Price, basis: str) -> Power:
    """The table of designs; of several arms, the one that is hardest to tell from the baseline decides."""
    splits = splits_of(variances)
    scenarios = sorted({*_SCENARIOS, max(1, wanted.scenarios)})
    repetitions = sorted({*_REPETITIONS, max(1, wanted.repetitions)})
    designs = tuple(_design(c, k, wanted, splits, price) for c in scenarios for k in repetitions)
    return Power(
        experiment=wanted.experiment, arms=wanted.arms, comparisons=wanted.family, effect=wanted.effect,
        basis=basis, variances=variances, designs=designs, cheapest=_cheapest(designs),
        at_hand=experiment_at_hand(wanted, splits),
    )  # fmt: skip


def _design(scenarios: int, repetitions: int, wanted: Wanted, splits: Sequence[Split], price: Price) -> Design:
    effect = hardest_effect(splits, Layout(scenarios, repetitions, repetitions), wanted.family)
    groups = scenarios * repetitions
    return Design(
        scenarios=scenarios, repetitions=repetitions, smallest_effect=effect, trials=groups * wanted.arms,
        usd=None if price.usd is None else groups * price.usd,
        minutes=None if price.minutes is None else groups * price.minutes,
        sees=effect is not None and effect <= wanted.effect,
    )  # fmt: skip


def _cheapest(designs: Sequence[Design]) -> Design | None:
    """By money, then by trials; of equals the one with fewer scenarios, which somebody has to write."""
    seeing = [one for one in designs if one.sees]
    return min(seeing, key=lambda one: (one.usd or 0.0, one.trials, one.scenarios), default=None)


def experiment_at_hand(wanted: Wanted, splits: Sequence[Split]) -> str:
    """Whether the experiment's own scenarios can show the effect, and by how many repetitions."""
    c, points = wanted.scenarios, f"{100 * wanted.effect:g} points"
    if not can_show(c, wanted.family):
        return f"the {c} scenarios at hand can show no effect: {lacking(c, wanted.family)}"

    def sees(repetitions: int) -> bool:
        layout = Layout(c, repetitions, repetitions)
        return all(power_to_differ(split, layout, wanted.effect, wanted.family) >= _POWER for split in splits)

    if not sees(_MOST_REPETITIONS):
        return (f"the {c} scenarios at hand cannot show {points}, not with {_MOST_REPETITIONS} repetitions: "
                "it takes more of them")  # fmt: skip
    low, high = 0, _MOST_REPETITIONS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return f"the {c} scenarios at hand show {points} with {high} repetitions"


def lacking(scenarios: int, family: int) -> str:
    """Why no p is small enough, and what it would take."""
    if family * least_p_drawn(DRAWS) > ALPHA:
        return (f"{family} comparisons in one family are more than {DRAWS} draws of the test can tell; "
                "compare fewer arms")  # fmt: skip
    need = scenarios_needed(family)
    least = least_p_sign_flip(scenarios) * family
    comparisons = "1 comparison" if family == 1 else f"{family} comparisons"
    return (f"with {scenarios} scenarios and {comparisons} in the family, p is {min(1.0, least):.2g} at least, "
            f"never 0.05; it takes {need} scenarios")  # fmt: skip
