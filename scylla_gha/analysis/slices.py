"""Pass rates by scenario, category, difficulty, size and tier; and the best sub-test of each tier."""

from collections.abc import Callable, Iterator
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis.estimate import HERE, LIKE, Sample
from scylla_gha.analysis.frame import Frame, Groups, ScenarioFacts, grouped
from scylla_gha.analysis.pairings import arms_by_tier
from scylla_gha.model.analysis import BestSubtest, Measure, Slice
from scylla_gha.stats.arrays import Bools, Floats, Ints
from scylla_gha.stats.means import wilson_effective, wilson_limits

By = Literal["scenario", "category", "difficulty", "size", "tier"]
_PARTS: Final[tuple[tuple[By, Callable[[ScenarioFacts], str]], ...]] = (
    ("category", lambda facts: facts.category),
    ("difficulty", lambda facts: facts.difficulty),
    ("size", lambda facts: facts.size),
)


def slices(frame: Frame) -> Iterator[Slice]:
    """Yield all slices; an arm without a judged trial in a slice has none."""
    groups = grouped(frame, frame.columns["passed"])
    for by, name_of in _PARTS:
        names = [name_of(frame.about[scenario]) for scenario in frame.scenarios]
        for name in sorted(set(names)):
            columns = np.array([part == name for part in names], dtype=np.bool_)
            yield from _slices(by, name, frame.arms, groups.n[:, columns], groups.mean[:, columns])
    for tier, arms in arms_by_tier(frame).items():
        chosen = list(arms)
        n = groups.n[chosen].sum(axis=0, keepdims=True)
        mean = groups.mean[chosen].mean(axis=0, keepdims=True)
        yield from _slices("tier", tier, (tier,), n, mean)
    yield from _scenarios(frame, groups)


def _scenarios(frame: Frame, groups: Groups) -> Iterator[Slice]:
    """Yield one slice per arm and scenario, with Wilson's interval of its repetitions."""
    hits = np.rint(np.nan_to_num(groups.mean) * groups.n)
    low, high = wilson_limits(hits, groups.n)
    for column, scenario in enumerate(frame.scenarios):
        for row, arm in enumerate(frame.arms):
            n = int(groups.n[row, column])
            if n:
                rate = Measure(metric="pass_rate", value=float(groups.mean[row, column]), low=float(low[row, column]),
                               high=float(high[row, column]),
                               n=n, scenarios=1, method="Wilson", target=HERE)  # fmt: skip
                yield Slice(by="scenario", name=scenario, arm=arm, passed=int(hits[row, column]), rate=rate)


def _slices(by: By, name: str, arms: tuple[str, ...], n: Ints, mean: Floats) -> Iterator[Slice]:
    """Yield one slice per row, by Wilson: of its trials if it has one scenario, else of their effective number."""
    count, trials = (n > 0).sum(axis=1), n.sum(axis=1)
    hits = np.rint(np.nansum(mean * n, axis=1))
    known = np.where(n > 0, mean, np.nan)
    rate = np.nansum(known, axis=1) / np.where(count > 0, count, np.nan)
    low, high = wilson_effective(rate, _effective(known, rate, count, trials), count - 1)
    one_low, one_high = wilson_limits(hits, trials)
    for row, arm in enumerate(arms):
        if not trials[row] or np.isnan(rate[row]):
            continue
        alone = count[row] == 1
        limits = (one_low[row], one_high[row]) if alone else (low[row], high[row])
        measure = Measure(metric="pass_rate", value=float(rate[row]), low=float(limits[0]), high=float(limits[1]),
                       n=int(trials[row]), scenarios=int(count[row]), target=HERE if alone else LIKE,
                       method="Wilson" if alone else "Wilson, effective n and t")  # fmt: skip
        yield Slice(by=by, name=name, arm=arm, passed=int(hits[row]), rate=measure)


def _effective(known: Floats, rate: Floats, count: Ints, trials: Ints) -> Floats:
    """Return how many independent trials have a rate as precise: p (1 - p) over the variance of the mean.

    Between the numbers of scenarios and of trials; the former, which is safe, if scenarios show no spread.
    """
    offset = np.where(np.isnan(known), 0.0, known - rate[:, None])
    variance = (offset * offset).sum(axis=1) / np.where(count > 1, count - 1, np.nan) / np.maximum(count, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(variance > 0, rate * (1 - rate) / variance, count)
    return np.clip(n, count, trials)


def best_subtests(frame: Frame) -> Iterator[BestSubtest]:
    """Find the best sub-test of each tier with two or more of them.

    The best of several is also the luckiest: odd repetitions choose it, and even ones estimate its rate.
    """
    odd = frame.repetition % 2 == 1
    means = grouped(frame, np.where(odd, frame.columns["passed"], np.nan)).mean
    for tier, arms in arms_by_tier(frame).items():
        known = {arm: float(row[~np.isnan(row)].mean()) for arm in arms if not np.isnan(row := means[arm]).all()}
        if len(arms) > 1 and known:
            arm = max(known, key=lambda arm: known[arm])
            chosen, reported = (_half_rate(frame, arm, half) for half in (odd, ~odd))
            if reported.value is not None:
                yield BestSubtest(tier=tier, arm=frame.arms[arm], of=len(arms), chosen=chosen, reported=reported)


def _half_rate(frame: Frame, arm: int, half: Bools) -> Measure:
    rows = frame.rows_of(arm)
    rows = rows[half[rows]]
    return Sample.of(frame.scenario[rows]).rate("pass_rate", frame.columns["passed"][rows])
