"""The whole statistical analysis of an experiment, computed from its result rows alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import compare, screen
from scylla_gha.analysis.costs import frontier, pass_cost_contrasts
from scylla_gha.analysis.frame import Frame, grouped
from scylla_gha.analysis.judge_agreement import agreement
from scylla_gha.analysis.metrics import arm_measures
from scylla_gha.analysis.omnibus import omnibus, unpaired
from scylla_gha.analysis.outliers import outliers
from scylla_gha.analysis.pairings import (
    BASELINE,
    MODELS,
    MOST_MODELS,
    TIERS,
    baseline_pairings,
    model_pairings,
    tier_pairings,
)
from scylla_gha.analysis.slices import best_subtests, slices
from scylla_gha.analysis.verdicts import rulings
from scylla_gha.counting import counted
from scylla_gha.model.analysis import Analysis, ShrunkRate, ToolUse
from scylla_gha.stats.resampling import Resampling
from scylla_gha.stats.shrinkage import FEWEST, shrink

_FEW_SCENARIOS: Final = 10
_MOST_SHRUNK: Final = 200  # arms or scenarios: the fit takes minutes at 1,000


@dataclass(frozen=True, slots=True)
class Question:
    """The question of an experiment: which arms are compared, and which difference counts as none."""

    baseline: str
    models: Mapping[str, str | None]
    margin: float
    seed: int = 0
    pairs: Mapping[str, str] | None = None  # the arm that each one is compared with, if not all with the baseline


def analyse(frame: Frame, question: Question) -> Analysis:
    """Compute the whole analysis; with few rows most of it is null, with a reason."""
    how = Resampling(seed=question.seed)
    pairs = baseline_pairings(frame, question.baseline, question.pairs)
    others = (
        *compare(frame, tier_pairings(frame), TIERS, how),
        *compare(frame, model_pairings(frame, question.models), MODELS, how),
        *screen(frame, pairs, how),
        *pass_cost_contrasts(frame, pairs),
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
        odd=outliers(frame),
        shrunk=_shrunk(frame),
        omnibus=tuple(omnibus(frame)),
        unpaired=tuple(unpaired(frame, pairs, how)),
        warnings=(*_warnings(frame), *_many_models(question)),
    )


def _many_models(question: Question) -> Iterator[str]:
    count = len(set(question.models.values()) - {None})
    if count > MOST_MODELS:
        yield f"{count} are too many models to compare each with each: they are compared with the baseline alone."


def _tools(frame: Frame) -> Iterator[ToolUse]:
    for at, arm in enumerate(frame.arms):
        trials = frame.rows_of(at).size
        for tool, calls in sorted(frame.tools.get(arm, {}).items(), key=lambda use: (-use[1], use[0])):
            yield ToolUse(arm=arm, tool=tool, calls=calls, per_trial=calls / trials)


def _shrunk(frame: Frame) -> tuple[ShrunkRate, ...]:
    """Shrink the arms' pass rates, if there are enough arms and scenarios to estimate how much they vary."""
    groups = grouped(frame, frame.columns["passed"])
    n = groups.n.astype(np.float64)
    if min(n.shape) < FEWEST or max(n.shape) > _MOST_SHRUNK:
        return ()
    rates = shrink(np.rint(np.nan_to_num(groups.mean) * n), n)
    if rates is None or not rates.converged:
        return ()
    return tuple(
        ShrunkRate(arm=arm, rate=float(rates.rate[at]), low=float(rates.low[at]), high=float(rates.high[at]))
        for at, arm in enumerate(frame.arms)
    )


def _warnings(frame: Frame) -> Iterator[str]:
    scenarios = np.unique(frame.scenario[frame.judged]).size
    if scenarios == 1:
        yield "All trials are of one scenario: what is said holds for it alone, and no comparison has a p."
    elif 0 < scenarios < _FEW_SCENARIOS:
        yield (f"{counted(scenarios, 'scenario is', 'scenarios are')} few: intervals over scenarios are wide, and "
               "where costs are skewed they cover less than they say.")  # fmt: skip
    groups = grouped(frame, frame.columns["passed"]).n
    tried = groups[groups > 0]
    if tried.size and tried.min() != tried.max():
        yield (f"Repetitions differ between groups ({tried.min()} to {tried.max()}): scenarios still weigh the same, "
               "and the pooled rate is another number than the headline.")  # fmt: skip
    gaps = int(((groups == 0) & (groups.sum(axis=0, keepdims=True) > 0)).sum())
    if gaps:
        yield f"No judged trial in {gaps} of {counted(groups.size, 'group')}: comparisons leave those scenarios out."
