"""Before anything is paid for: the smallest effect that a plan can see, and whether its gate can ever be passed."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.design import USUAL_SPLIT, can_show, hardest_effect, lacking, split_of
from scylla_gha.analysis.simulated import Layout, power_not_worse
from scylla_gha.model.design import PairVariance
from scylla_gha.model.plan import Plan
from scylla_gha.stats.power import Split

WANTED_POWER: Final = 0.8
IDLE: Final = 0.1  # an arm a whole margin worse passes with 0.05: a gate that is hardly ever passed tells nothing
_MOST_SCENARIOS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Shape:
    """An arm beside the baseline in a plan: scenarios that both have, means over them of 1 / repetitions, variances."""

    arm: str
    scenarios: int
    inverse: float
    inverse_baseline: float
    split: Split

    def layout(self, scenarios: int | None = None) -> Layout:
        """With so many scenarios, or its own."""
        return Layout(
            scenarios or self.scenarios, max(1, round(1 / self.inverse)), max(1, round(1 / self.inverse_baseline))
        )

    def chance(self, margin: float, scenarios: int | None = None) -> float:
        """That the arm, were it as good as the baseline, passes `not_worse`."""
        return power_not_worse(self.split, self.layout(scenarios), margin)


def shapes(plan: Plan, variances: Sequence[PairVariance]) -> tuple[Shape, ...]:
    """Of every arm but the baseline; with the usual variances where the pilot has none of an arm."""
    counts = Counter((cell.arm, cell.scenario) for cell in plan.cells)
    known = {one.arm: split_of(one) for one in variances}
    base: dict[str, dict[str, int]] = defaultdict(dict)
    for (arm, scenario), n in counts.items():
        base[arm][scenario] = n
    return tuple(_shape(arm, counts, base[held], known.get(arm, USUAL_SPLIT)) for arm, held in plan.pairs.items())


def _shape(arm: str, counts: Counter[tuple[str, str]], base: dict[str, int], split: Split) -> Shape:
    shared = [(counts[arm, scenario], n) for scenario, n in base.items() if counts[arm, scenario]]
    inverse, inverse_baseline = (1 / np.array(shared, dtype=np.float64)).mean(axis=0) if shared else (1.0, 1.0)
    return Shape(arm, len(shared), float(inverse), float(inverse_baseline), split)


def notes(plan: Plan, variances: Sequence[PairVariance], basis: str) -> Iterator[str]:
    """What a person should know of a plan: the smallest effect it can see, and how likely its gate is passed.

    Nothing where there is nothing to compare.

    Args:
        plan: made.
        variances: of a pilot, or none.
        basis: where they come from.
    """
    found = shapes(plan, variances)
    if not found:
        return
    family = len(found)
    hardest = max(found, key=lambda one: _reach(one, family))
    reach = hardest_effect((hardest.split,), hardest.layout(), family)
    size = f"{hardest.scenarios} scenarios, {family} {'comparison' if family == 1 else 'comparisons'}"
    if not can_show(hardest.scenarios, family):
        yield f"no difference of pass rates can be shown, however large: {lacking(hardest.scenarios, family)}"
    elif reach is None:
        yield f"no difference of pass rates is likely to be shown ({size}; by {basis}); `scylla-gha power` tells more"
    else:
        yield f"smallest difference of pass rates seen with 80 % power: {100 * reach:.1f} points ({size}; by {basis})"
    if plan.experiment.gate == "not_worse":
        yield from _chances(found, plan.experiment.margin)


def _reach(shape: Shape, family: int) -> float:
    found = hardest_effect((shape.split,), shape.layout(), family)
    return float("inf") if found is None else found


def _chances(found: Sequence[Shape], margin: float) -> Iterator[str]:
    worst = min(found, key=lambda one: one.chance(margin))
    chance = worst.chance(margin)
    if IDLE <= chance < WANTED_POWER:
        yield (f"gate not_worse: an arm as good as the baseline passes it with a chance of {100 * chance:.0f} % only "
               f"({worst.arm}); {_takes(worst, margin)}")  # fmt: skip


def futile(plan: Plan, variances: Sequence[PairVariance], basis: str) -> str | None:
    """Why a plan's gate can never, or hardly ever, be passed, and what it would take; None where it can."""
    gate, found = plan.experiment.gate, shapes(plan, variances)
    if gate == "none":
        return None
    if not found:
        baseline = plan.experiment.baseline
        return f"gate {gate}: no arm is planned beside the baseline {baseline}; plan one, or set gate: none"
    if gate == "better":
        return _never_better(found)
    return _never_not_worse(found, plan.experiment.margin, basis)


def _never_better(found: Sequence[Shape]) -> str | None:
    poorest, family = min(found, key=lambda one: one.scenarios), len(found)
    if can_show(poorest.scenarios, family):
        return None
    return (f"gate better: {poorest.arm} can never pass it: {lacking(poorest.scenarios, family)}; "
            "plan more scenarios or fewer arms, or set gate: none")  # fmt: skip


def _never_not_worse(found: Sequence[Shape], margin: float, basis: str) -> str | None:
    worst = min(found, key=lambda one: one.chance(margin))
    if worst.scenarios < 2:  # noqa: PLR2004 a spread takes two
        return (f"gate not_worse: {worst.arm} can never pass it: {worst.scenarios} scenarios that the baseline has too "
                f"show no spread; {_takes(worst, margin)}; or set gate: none")  # fmt: skip
    chance = worst.chance(margin)
    if chance >= IDLE:
        return None
    return (f"gate not_worse: {worst.arm}, were it as good as the baseline, would pass it with a chance of "
            f"{100 * chance:.0f} % (margin {100 * margin:g} points, {worst.scenarios} scenarios; by {basis}); "
            f"{_takes(worst, margin)}; or widen the margin, or set gate: none")  # fmt: skip


def _takes(shape: Shape, margin: float) -> str:
    """The scenarios that give the wanted power, with as many repetitions as are planned."""
    low, high = 1, 2
    while shape.chance(margin, high) < WANTED_POWER:
        low, high = high, 2 * high
        if high > _MOST_SCENARIOS:
            return "no number of scenarios that anybody runs would do"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shape.chance(margin, middle) >= WANTED_POWER else (middle, high)
    return f"{high} scenarios with as many repetitions give it a chance of {100 * WANTED_POWER:g} %"
