"""What a pass costs at least, over arms; and which arms no other beats in both pass rate and cost."""

import math
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.groups import grouped
from scylla_gha.analysis.measured import HERE, LIKE
from scylla_gha.model.analysis import Frontier, Measure, State
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.frontier import ResampledFrontier, pooled_frontier, resampled_frontier, strata_frontier
from scylla_gha.stats.interval import Interval
from scylla_gha.stats.pareto import pareto_set
from scylla_gha.stats.resampling import Resampling

_FEWEST: Final = 20  # scenarios for limits by resampling


def frontier(frame: Frame, how: Resampling) -> Frontier | None:
    """None where no arm has a cost above 0 that is known of all its trials."""
    cost, passed = grouped(frame, frame.columns["usd"]), grouped(frame, frame.columns["passed"])
    known = [place for place in range(len(frame.arms)) if _is_known(frame, place, cost.n[place], passed.n[place])]
    if not known:
        return None
    usd, rate = cost.mean[known], passed.mean[known]
    human, names = _human(frame), [frame.arms[place] for place in known]
    shared = ~np.isnan(usd).any(axis=0)
    each = strata_frontier(usd[:, shared], rate[:, shared], human[shared])
    drawn = _resampled(usd[:, shared], rate[:, shared], how)
    n = int(passed.n[known][:, shared].sum())
    return Frontier(
        pooled=_pooled(usd[:, shared], rate[:, shared], n, drawn.interval if drawn else None),
        best=tuple(names[place] for place in pooled_frontier(usd[:, shared], rate[:, shared]).best),
        per_scenario=Measure(metric="frontier_cost_of_pass_per_scenario", value=each.cost,
                             state=_state(each.cost, each.strata), n=n, scenarios=each.strata, target=HERE),
        unsolved=each.unsolved, human=int(np.isfinite(human[shared]).sum()),
        shares=dict(zip(names, drawn.best, strict=True)) if drawn else {}, pareto=_pareto(names, usd, rate),
    )  # fmt: skip


def _pooled(usd: Floats, rate: Floats, n: int, limits: Interval | None) -> Measure:
    """Over the scenarios that all arms tried: an arm that tried only the cheap ones would win otherwise."""
    cost, scenarios = pooled_frontier(usd, rate).cost, usd.shape[1]
    note = "" if limits else f"no interval: it takes {_FEWEST} scenarios"
    if not scenarios:
        note = "no scenario was tried by all arms whose costs are known"
    return Measure(metric="frontier_cost_of_pass", value=cost, low=limits.low if limits else None,
                   high=limits.high if limits else None, state=_state(cost, scenarios), n=n, scenarios=scenarios,
                   method=limits.method if limits else "", target=LIKE, note=note)  # fmt: skip


def _state(cost: float | None, scenarios: int) -> State:
    if not scenarios:
        return "undefined"
    return "infinite" if cost is None else "known"


def _resampled(usd: Floats, rate: Floats, how: Resampling) -> ResampledFrontier | None:
    """None with few scenarios, of which a percentile says too little, or where a scenario was free."""
    if usd.shape[1] < _FEWEST or not np.all(usd > 0):
        return None
    return resampled_frontier(usd, rate, how)


def _is_known(frame: Frame, place: int, priced: Floats, judged: Floats) -> bool:
    """Every judged trial has a cost, and not all are free: what costs nothing has no frontier."""
    rows = frame.rows_of(place)
    return bool(rows.size) and bool(np.all(priced == judged)) and float(frame.columns["usd"][rows].sum()) > 0


def _human(frame: Frame) -> Floats:
    """A person's price of each scenario; infinite where none is known."""
    found = np.full(len(frame.scenarios), math.inf)
    usd = frame.columns["human_usd"]
    told = np.flatnonzero(~np.isnan(usd))
    found[frame.scenario[told]] = usd[told]
    return found


def _pareto(names: list[str], usd: Floats, rate: Floats) -> tuple[str, ...]:
    """By means over the scenarios that all arms tried."""
    both = ~np.isnan(usd).any(axis=0) & ~np.isnan(rate).any(axis=0)
    if not both.any():
        return ()
    kept = pareto_set(rate[:, both].mean(axis=1), usd[:, both].mean(axis=1))
    return tuple(name for name, member in zip(names, kept, strict=True) if member)
