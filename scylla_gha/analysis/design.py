"""Power of designs and plans: the smallest effect that they detect, their cost, and whether a gate can be passed.

Variances come from a pilot's rows, or are typical ones. Everything is computed before the first paid request.
"""

import bisect
import dataclasses
import functools
import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import ALPHA, can_show, scenarios_needed
from scylla_gha.analysis.frame import Frame, passes_by_repetition
from scylla_gha.analysis.simulated import POWER, Layout, hardest_effect, power_not_worse, power_to_differ
from scylla_gha.counting import counted
from scylla_gha.model.plan import Plan
from scylla_gha.model.report import Design, PairVariance, Power
from scylla_gha.stats.differences import Split, split_variance
from scylla_gha.stats.resampling import DRAWS, least_p_drawn

_IDLE_CHANCE: Final = (
    0.1  # chance; below it a gate is pointless, since an arm worse by the margin passes with a chance of 0.05
)
_MOST_NEEDED: Final = 100_000  # the search for enough scenarios stops here
# Typical variances: rates are uniform over scenarios, and correlated by 0.8 between two arms.
USUAL_SPLIT: Final = Split(between=1 / 30, within_x=1 / 6, within_y=1 / 6)
USUAL_BASIS: Final = "typical variation, because there are no earlier trials with repetitions"
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
    """An experiment, its size, and the effect that it should detect, as a difference of pass rates."""

    experiment: str
    arms: int
    scenarios: int
    repetitions: int
    effect: float
    comparisons: int | None = None  # None: each other arm is compared with the baseline

    @property
    def family(self) -> int:
        """Number of comparisons."""
        return max(1, self.arms - 1) if self.comparisons is None else self.comparisons


def pair_variances(frame: Frame, pairs: Mapping[str, str]) -> tuple[PairVariance, ...]:
    """Estimate the variances of each arm and of the arm that it is compared with.

    Args:
        frame: rows of a pilot.
        pairs: baseline of each arm; a pair without repetitions or without a shared scenario is skipped.
    """
    tables = {arm: passes_by_repetition(frame, at) for at, arm in enumerate(frame.arms)}
    variances = []
    for arm, table in tables.items():
        base = tables.get(pairs.get(arm, ""))
        split = None if base is None else split_variance(table, base)
        if base is not None and split is not None:
            shared = ~np.isnan(table).all(axis=1) & ~np.isnan(base).all(axis=1)
            rate = float(np.nanmean(base[shared], axis=1).mean())
            variances.append(
                PairVariance(
                    arm=arm,
                    between=split.between,
                    within=split.within_x,
                    within_baseline=split.within_y,
                    scenarios=int(shared.sum()),
                    rate_baseline=rate,
                )
            )
    return tuple(variances)


def split_of(variance: PairVariance) -> Split:
    """Convert a pilot's variances to the variances of a paired design."""
    return Split(variance.between, variance.within, variance.within_baseline, variance.rate_baseline)


def repetition_cost(frame: Frame, arms: Sequence[str]) -> RepetitionCost:
    """Sum the arms' mean cost (with judges) and mean time of a trial that measures the agent.

    A sum is unknown if the value of one arm is unknown.
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
    """Compute the table of designs; with several arms, the one that is hardest to distinguish decides."""
    splits = sorted((split_of(variance) for variance in variances), key=lambda split: -split.of_difference(1, 1))
    splits = splits or [USUAL_SPLIT]  # hardest first: most designs that are too small already fail for it
    scenarios = sorted({*_SCENARIOS, max(1, wanted.scenarios)})
    repetitions = sorted({*_REPETITIONS, max(1, wanted.repetitions)})
    designs = tuple(_design(c, k, wanted, splits, price) for c in scenarios for k in repetitions)
    # By cost, then by trials, then by scenarios, since somebody has to write them
    cheapest = min(
        (design for design in designs if design.sees),
        key=lambda design: (design.usd or 0.0, design.trials, design.scenarios),
        default=None,
    )
    return Power(
        experiment=wanted.experiment,
        arms=wanted.arms,
        comparisons=wanted.family,
        effect=wanted.effect,
        basis=basis,
        variances=variances,
        designs=designs,
        cheapest=cheapest,
        at_hand=own_scenarios(wanted, splits),
    )


def _design(
    scenarios: int, repetitions: int, wanted: PowerQuestion, splits: Sequence[Split], price: RepetitionCost
) -> Design:
    effect = hardest_effect(splits, Layout(scenarios, repetitions, repetitions), wanted.family)
    groups = scenarios * repetitions
    return Design(
        scenarios=scenarios,
        repetitions=repetitions,
        smallest_effect=effect,
        trials=groups * wanted.arms,
        usd=None if price.usd is None else groups * price.usd,
        minutes=None if price.minutes is None else groups * price.minutes,
        sees=effect is not None and effect <= wanted.effect,
    )


def own_scenarios(wanted: PowerQuestion, splits: Sequence[Split]) -> str:
    """Describe whether the experiment's own scenarios can show the effect, and with how many repetitions."""
    c, points = wanted.scenarios, counted(100 * wanted.effect, "point", form="g")
    size = counted(c, "scenario")
    if not can_show(c, wanted.family):
        return f"the {size} at hand cannot show any effect: {why_no_p(c, wanted.family)}"

    def sees(repetitions: int) -> bool:
        layout = Layout(c, repetitions, repetitions)
        return all(power_to_differ(split, layout, wanted.effect, wanted.family) >= POWER for split in splits)

    if not sees(_MOST_REPETITIONS):
        return f"the {size} at hand cannot show {points} even with {_MOST_REPETITIONS} repetitions; add scenarios"
    fewest = bisect.bisect_left(range(_MOST_REPETITIONS), x=True, lo=1, key=sees)
    return f"the {size} at hand can show {points} with {counted(fewest, 'repetition')}"


def why_no_p(scenarios: int, family: int) -> str:
    """Explain why no p value can be small enough, and how many scenarios are needed."""
    if family * least_p_drawn(DRAWS) > ALPHA:
        return (
            f"the test's {DRAWS} draws are too few for {counted(family, 'comparison')} in one family; "
            "compare fewer arms"
        )
    need = scenarios_needed(family)
    among = f" with {counted(family, 'comparison')}" if family > 1 else ""
    return f"a verdict{among} needs at least {counted(need, 'scenario')} (the experiment has {scenarios})"


@dataclass(frozen=True, slots=True)
class PlannedComparison:
    """A planned arm, tier or model and its baseline: variances, shared scenarios, harmonic mean of repetitions."""

    arm: str
    split: Split
    layout: Layout

    def pass_chance(self, margin: float, scenarios: int | None = None) -> float:
        """Return the chance that an arm as good as the baseline passes the gate `not_worse`."""
        layout = self.layout if scenarios is None else dataclasses.replace(self.layout, scenarios=scenarios)
        return power_not_worse(self.split, layout, margin)


def planned_comparisons(plan: Plan, variances: Sequence[PairVariance]) -> tuple[PlannedComparison, ...]:
    """List the comparisons that answer the question; an arm that the pilot lacks gets typical variances."""
    known = {variance.arm: split_of(variance) for variance in variances}
    repetitions: dict[str, Counter[str]] = defaultdict(Counter)  # by arm and scenario
    for cell in plan.cells:
        repetitions[cell.arm][cell.scenario] += 1
    comparisons = []
    for arm, sides in _sides(plan).items():
        own, other = (_fewest([repetitions[name] for name in side]) for side in sides)
        shared = [name for name in other if own[name]]
        usual = (max(1, round(1 / float(np.mean([1 / n[name] for name in shared] or [1])))) for n in (own, other))
        comparisons.append(PlannedComparison(arm, known.get(arm, USUAL_SPLIT), Layout(len(shared), *usual)))
    return tuple(comparisons)


def _sides(plan: Plan) -> dict[str, tuple[list[str], list[str]]]:
    """Return, by name, the arms on both sides of each comparison that answers the question."""
    planned = dict.fromkeys(cell.arm for cell in plan.cells)
    arms = [plan.arm(name) for name in planned]
    names: set[str] = set()
    pairs: Iterable[tuple[str, str]] = ()
    if plan.family == "tiers":
        names = {arm.variant.id.partition("/")[0] for arm in arms if arm.variant}
        pairs = itertools.pairwise(sorted(names))
    elif plan.family == "models":
        names = {arm.model for arm in arms if arm.model}
        pairs = itertools.combinations(sorted(names), 2)
    members = {name: [arm.id for arm in plan.members(name) if arm.id in planned] for name in names}
    sides = {f"{later} against {earlier}": (members[later], members[earlier]) for earlier, later in pairs}
    return sides or {arm: ([arm], [baseline]) for arm, baseline in plan.pairs.items()}


def _fewest(counts: Sequence[Counter[str]]) -> Counter[str]:
    """Return the smallest number of repetitions of each scenario in any arm, a cautious value for their mean."""
    return functools.reduce(operator.and_, counts)


def plan_notes(plan: Plan, variances: Sequence[PairVariance], basis: str) -> Iterator[str]:
    """Yield notes on a plan: the smallest effect that it can detect, and how likely it is to pass its gate.

    Yield nothing if no arm is compared.

    Args:
        plan: the plan.
        variances: a pilot's variances; empty if there is no pilot.
        basis: where the variances come from, in words.
    """
    comparisons = planned_comparisons(plan, variances)
    if not comparisons:
        return
    family = len(comparisons)
    splits: dict[Layout, list[Split]] = defaultdict(list)
    for comparison in comparisons:
        splits[comparison.layout].append(comparison.split)
    effects = {layout: hardest_effect(some, layout, family) for layout, some in splits.items()}
    layout, effect = max(effects.items(), key=lambda item: math.inf if item[1] is None else item[1])
    scenarios = layout.scenarios
    size = f"{counted(scenarios, 'scenario')}, {counted(family, 'comparison')}"
    if not can_show(scenarios, family):
        yield f"no difference of pass rates can be shown, even the largest: {why_no_p(scenarios, family)}"
    elif effect is None:
        yield f"probably no difference of pass rates can be shown ({size}; by {basis}); see `scylla-gha power`"
    else:
        yield f"smallest detectable pass rate difference (80 % power): {100 * effect:.1f} points ({size}; by {basis})"
    if plan.experiment.gate == "not_worse":
        yield from _low_chance(comparisons, plan.experiment.margin)


def _low_chance(comparisons: Sequence[PlannedComparison], margin: float) -> Iterator[str]:
    worst = min(comparisons, key=lambda comparison: comparison.pass_chance(margin))
    chance = worst.pass_chance(margin)
    if _IDLE_CHANCE <= chance < POWER:
        yield (
            f"gate not_worse: an arm as good as the baseline passes it with a chance of only {100 * chance:.0f} % "
            f"({worst.arm}); {_needed(worst, margin)}"
        )


def why_gate_impossible(plan: Plan, variances: Sequence[PairVariance], basis: str) -> str | None:
    """Explain why passing a plan's gate is impossible or very unlikely, and what to do; None if it is likely."""
    gate, comparisons = plan.experiment.gate, planned_comparisons(plan, variances)
    if gate == "none":
        return None
    if not comparisons:
        baseline = plan.experiment.baseline
        return f"gate {gate}: no arm is planned besides the baseline {baseline}; plan another, or set gate: none"
    if gate == "not_worse":
        return _never_not_worse(comparisons, plan.experiment.margin, basis)
    fewest = min(comparisons, key=lambda comparison: comparison.layout.scenarios)
    if can_show(fewest.layout.scenarios, len(comparisons)):
        return None
    return (
        f"gate better: {fewest.arm} can never pass it: {why_no_p(fewest.layout.scenarios, len(comparisons))}; "
        "plan more scenarios or fewer arms, or set gate: none"
    )


def _never_not_worse(comparisons: Sequence[PlannedComparison], margin: float, basis: str) -> str | None:
    worst = min(comparisons, key=lambda comparison: comparison.pass_chance(margin))
    if worst.layout.scenarios < 2:  # noqa: PLR2004 an interval needs two
        few = f"an interval needs 2 scenarios that the baseline has too (planned: {worst.layout.scenarios})"
        return f"gate not_worse: {worst.arm} can never pass it: {few}; {_needed(worst, margin)}; or set gate: none"
    chance = worst.pass_chance(margin)
    if chance >= _IDLE_CHANCE:
        return None
    return (
        f"gate not_worse: even if {worst.arm} is as good as the baseline, it passes with a chance of only "
        f"{100 * chance:.0f} % (margin {counted(100 * margin, 'point', form='g')}, "
        f"{counted(worst.layout.scenarios, 'scenario')}; by {basis}); "
        f"{_needed(worst, margin)}; or widen the margin, or set gate: none"
    )


def _needed(comparison: PlannedComparison, margin: float) -> str:
    """Describe how many scenarios give enough power with the planned repetitions."""
    high = 2
    while comparison.pass_chance(margin, high) < POWER:
        high *= 2
        if high > _MOST_NEEDED:
            return "no practical number of scenarios is enough"

    def is_enough(scenarios: int) -> bool:
        return comparison.pass_chance(margin, scenarios) >= POWER

    need = bisect.bisect_left(range(high), x=True, lo=high // 2 + 1, key=is_enough)
    return f"a chance of {100 * POWER:g} % needs {counted(need, 'scenario')} with the same repetitions"
