"""All statistics of an experiment's rows, computed from them and from nothing else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import compare, screen
from scylla_gha.analysis.families import BASELINE, MODELS, MOST_MODELS, TIERS, adjacent, against, models
from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.frontier import frontier
from scylla_gha.analysis.groups import grouped
from scylla_gha.analysis.judging import agreement
from scylla_gha.analysis.metrics import arm_measures
from scylla_gha.analysis.odd import odd_trials
from scylla_gha.analysis.omnibus import omnibus, unpaired
from scylla_gha.analysis.pass_costs import pass_costs
from scylla_gha.analysis.selection import best_subtests
from scylla_gha.analysis.slices import slices
from scylla_gha.analysis.verdicts import rulings
from scylla_gha.model.analysis import Analysis, Shrunk, ToolUse
from scylla_gha.stats.resampling import Resampling
from scylla_gha.stats.shrinkage import FEWEST, shrink

_FEW_SCENARIOS: Final = 10
_FEW_RUNS: Final = 5
_MOST_SHRUNK: Final = 200  # arms or scenarios: what the model takes grows faster than they do, to minutes at 1,000


@dataclass(frozen=True, slots=True)
class Question:
    """What an experiment asks of its rows: who is compared with whom, and which difference counts as none."""

    baseline: str
    models: Mapping[str, str | None]
    margin: float
    seed: int = 0
    pairs: Mapping[str, str] | None = None  # what each arm is compared with, where not all are with the baseline


def analyse(frame: Frame, question: Question) -> Analysis:
    """The whole analysis; with few rows most of it is null, with a reason."""
    how = Resampling(seed=question.seed)
    pairs = against(frame, question.baseline, question.pairs)
    others = (
        *compare(frame, adjacent(frame), TIERS, how),
        *compare(frame, models(frame, dict(question.models)), MODELS, how),
        *screen(frame, pairs, how),
        *pass_costs(frame, pairs),
    )
    return Analysis(
        measures=arm_measures(frame),
        slices=tuple(slices(frame)),
        rulings=rulings(compare(frame, pairs, BASELINE, how), question.margin),
        contrasts=others,
        best=best_subtests(frame),
        frontier=frontier(frame, how),
        agreement=agreement(frame, how),
        tools=tuple(_tools(frame)),
        odd=odd_trials(frame),
        shrunk=_shrunk(frame),
        omnibus=tuple(omnibus(frame)),
        unpaired=tuple(unpaired(frame, pairs, how)),
        warnings=(*_warnings(frame), *_many_models(question)),
    )


def _many_models(question: Question) -> Iterator[str]:
    count = len(set(question.models.values()) - {None})
    if count > MOST_MODELS:
        yield f"{count} models are too many to compare each with each: they are compared with the baseline alone."


def _tools(frame: Frame) -> Iterator[ToolUse]:
    for place, arm in enumerate(frame.arms):
        trials = frame.rows_of(place).size
        for tool, calls in sorted(frame.tools.get(arm, {}).items(), key=lambda each: (-each[1], each[0])):
            yield ToolUse(arm=arm, tool=tool, calls=calls, per_trial=calls / trials)


def _shrunk(frame: Frame) -> tuple[Shrunk, ...]:
    """Where there are enough arms and scenarios to know how much they vary, and few runs of each."""
    groups = grouped(frame, frame.columns["passed"])
    n = groups.n.astype(np.float64)
    if min(n.shape) < FEWEST or max(n.shape) > _MOST_SHRUNK:
        return ()
    found = shrink(np.rint(np.nan_to_num(groups.mean) * n), n)
    if found is None or not found.converged:
        return ()
    rows = found.rows
    return tuple(
        Shrunk(arm=arm, rate=float(rows.rate[at]), low=float(rows.low[at]), high=float(rows.high[at]))
        for at, arm in enumerate(frame.arms)
    )


def _warnings(frame: Frame) -> Iterator[str]:
    scenarios = np.unique(frame.scenario[frame.judged]).size
    if scenarios == 1:
        yield "All trials are of one scenario: what is said holds for it alone, and no comparison has a p."
    elif 0 < scenarios < _FEW_SCENARIOS:
        yield (f"{scenarios} scenarios are few: intervals over scenarios are wide, and where costs are skewed they "
               "cover less than they say.")  # fmt: skip
    groups = grouped(frame, frame.columns["passed"]).n
    tried = groups[groups > 0]
    if tried.size and tried.min() != tried.max():
        yield (f"Repetitions differ between groups ({tried.min()} to {tried.max()}): scenarios still weigh the same, "
               "and the pooled rate is another number than the headline.")  # fmt: skip
    gaps = int(((groups == 0) & (groups.sum(axis=0, keepdims=True) > 0)).sum())
    if gaps:
        yield f"{gaps} of {groups.size} groups have no judged trial: comparisons leave those scenarios out."
