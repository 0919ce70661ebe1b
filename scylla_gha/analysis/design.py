"""Power of designs: the smallest effect that they detect and their cost, from a pilot's variances or usual ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame, passes_by_repetition
from scylla_gha.analysis.simulated import POWER, Layout, hardest_effect, power_to_differ
from scylla_gha.analysis.verdicts import ALPHA, can_show, scenarios_needed
from scylla_gha.counting import counted
from scylla_gha.model.comparison import Design, PairVariance, Power
from scylla_gha.stats.effects import Split, split_variance
from scylla_gha.stats.resampling import DRAWS, least_p_drawn, least_p_sign_flip

# Rates that are uniform over scenarios, and correlated by 0.8 between two arms.
USUAL_SPLIT: Final = Split(between=1 / 30, within_x=1 / 6, within_y=1 / 6)
USUAL_BASIS: Final = "the usual variances (w^2 1/30, s^2 1/6), since no rows with repetitions are stored"
_SCENARIOS: Final = (5, 10, 20, 50, 100, 200)
_REPETITIONS: Final = (1, 3, 5, 10)
_MOST_REPETITIONS: Final = 100


@dataclass(frozen=True, slots=True)
class RepetitionCost:
    """Cost and time of one repetition of one scenario by every arm; None if unknown."""

    usd: float | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class PowerQuestion:
    """An experiment, its size, and the effect that it should detect."""

    experiment: str
    arms: int
    scenarios: int
    repetitions: int
    effect: float

    @property
    def family(self) -> int:
        """Number of comparisons with the baseline."""
        return max(1, self.arms - 1)


def pair_variances(frame: Frame, baseline: str) -> tuple[PairVariance, ...]:
    """Estimate the variances of each arm and the baseline; skip arms without repetitions or a shared scenario."""
    if baseline not in frame.arms:
        return ()
    base, variances = passes_by_repetition(frame, frame.arms.index(baseline)), []
    for at, arm in enumerate(frame.arms):
        table = passes_by_repetition(frame, at)
        split = split_variance(table, base) if arm != baseline else None
        if split is not None:
            shared = ~np.isnan(table).all(axis=1) & ~np.isnan(base).all(axis=1)
            rate = float(np.nanmean(base[shared], axis=1).mean())
            variances.append(PairVariance(arm=arm, between=split.between, within=split.within_x,
                                          within_baseline=split.within_y, scenarios=int(shared.sum()),
                                          rate_baseline=rate))  # fmt: skip
    return tuple(variances)


def split_of(variance: PairVariance) -> Split:
    """Convert a pilot's variances."""
    return Split(variance.between, variance.within, variance.within_baseline, variance.rate_baseline)


def repetition_cost(frame: Frame, arms: Sequence[str]) -> RepetitionCost:
    """Sum over the arms the mean cost, judges included, and time of a trial that measures the agent.

    Unknown in one arm is unknown in the sum.
    """
    columns = frame.columns
    usd, minutes = 0.0, 0.0
    for arm in arms:
        rows = frame.measures & (frame.arm == frame.arms.index(arm)) if arm in frame.arms else np.zeros(0, dtype=bool)
        if not rows.any():
            return RepetitionCost()
        usd += float((columns["usd"][rows] + columns["judge_usd"][rows]).mean())
        minutes += float(columns["seconds"][rows].mean()) / 60
    return RepetitionCost(None if math.isnan(usd) else usd, minutes)


def power(wanted: PowerQuestion, variances: tuple[PairVariance, ...], price: RepetitionCost, basis: str) -> Power:
    """Compute the table of designs; of several arms, the one that is hardest to distinguish decides."""
    splits = sorted((split_of(variance) for variance in variances), key=lambda split: -split.of_difference(1, 1))
    splits = splits or [USUAL_SPLIT]  # the hardest one first, which alone shows most designs to be too small
    scenarios = sorted({*_SCENARIOS, max(1, wanted.scenarios)})
    repetitions = sorted({*_REPETITIONS, max(1, wanted.repetitions)})
    designs = tuple(_design(c, k, wanted, splits, price) for c in scenarios for k in repetitions)
    return Power(
        experiment=wanted.experiment, arms=wanted.arms, comparisons=wanted.family, effect=wanted.effect,
        basis=basis, variances=variances, designs=designs, cheapest=_cheapest(designs),
        at_hand=own_scenarios(wanted, splits),
    )  # fmt: skip


def _design(
    scenarios: int, repetitions: int, wanted: PowerQuestion, splits: Sequence[Split], price: RepetitionCost
) -> Design:
    effect = hardest_effect(splits, Layout(scenarios, repetitions, repetitions), wanted.family)
    groups = scenarios * repetitions
    return Design(
        scenarios=scenarios, repetitions=repetitions, smallest_effect=effect, trials=groups * wanted.arms,
        usd=None if price.usd is None else groups * price.usd,
        minutes=None if price.minutes is None else groups * price.minutes,
        sees=effect is not None and effect <= wanted.effect,
    )  # fmt: skip


def _cheapest(designs: Sequence[Design]) -> Design | None:
    """Choose by cost, then by trials, then by scenarios, which somebody has to write."""
    sufficient = [design for design in designs if design.sees]
    return min(sufficient, key=lambda design: (design.usd or 0.0, design.trials, design.scenarios), default=None)


def own_scenarios(wanted: PowerQuestion, splits: Sequence[Split]) -> str:
    """Tell whether the experiment's own scenarios can show the effect, and with how many repetitions."""
    c, points = wanted.scenarios, counted(100 * wanted.effect, "point", form="g")
    here = counted(c, "scenario")
    if not can_show(c, wanted.family):
        return f"the {here} at hand can show no effect: {why_no_p(c, wanted.family)}"

    def sees(repetitions: int) -> bool:
        layout = Layout(c, repetitions, repetitions)
        return all(power_to_differ(split, layout, wanted.effect, wanted.family) >= POWER for split in splits)

    if not sees(_MOST_REPETITIONS):
        return (f"the {here} at hand cannot show {points}, not with {_MOST_REPETITIONS} repetitions: "
                "it takes more of them")  # fmt: skip
    low, high = 0, _MOST_REPETITIONS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return f"the {here} at hand can show {points} with {counted(high, 'repetition')}"


def why_no_p(scenarios: int, family: int) -> str:
    """Explain why no p can be small enough, and what is needed."""
    if family * least_p_drawn(DRAWS) > ALPHA:
        return (f"{counted(family, 'comparison')} in one family are more than {DRAWS} draws of the test can tell; "
                "compare fewer arms")  # fmt: skip
    need = scenarios_needed(family)
    least = least_p_sign_flip(scenarios) * family
    return (f"with {counted(scenarios, 'scenario')} and {counted(family, 'comparison')} in the family, p is "
            f"{min(1.0, least):.2g} at least, never 0.05; it takes {counted(need, 'scenario')}")  # fmt: skip
