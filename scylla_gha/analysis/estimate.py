"""Estimates of arms with intervals, and the cost of a pass: ratios, the cheapest arm, and the Pareto set.

The independent units are scenarios. With two or more scenarios, intervals use the spread of the scenarios'
means and hold for scenarios like these; with one scenario, they use the spread of its repetitions and hold for this
scenario only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import INNER, WIDE
from scylla_gha.analysis.frame import Frame, Groups, Pairing, grouped
from scylla_gha.counting import counted
from scylla_gha.model.analysis import Contrast, CostFrontier, Measure, State, Target
from scylla_gha.stats import Interval, make_interval, wilson
from scylla_gha.stats.arrays import Bools, Floats, Ints
from scylla_gha.stats.means import (
    ClusterIndex,
    cluster_index,
    clustered,
    macro_rate,
    share_mean_interval,
    share_ratio_interval,
)
from scylla_gha.stats.ratios import (
    Attempts,
    ResampledFrontier,
    macro_success_cost_interval,
    pareto_set,
    pooled_frontier,
    positive_mean_interval,
    ratio_interval,
    resampled_frontier,
    strata_frontier,
    success_cost_ratio,
)
from scylla_gha.stats.resampling import Resampling

HERE: Final[Target] = "these scenarios"
LIKE: Final[Target] = "scenarios like these"
_UNKNOWN: Final = "unknown in every trial"
_NO_WHOLE: Final = "the whole is 0, so there is no share"
_FEWEST: Final = 20  # smallest number of scenarios for resampled limits
_METRIC: Final = "cost_of_pass"


@dataclass(frozen=True, slots=True)
class Sample:
    """Trials grouped by scenario. Values given to its methods have one number per trial, NaN if unknown."""

    scenarios: ClusterIndex

    @classmethod
    def of(cls, scenario: Ints) -> "Sample":
        """Build the sample from the index of each trial's scenario, shape (trials,)."""
        return cls(cluster_index(scenario))

    @property
    def n(self) -> int:
        """Number of trials."""
        return self.scenarios.index.size

    def only(self, mask: Bools) -> "Sample":
        """Return the sample of the trials that are True in the mask."""
        return self if mask.all() else Sample.of(self.scenarios.index[mask])

    def rate(self, metric: str, values: Floats) -> Measure:
        """Estimate the mean of values 0 and 1; scenarios have equal weights."""
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
        """Estimate the mean of numbers of at least 0 (shares: at most 1); scenarios have equal weights."""
        known = ~np.isnan(values)
        if known.size and not known.any():
            return self.undefined(metric, _UNKNOWN, unknown=True)
        some, x = self.only(known), values[known]
        means = x if some.scenarios.count == 1 else clustered(x, some.scenarios).means
        mean = share_mean_interval(means) if is_share else positive_mean_interval(means)
        return some.measure(metric, mean, _left_out(known))

    def ratio(self, metric: str, top: Floats, bottom: Floats, *, is_share: bool = True) -> Measure:
        """Estimate the ratio of two sums of numbers of at least 0; a share of a whole is at most 1."""
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
        """Estimate a mean as `mean`; unknown if one trial's value is unknown, since the known values are too low."""
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
        return Measure(
            metric=metric,
            value=None,
            state="unknown" if unknown else "undefined",
            n=self.n,
            scenarios=self.scenarios.count,
            target=self._target,
            note=why,
        )

    def measure(self, metric: str, interval: Interval | None, note: str = "") -> Measure:
        """Build the measure of an interval."""
        if interval is None:
            return self.undefined(metric, note or _UNKNOWN)
        infinite, point = interval.status == "infinite", interval.status == "point"
        notes = [note] if note else []
        notes += ["too few values, or all equal: no interval"] if point else []
        notes += ["the interval is unbounded on one side"] if interval.status == "unbounded" else []
        return Measure(
            metric=metric,
            value=interval.estimate,
            low=interval.low,
            high=interval.high,
            state="infinite" if infinite else "known",
            n=self.n,
            scenarios=self.scenarios.count,
            method="" if point else interval.method,
            target=self._target,
            note="; ".join(notes),
        )

    @property
    def _target(self) -> Target:
        return LIKE if self.scenarios.count > 1 else HERE


def share(metric: str, hits: int, n: int, scenarios: int) -> Measure:
    """Estimate the share of `hits` among `n` trials or scenarios, on these scenarios."""
    limits = wilson(hits, n)
    if limits is None:
        return Measure(
            metric=metric, value=None, state="undefined", n=0, scenarios=scenarios, target=HERE, note=_NO_WHOLE
        )
    return Measure(
        metric=metric,
        value=hits / n,
        low=limits[0],
        high=limits[1],
        n=n,
        scenarios=scenarios,
        method="Wilson",
        target=HERE,
    )


def over_scenarios(metric: str, values: Floats, n: int, note: str = "") -> Measure:
    """Estimate the mean of one share per scenario, which is NaN if the scenario has none."""
    known = values[~np.isnan(values)]
    sample = Sample(ClusterIndex(np.arange(known.size), known.size))
    return sample.measure(metric, share_mean_interval(known), note).model_copy(update={"n": n})


def _left_out(known: Bools) -> str:
    lost = int(known.size - known.sum())
    return f"{counted(lost, 'trial')} without a value left out" if lost else ""


@dataclass(frozen=True, slots=True)
class _CostsAndPasses:
    """Costs and passes of the trials with a known cost and verdict."""

    usd: Groups
    passed: Groups

    def has(self, arm: int) -> Bools:
        return np.asarray(self.usd.n[arm] > 0)

    def attempts(self, arm: int, shared: Bools) -> Attempts:
        n, rate = self.passed.n[arm][shared], self.passed.mean[arm][shared]
        return Attempts(self.usd.mean[arm][shared], rate, int(n.sum()), float((n * rate).sum()))

    def wins(self, one: int, other: int, shared: Bools) -> tuple[int, int, int]:
        """Count the scenarios where a pass of `one` costs more, the same, and less (infinite without a pass)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (self.usd.mean[arm][shared] / self.passed.mean[arm][shared] for arm in (one, other))
        more, less = int((first > second).sum()), int((first < second).sum())
        return more, int(shared.sum()) - more - less, less


def pass_cost_contrasts(frame: Frame, pairings: Sequence[Pairing]) -> tuple[Contrast, ...]:
    """Compare the cost of a pass of each pairing of single arms, on shared scenarios; empty if all trials were free.

    The ratio has an interval and no p, since a sign-flip test does not fit the ratio of two sums.
    """
    usd, passed = frame.columns["usd"], frame.columns["passed"]
    both = ~np.isnan(usd) & ~np.isnan(passed)
    known = _CostsAndPasses(grouped(frame, np.where(both, usd, np.nan)), grouped(frame, np.where(both, passed, np.nan)))
    if not np.any(known.usd.mean > 0):
        return ()
    return tuple(_contrast(known, pair) for pair in pairings if len(pair.first) == len(pair.second) == 1)


def _contrast(known: _CostsAndPasses, pairing: Pairing) -> Contrast:
    (one,), (other,) = pairing.first, pairing.second
    shared = known.has(one) & known.has(other)
    sides = known.attempts(one, shared), known.attempts(other, shared)
    ratio, inner = (success_cost_ratio(*sides, confidence) for confidence in (WIDE, INNER))
    return Contrast(
        arm=pairing.arm,
        baseline=pairing.baseline,
        metric=_METRIC,
        family="no test",
        scale="ratio",
        scenarios=int(shared.sum()),
        dropped=int((known.has(one) != known.has(other)).sum()),
        wins=known.wins(one, other, shared),
        value=ratio.estimate if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
        inner_low=inner.low if inner else None,
        inner_high=inner.high if inner else None,
        method=ratio.method if ratio else "",
        note=_note(ratio, sides, int(shared.sum())),
    )


def _note(ratio: Interval | None, sides: tuple[Attempts, Attempts], scenarios: int) -> str:
    if not scenarios:
        return "the two arms share no scenario with a known cost"
    if ratio is not None:
        return "with one scenario, no interval can be computed" if scenarios == 1 else ""
    if any(not side.rate.any() for side in sides):
        return "an arm never passed, so the cost of its pass is infinite"
    return "an arm is free"


def frontier(frame: Frame, how: Resampling) -> CostFrontier | None:
    """Find the lowest cost of a pass; None if no arm has a cost above 0 that is known for all its trials."""
    cost, passed = grouped(frame, frame.columns["usd"]), grouped(frame, frame.columns["passed"])
    known = [arm for arm in range(len(frame.arms)) if _is_known(frame, arm, cost.n[arm], passed.n[arm])]
    if not known:
        return None
    usd, rate = cost.mean[known], passed.mean[known]
    human, names = _human_usd(frame), [frame.arms[arm] for arm in known]
    shared = ~np.isnan(usd).any(axis=0)
    per_scenario = strata_frontier(usd[:, shared], rate[:, shared], human[shared])
    drawn = _resampled(usd[:, shared], rate[:, shared], how)
    n = int(passed.n[known][:, shared].sum())
    return CostFrontier(
        pooled=_pooled(usd[:, shared], rate[:, shared], n, drawn.interval if drawn else None),
        best=tuple(names[arm] for arm in pooled_frontier(usd[:, shared], rate[:, shared]).best),
        per_scenario=Measure(
            metric="frontier_cost_of_pass_per_scenario",
            value=per_scenario.cost,
            state=_state(per_scenario.cost, per_scenario.strata),
            n=n,
            scenarios=per_scenario.strata,
            target=HERE,
        ),
        unsolved=per_scenario.unsolved,
        human=int(np.isfinite(human[shared]).sum()),
        shares=dict(zip(names, drawn.best, strict=True)) if drawn else {},
        pareto=_pareto(names, usd, rate),
    )


def _pooled(usd: Floats, rate: Floats, n: int, limits: Interval | None) -> Measure:
    """Estimate the cost of a pass over the scenarios that all arms tried, since these may be cheaper than others."""
    cost, scenarios = pooled_frontier(usd, rate).cost, usd.shape[1]
    note = "" if limits else f"no interval: at least {_FEWEST} scenarios are needed"
    if not scenarios:
        note = "the arms with known costs have no scenario in common"
    return Measure(
        metric="frontier_cost_of_pass",
        value=cost,
        low=limits.low if limits else None,
        high=limits.high if limits else None,
        state=_state(cost, scenarios),
        n=n,
        scenarios=scenarios,
        method=limits.method if limits else "",
        target=LIKE,
        note=note,
    )


def _state(cost: float | None, scenarios: int) -> State:
    if not scenarios:
        return "undefined"
    return "infinite" if cost is None else "known"


def _resampled(usd: Floats, rate: Floats, how: Resampling) -> ResampledFrontier | None:
    """Resample the frontier; None if there are too few scenarios for percentiles, or if a scenario was free."""
    if usd.shape[1] < _FEWEST or not np.all(usd > 0):
        return None
    return resampled_frontier(usd, rate, how)


def _is_known(frame: Frame, arm: int, priced: Floats, judged: Floats) -> bool:
    """Return whether every judged trial of an arm has a cost, and at least one is above 0."""
    rows = frame.rows_of(arm)
    return bool(rows.size) and bool(np.all(priced == judged)) and float(frame.columns["usd"][rows].sum()) > 0


def _human_usd(frame: Frame) -> Floats:
    """Return the price of a person's solution of each scenario; infinite if unknown."""
    price = np.full(len(frame.scenarios), math.inf)
    usd = frame.columns["human_usd"]
    rows = np.flatnonzero(~np.isnan(usd))
    price[frame.scenario[rows]] = usd[rows]
    return price


def _pareto(names: list[str], usd: Floats, rate: Floats) -> tuple[str, ...]:
    """Find the arms that no other arm dominates, by means over the scenarios that all arms tried."""
    both = ~np.isnan(usd).any(axis=0) & ~np.isnan(rate).any(axis=0)
    if not both.any():
        return ()
    members = pareto_set(rate[:, both].mean(axis=1), usd[:, both].mean(axis=1))
    return tuple(name for name, member in zip(names, members, strict=True) if member)
