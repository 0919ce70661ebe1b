"""The best of several is better by luck as well: it is chosen on one half of the repetitions, and told by the other."""

import numpy as np

from scylla_gha.analysis.families import by_tier
from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.groups import grouped
from scylla_gha.analysis.measured import Sample
from scylla_gha.model.analysis import BestSubtest, Measure
from scylla_gha.stats.arrays import Bools


def best_subtests(frame: Frame) -> tuple[BestSubtest, ...]:
    """Of each tier with two sub-tests or more and two repetitions or more; odd repetitions choose, even ones tell."""
    odd = frame.repetition % 2 == 1
    found = (_best(frame, tier, arms, odd) for tier, arms in by_tier(frame).items() if len(arms) > 1)
    return tuple(one for one in found if one is not None)


def _best(frame: Frame, tier: str, arms: tuple[int, ...], odd: Bools) -> BestSubtest | None:
    passed = frame.columns["passed"]
    means = np.array([_mean(frame, arm, odd) for arm in arms])
    if np.isnan(means).all():
        return None
    arm = arms[int(np.nanargmax(means))]
    chosen, reported = (_measure(frame, arm, half) for half in (odd, ~odd))
    if reported.value is None or np.isnan(passed[frame.rows_of(arm)]).all():
        return None
    return BestSubtest(tier=tier, arm=frame.arms[arm], of=len(arms), chosen=chosen, reported=reported)


def _mean(frame: Frame, arm: int, half: Bools) -> float:
    """Macro mean of the pass rate over scenarios."""
    values = np.where(half & (frame.arm == arm), frame.columns["passed"], np.nan)
    means = grouped(frame, values).mean[arm]
    known = means[~np.isnan(means)]
    return float(known.mean()) if known.size else float("nan")


def _measure(frame: Frame, arm: int, half: Bools) -> Measure:
    rows = frame.rows_of(arm)
    rows = rows[half[rows]]
    return Sample.at(frame.scenario[rows]).rate("pass_rate", frame.columns["passed"][rows])
