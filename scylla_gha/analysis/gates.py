"""Checks before anything is paid: the smallest effect that a plan can detect, and whether its gate can be passed."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.design import USUAL_SPLIT, split_of, why_no_p
from scylla_gha.analysis.simulated import Layout, hardest_effect, power_not_worse
from scylla_gha.analysis.verdicts import can_show
from scylla_gha.counting import counted
from scylla_gha.model.comparison import PairVariance
from scylla_gha.model.plan import Plan
from scylla_gha.stats.effects import Split

WANTED_POWER: Final = 0.8
IDLE: Final = 0.1  # an arm a whole margin worse passes with 0.05
_MOST_SCENARIOS: Final = 100_000


@dataclass(frozen=True, slots=True)
class PlannedComparison:
    """A planned arm and its baseline: shared scenarios, means of 1 / repetitions over these, and variances."""

    arm: str
    scenarios: int
    inverse: float
    inverse_baseline: float
    split: Split

    def layout(self, scenarios: int | None = None) -> Layout:
        """Return the size of the comparison, with its own number of scenarios or another."""
        return Layout(
            scenarios or self.scenarios, max(1, round(1 / self.inverse)), max(1, round(1 / self.inverse_baseline))
        )

    def pass_chance(self, margin: float, scenarios: int | None = None) -> float:
        """Return the chance that an arm as good as the baseline passes the gate `not_worse`."""
        return power_not_worse(self.split, self.layout(scenarios), margin)


def planned_comparisons(plan: Plan, variances: Sequence[PairVariance]) -> tuple[PlannedComparison, ...]:
    """List the comparison of every arm with its baseline; with usual variances if the pilot has none of the arm."""
    counts = Counter((cell.arm, cell.scenario) for cell in plan.cells)
    known = {variance.arm: split_of(variance) for variance in variances}
    repetitions: dict[str, dict[str, int]] = defaultdict(dict)
    for (arm, scenario), n in counts.items():
        repetitions[arm][scenario] = n
    return tuple(_comparison(arm, counts, repetitions[baseline], known.get(arm, USUAL_SPLIT))
                 for arm, baseline in plan.pairs.items())  # fmt: skip


def _comparison(
    arm: str, counts: Counter[tuple[str, str]], baseline: dict[str, int], split: Split
) -> PlannedComparison:
    shared = [(counts[arm, scenario], n) for scenario, n in baseline.items() if counts[arm, scenario]]
    inverse, inverse_baseline = (1 / np.array(shared, dtype=np.float64)).mean(axis=0) if shared else (1.0, 1.0)
    return PlannedComparison(arm, len(shared), float(inverse), float(inverse_baseline), split)


def notes(plan: Plan, variances: Sequence[PairVariance], basis: str) -> Iterator[str]:
    """Yield notes on a plan: the smallest effect that it can detect, and how likely its gate is passed.

    None without an arm to compare.

    Args:
        plan: to be run.
        variances: of a pilot, if there is one.
        basis: where they come from.
    """
    comparisons = planned_comparisons(plan, variances)
    if not comparisons:
        return
    family = len(comparisons)
    hardest = max(comparisons, key=lambda comparison: _effect(comparison, family))
    effect = hardest_effect((hardest.split,), hardest.layout(), family)
    size = f"{counted(hardest.scenarios, 'scenario')}, {counted(family, 'comparison')}"
    if not can_show(hardest.scenarios, family):
        yield f"no difference of pass rates can be shown, however large: {why_no_p(hardest.scenarios, family)}"
    elif effect is None:
        yield f"no difference of pass rates is likely to be shown ({size}; by {basis}); `scylla-gha power` tells more"
    else:
        yield f"smallest difference of pass rates seen with 80 % power: {100 * effect:.1f} points ({size}; by {basis})"
    if plan.experiment.gate == "not_worse":
        yield from _low_chance(comparisons, plan.experiment.margin)


def _effect(comparison: PlannedComparison, family: int) -> float:
    effect = hardest_effect((comparison.split,), comparison.layout(), family)
    return float("inf") if effect is None else effect


def _low_chance(comparisons: Sequence[PlannedComparison], margin: float) -> Iterator[str]:
    worst = min(comparisons, key=lambda comparison: comparison.pass_chance(margin))
    chance = worst.pass_chance(margin)
    if IDLE <= chance < WANTED_POWER:
        yield (f"gate not_worse: an arm as good as the baseline passes it with a chance of {100 * chance:.0f} % only "
               f"({worst.arm}); {_needed(worst, margin)}")  # fmt: skip


def why_gate_impossible(plan: Plan, variances: Sequence[PairVariance], basis: str) -> str | None:
    """Explain why a plan's gate can never, or hardly ever, be passed, and what is needed; None if it can."""
    gate, comparisons = plan.experiment.gate, planned_comparisons(plan, variances)
    if gate == "none":
        return None
    if not comparisons:
        baseline = plan.experiment.baseline
        return f"gate {gate}: no arm is planned beside the baseline {baseline}; plan one, or set gate: none"
    if gate == "better":
        return _never_better(comparisons)
    return _never_not_worse(comparisons, plan.experiment.margin, basis)


def _never_better(comparisons: Sequence[PlannedComparison]) -> str | None:
    poorest, family = min(comparisons, key=lambda comparison: comparison.scenarios), len(comparisons)
    if can_show(poorest.scenarios, family):
        return None
    return (f"gate better: {poorest.arm} can never pass it: {why_no_p(poorest.scenarios, family)}; "
            "plan more scenarios or fewer arms, or set gate: none")  # fmt: skip


def _never_not_worse(comparisons: Sequence[PlannedComparison], margin: float, basis: str) -> str | None:
    worst = min(comparisons, key=lambda comparison: comparison.pass_chance(margin))
    if worst.scenarios < 2:  # noqa: PLR2004 a spread takes two
        few = f"a spread takes more scenarios than the {worst.scenarios} that the baseline has too"
        return f"gate not_worse: {worst.arm} can never pass it: {few}; {_needed(worst, margin)}; or set gate: none"
    chance = worst.pass_chance(margin)
    if chance >= IDLE:
        return None
    return (f"gate not_worse: {worst.arm}, were it as good as the baseline, would pass it with a chance of "
            f"{100 * chance:.0f} % (margin {counted(100 * margin, 'point', form='g')}, "
            f"{counted(worst.scenarios, 'scenario')}; by {basis}); "
            f"{_needed(worst, margin)}; or widen the margin, or set gate: none")  # fmt: skip


def _needed(comparison: PlannedComparison, margin: float) -> str:
    """Name the scenarios that give the wanted power, with the planned repetitions."""
    low, high = 1, 2
    while comparison.pass_chance(margin, high) < WANTED_POWER:
        low, high = high, 2 * high
        if high > _MOST_SCENARIOS:
            return "no number of scenarios that anybody runs would do"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if comparison.pass_chance(margin, middle) >= WANTED_POWER else (middle, high)
    return f"with as many repetitions, {counted(high, 'scenario')} would make that {100 * WANTED_POWER:g} %"
