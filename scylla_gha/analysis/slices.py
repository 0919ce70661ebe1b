"""Pass rates within parts of the scenarios: one scenario, a category, a difficulty, a size, and of whole tiers."""

from collections.abc import Callable, Iterator
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis.families import by_tier
from scylla_gha.analysis.frame import About, Frame
from scylla_gha.analysis.groups import Groups, grouped
from scylla_gha.analysis.measured import HERE, LIKE
from scylla_gha.model.analysis import Measure, Slice
from scylla_gha.stats.arrays import Floats, Ints
from scylla_gha.stats.binomial import wilson_effective, wilson_limits

By = Literal["scenario", "category", "difficulty", "size", "tier"]
_PARTS: Final[tuple[tuple[By, Callable[[About], str]], ...]] = (
    ("category", lambda about: about.category),
    ("difficulty", lambda about: about.difficulty),
    ("size", lambda about: about.size),
)


def slices(frame: Frame) -> Iterator[Slice]:
    """All of them; a part in which an arm has no judged trial has none for it."""
    groups = grouped(frame, frame.columns["passed"])
    for by, named in _PARTS:
        names = [named(frame.about[scenario]) for scenario in frame.scenarios]
        for name in sorted(set(names)):
            columns = np.array([each == name for each in names], dtype=np.bool_)
            yield from _told(by, name, frame.arms, groups.n[:, columns], groups.mean[:, columns])
    for tier, arms in by_tier(frame).items():
        chosen = list(arms)
        n = groups.n[chosen].sum(axis=0, keepdims=True)
        mean = groups.mean[chosen].mean(axis=0, keepdims=True)
        yield from _told("tier", tier, (tier,), n, mean)
    yield from _scenarios(frame, groups)


def _scenarios(frame: Frame, groups: Groups) -> Iterator[Slice]:
    """Of each group: its repetitions, by Wilson."""
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


def _told(by: By, name: str, arms: tuple[str, ...], n: Ints, mean: Floats) -> Iterator[Slice]:
    """One slice per row, by Wilson: of its trials where it has one scenario, else of its effective number of them."""
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
        told = Measure(metric="pass_rate", value=float(rate[row]), low=float(limits[0]), high=float(limits[1]),
                       n=int(trials[row]), scenarios=int(count[row]), target=HERE if alone else LIKE,
                       method="Wilson" if alone else "Wilson, effective n and t")  # fmt: skip
        yield Slice(by=by, name=name, arm=arm, passed=int(hits[row]), rate=told)


def _effective(known: Floats, rate: Floats, count: Ints, trials: Ints) -> Floats:
    """Trials that would tell the rate as well were they independent: p (1 - p) over the variance of the mean.

    Between the numbers of scenarios and of trials; where scenarios show no spread, the former, which is safe.
    """
    offset = np.where(np.isnan(known), 0.0, known - rate[:, None])
    variance = (offset * offset).sum(axis=1) / np.where(count > 1, count - 1, np.nan) / np.maximum(count, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(variance > 0, rate * (1 - rate) / variance, count)
    return np.clip(found, count, trials)
