"""What a pass costs at least, over arms; and which arms no other beats in both pass rate and cost."""

import math

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.groups import grouped
from scylla_gha.analysis.measured import HERE, LIKE
from scylla_gha.model.analysis import Frontier, Measure
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.frontier import pooled_frontier, resampled_frontier, strata_frontier
from scylla_gha.stats.pareto import pareto_set
from scylla_gha.stats.resampling import Resampling


def frontier(frame: Frame, how: Resampling) -> Frontier | None:
    """None where no arm has a cost above 0 that is known of all its trials."""
    cost, passed = grouped(frame, frame.columns["usd"]), grouped(frame, frame.columns["passed"])
    known = [place for place in range(len(frame.arms)) if _is_known(frame, place, cost.n[place], passed.n[place])]
    if not known:
        return None
    usd, rate = cost.mean[known], passed.mean[known]
    human = _human(frame)
    pooled = pooled_frontier(usd, rate)
    each = strata_frontier(usd, rate, human)
    whole = bool(np.all(usd > 0))  # NaN is not
    drawn = resampled_frontier(usd, rate, how) if whole else None
    limits = drawn.interval if drawn else None
    n, names = int(passed.n[known].sum()), [frame.arms[place] for place in known]
    return Frontier(
        pooled=Measure(metric="frontier_cost_of_pass", value=pooled.cost, low=limits.low if limits else None,
                       high=limits.high if limits else None, state="known" if pooled.cost is not None else "infinite",
                       n=n, scenarios=usd.shape[1], method=limits.method if limits else "", target=LIKE),
        best=tuple(names[place] for place in pooled.best),
        per_scenario=Measure(metric="frontier_cost_of_pass_per_scenario", value=each.cost,
                             state="known" if each.cost is not None else "infinite", n=n, scenarios=each.strata,
                             target=HERE),
        unsolved=each.unsolved, human=int(np.isfinite(human).sum()),
        shares=dict(zip(names, drawn.best, strict=True)) if drawn else {},
        optimism=drawn.optimism if drawn else None, pareto=_pareto(names, usd, rate),
    )  # fmt: skip


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
