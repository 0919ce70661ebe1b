"""Estimates over the trials of an arm, each with the interval that fits it.

Scenarios, not trials, are the independent units: with two or more scenarios, intervals use the spread of the scenarios'
means and are about scenarios like these; with one, the spread of its repetitions, and they are about it alone.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.counting import counted
from scylla_gha.model.analysis import Measure, Target
from scylla_gha.stats import Interval, make_interval, wilson
from scylla_gha.stats.arrays import Bools, Floats, Ints
from scylla_gha.stats.clusters import ClusterIndex, cluster_index, clustered, macro_rate
from scylla_gha.stats.means import share_mean_interval, share_ratio_interval
from scylla_gha.stats.ratios import macro_success_cost_interval, positive_mean_interval, ratio_interval

HERE: Final[Target] = "these scenarios"
LIKE: Final[Target] = "scenarios like these"
_UNKNOWN: Final = "no trial knows it"
_NO_WHOLE: Final = "there is nothing that it could be a share of"


@dataclass(frozen=True, slots=True)
class Sample:
    """Trials grouped by scenario. Values given to its methods have one number per trial, NaN if unknown."""

    scenarios: ClusterIndex

    @classmethod
    def of(cls, scenario: Ints) -> "Sample":
        """Build it from the index of each trial's scenario, shape (trials,)."""
        return cls(cluster_index(scenario))

    @property
    def n(self) -> int:
        """Number of trials."""
        return self.scenarios.index.size

    def only(self, mask: Bools) -> "Sample":
        """Return some of the trials."""
        return self if mask.all() else Sample.of(self.scenarios.index[mask])

    def rate(self, metric: str, values: Floats) -> Measure:
        """Estimate a rate of 0 and 1, all scenarios with equal weights."""
        known = ~np.isnan(values)
        if known.size and not known.any():
            return self.undefined(metric, _UNKNOWN, unknown=True)
        some, x = self.only(known), values[known]
        if some.scenarios.count == 1:
            limits = wilson(int(x.sum()), x.size)
            rate = make_interval(float(x.mean()), limits, "Wilson", x.size) if limits else None
        else:
            rate = macro_rate(x, some.scenarios)
        return some.measure(metric, rate, _left_out(known))

    def mean(self, metric: str, values: Floats, *, is_share: bool = False) -> Measure:
        """Estimate the mean of numbers that are not below 0 (shares: not above 1), scenarios with equal weights."""
        known = ~np.isnan(values)
        if known.size and not known.any():
            return self.undefined(metric, _UNKNOWN, unknown=True)
        some, x = self.only(known), values[known]
        means = x if some.scenarios.count == 1 else clustered(x, some.scenarios).means
        mean = share_mean_interval(means) if is_share else positive_mean_interval(means)
        return some.measure(metric, mean, _left_out(known))

    def ratio(self, metric: str, top: Floats, bottom: Floats, *, is_share: bool = True) -> Measure:
        """Estimate the ratio of the sums of two numbers, neither below 0; a share of a whole is never above 1."""
        known = ~np.isnan(top + bottom)
        if known.size and not known.any():
            return self.undefined(metric, _UNKNOWN, unknown=True)
        some, x, y = self.only(known), top[known], bottom[known]
        if not y.sum():
            return some.undefined(metric, _NO_WHOLE)
        if some.scenarios.count > 1:
            x, y = clustered(x, some.scenarios).means, clustered(y, some.scenarios).means
        is_part = is_share and bool(np.all(x <= y))
        ratio = share_ratio_interval(x, y) if is_part else ratio_interval(x, y)
        return some.measure(metric, ratio, _left_out(known))

    def per_pass(self, metric: str, cost: Floats, passed: Floats) -> Measure:
        """Estimate the cost of a pass, failures included; unknown if the cost of one trial is unknown."""
        unknown = int(np.isnan(cost).sum())
        if unknown:
            return self.undefined(metric, f"unknown in {unknown} of {counted(cost.size, 'trial')}", unknown=True)
        interval = macro_success_cost_interval(cost, passed, self.scenarios)
        return self.measure(metric, interval, "no trial passed" if cost.size and not passed.any() else "")

    def complete_mean(self, metric: str, values: Floats) -> Measure:
        """Estimate a mean as `mean`, but unknown if one trial's value is unknown: the known ones alone are too low."""
        unknown = int(np.isnan(values).sum())
        if unknown:
            return self.undefined(metric, f"unknown in {unknown} of {counted(values.size, 'trial')}", unknown=True)
        return self.mean(metric, values)

    def number(self, metric: str, value: float | None, why: str) -> Measure:
        """Build the measure of a number without an interval; `why` if there is no number."""
        if value is None or math.isnan(value):
            return self.undefined(metric, why)
        return Measure(metric=metric, value=value, n=self.n, scenarios=self.scenarios.count, target=self._target)

    def undefined(self, metric: str, why: str, *, unknown: bool = False) -> Measure:
        """Build a measure without a value."""
        return Measure(metric=metric, value=None, state="unknown" if unknown else "undefined", n=self.n,
                       scenarios=self.scenarios.count, target=self._target, note=why)  # fmt: skip

    def measure(self, metric: str, interval: Interval | None, note: str = "") -> Measure:
        """Build the measure of an interval."""
        if interval is None:
            return self.undefined(metric, note or _UNKNOWN)
        infinite, point = interval.status == "infinite", interval.status == "point"
        notes = [note] if note else []
        notes += ["too few values, or all alike: no interval"] if point else []
        notes += ["the interval has no end on one side"] if interval.status == "unbounded" else []
        return Measure(
            metric=metric, value=interval.estimate, low=interval.low, high=interval.high,
            state="infinite" if infinite else "known", n=self.n, scenarios=self.scenarios.count,
            method="" if point else interval.method, target=self._target, note="; ".join(notes),
        )  # fmt: skip

    @property
    def _target(self) -> Target:
        return LIKE if self.scenarios.count > 1 else HERE


def share(metric: str, hits: int, n: int, scenarios: int) -> Measure:
    """Estimate the share of trials (or of other things that are counted), on these scenarios."""
    limits = wilson(hits, n)
    if limits is None:
        return Measure(metric=metric, value=None, state="undefined", n=0, scenarios=scenarios, target=HERE,
                       note=_NO_WHOLE)  # fmt: skip
    return Measure(metric=metric, value=hits / n, low=limits[0], high=limits[1], n=n, scenarios=scenarios,
                   method="Wilson", target=HERE)  # fmt: skip


def over_scenarios(metric: str, values: Floats, n: int, note: str = "") -> Measure:
    """Estimate the mean of one share per scenario, NaN if it has none."""
    known = values[~np.isnan(values)]
    sample = Sample(ClusterIndex(np.arange(known.size), known.size))
    return sample.measure(metric, share_mean_interval(known), note).model_copy(update={"n": n})


def _left_out(known: Bools) -> str:
    lost = int(known.size - known.sum())
    return f"{counted(lost, 'trial')} without it left out" if lost else ""
