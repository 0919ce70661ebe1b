"""One estimand of some trials, with the interval that is right for it.

The scenario is the unit that is repeated, not the trial: with two scenarios or more, intervals go by the spread of the
scenarios' means and speak of scenarios like these; with one, by that of its repetitions, and speak of it alone.
"""

import math
from dataclasses import dataclass

import numpy as np

from scylla_gha.model.analysis import Measure, Target
from scylla_gha.stats.arrays import Bools, Floats, Ints
from scylla_gha.stats.clusters import Places, clustered, macro_rate, places
from scylla_gha.stats.interval import Interval, interval
from scylla_gha.stats.proportion import wilson
from scylla_gha.stats.ranged import positive_mean_interval, share_mean_interval, share_ratio_interval
from scylla_gha.stats.ratio import ratio_interval
from scylla_gha.stats.success_cost import macro_success_cost_interval

HERE: Target = "these scenarios"
LIKE: Target = "scenarios like these"


@dataclass(frozen=True, slots=True)
class Sample:
    """Trials by the scenario that each is of. What is measured of them has the same shape, NaN where it is unknown."""

    of: Places

    @classmethod
    def at(cls, scenario: Ints) -> "Sample":
        """From the place of each trial's scenario, shape (n,)."""
        return cls(places(scenario))

    @property
    def n(self) -> int:
        """Trials."""
        return self.of.of.size

    def only(self, kept: Bools) -> "Sample":
        """Some of the trials."""
        return self if kept.all() else Sample(places(self.of.of[kept]))

    def rate(self, metric: str, values: Floats) -> Measure:
        """Of 0 and 1; the scenarios weigh the same."""
        known = ~np.isnan(values)
        if known.size and not known.any():
            return self.nothing(metric, "no trial knows it", unknown=True)
        some, x = self.only(known), values[known]
        if some.of.count == 1:
            limits = wilson(int(x.sum()), x.size)
            found = interval(float(x.mean()), limits, "Wilson", x.size) if limits else None
        else:
            found = macro_rate(x, some.of)
        return some.told(metric, found, _left_out(known))

    def mean(self, metric: str, values: Floats, *, is_share: bool = False) -> Measure:
        """Of numbers that are not below 0, and of shares not above 1; the scenarios weigh the same."""
        known = ~np.isnan(values)
        if known.size and not known.any():
            return self.nothing(metric, "no trial knows it", unknown=True)
        some, x = self.only(known), values[known]
        means = x if some.of.count == 1 else clustered(x, some.of).means
        found = share_mean_interval(means) if is_share else positive_mean_interval(means)
        return some.told(metric, found, _left_out(known))

    def ratio(self, metric: str, top: Floats, bottom: Floats, *, is_share: bool = True) -> Measure:
        """Of the sums of two numbers of each trial, neither below 0; a share of a whole is never above 1."""
        known = ~np.isnan(top + bottom)
        if known.size and not known.any():
            return self.nothing(metric, "no trial knows it", unknown=True)
        some, x, y = self.only(known), top[known], bottom[known]
        if not y.sum():
            return some.nothing(metric, "there is nothing that it could be a share of")
        if some.of.count > 1:
            x, y = clustered(x, some.of).means, clustered(y, some.of).means
        is_part = is_share and bool(np.all(x <= y))
        found = share_ratio_interval(x, y) if is_part else ratio_interval(x, y)
        return some.told(metric, found, _left_out(known))

    def per_pass(self, metric: str, cost: Floats, passed: Floats) -> Measure:
        """What a pass takes, failures paid for; unknown where the cost of one trial is."""
        unknown = int(np.isnan(cost).sum())
        if unknown:
            return self.nothing(metric, f"unknown in {unknown} of {cost.size} trials", unknown=True)
        found = macro_success_cost_interval(cost, passed, self.of)
        return self.told(metric, found, "no trial passed" if cost.size and not passed.any() else "")

    def whole(self, metric: str, values: Floats) -> Measure:
        """As `mean`, but unknown where one trial's is: of what is paid, the known ones would be too little."""
        unknown = int(np.isnan(values).sum())
        if unknown:
            return self.nothing(metric, f"unknown in {unknown} of {values.size} trials", unknown=True)
        return self.mean(metric, values)

    def bare(self, metric: str, value: float | None, why: str) -> Measure:
        """A number without an interval, or why there is none."""
        if value is None or math.isnan(value):
            return self.nothing(metric, why)
        return Measure(metric=metric, value=value, n=self.n, scenarios=self.of.count, target=self._target)

    def nothing(self, metric: str, why: str, *, unknown: bool = False) -> Measure:
        """No value, and why."""
        return Measure(metric=metric, value=None, state="unknown" if unknown else "undefined", n=self.n,
                       scenarios=self.of.count, target=self._target, note=why)  # fmt: skip

    def told(self, metric: str, found: Interval | None, note: str = "") -> Measure:
        """An interval as a record."""
        if found is None:
            return self.nothing(metric, note or "no trial knows it")
        infinite, point = found.status == "infinite", found.status == "point"
        words = [note] if note else []
        words += ["too few values, or all alike: no interval"] if point else []
        words += ["the interval has no end on one side"] if found.status == "unbounded" else []
        return Measure(
            metric=metric, value=found.estimate, low=found.low, high=found.high,
            state="infinite" if infinite else "known", n=self.n, scenarios=self.of.count,
            method="" if point else found.method, target=self._target, note="; ".join(words),
        )  # fmt: skip

    @property
    def _target(self) -> Target:
        return LIKE if self.of.count > 1 else HERE


def share(metric: str, hits: int, n: int, scenarios: int) -> Measure:
    """Of trials, or of other things that are counted one by one, on these scenarios."""
    limits = wilson(hits, n)
    if limits is None:
        return Measure(metric=metric, value=None, state="undefined", n=0, scenarios=scenarios, target=HERE,
                       note="there is nothing that it could be a share of")  # fmt: skip
    return Measure(metric=metric, value=hits / n, low=limits[0], high=limits[1], n=n, scenarios=scenarios,
                   method="Wilson", target=HERE)  # fmt: skip


def over_scenarios(metric: str, values: Floats, n: int, note: str = "") -> Measure:
    """Of one share per scenario, NaN where it has none."""
    known = values[~np.isnan(values)]
    of = Sample(Places(np.arange(known.size), known.size))
    return of.told(metric, share_mean_interval(known), note).model_copy(update={"n": n})


def _left_out(known: Bools) -> str:
    lost = int(known.size - known.sum())
    return f"{lost} trials do not know it, and are left out" if lost else ""
