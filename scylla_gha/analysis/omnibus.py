"""Tests for any difference among several arms, by shared scenarios, or by ranks of trials if none are shared."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from scipy.special import chdtrc

from scylla_gha.analysis.frame import Frame, grouped
from scylla_gha.analysis.pairings import Pairing
from scylla_gha.model.analysis import Omnibus, Unpaired, UnpairedArm, UnpairedPair
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.effects import cliffs_delta
from scylla_gha.stats.resampling import Resampling, bca_limits
from scylla_gha.stats.significance import holm, kendall_w, kruskal_wallis, mann_whitney_p

_METRICS: Final = ("passed", "score", "usd", "seconds")
_NAMES: Final = {"passed": "pass_rate"}
_FEWEST_ARMS: Final = 3
_MOST_ARMS: Final = 40  # all pairs are compared


def omnibus(frame: Frame) -> Iterator[Omnibus]:
    """Apply Friedman's test to each metric of three arms or more, on the scenarios that all of them have."""
    for column in _METRICS:
        means = grouped(frame, frame.columns[column]).mean
        means = means[~np.isnan(means).all(axis=1)]
        shared = means[:, ~np.isnan(means).any(axis=0)]
        arms, scenarios = shared.shape
        if arms < _FEWEST_ARMS:
            continue
        w = kendall_w(shared)
        if w is not None:
            statistic = scenarios * (arms - 1) * w
            p = max(float(chdtrc(arms - 1, statistic)), math.ulp(0.0))
            yield Omnibus(
                metric=_NAMES.get(column, column), arms=arms, scenarios=scenarios, statistic=statistic, p=p, w=w
            )


def unpaired(frame: Frame, pairings: Sequence[Pairing], how: Resampling) -> Iterator[Unpaired]:
    """Compare arms by the ranks of their trials, for each metric, if some arm shares no scenario with its baseline."""
    tried = grouped(frame, frame.columns["passed"]).n > 0
    apart = any(not (tried[pair.first[0]] & tried[pair.second[0]]).any() for pair in pairings)
    if not apart or len(frame.arms) > _MOST_ARMS:
        return
    for column in _METRICS:
        values = [frame.columns[column][frame.rows_of(at)] for at in range(len(frame.arms))]
        known = {at: x[~np.isnan(x)] for at, x in enumerate(values) if not np.isnan(x).all()}
        if len(known) > 1:
            yield _unpaired(frame, column, known, how)


def _unpaired(frame: Frame, column: str, known: dict[int, Floats], how: Resampling) -> Unpaired:
    test = kruskal_wallis(list(known.values()))
    pairs = [(one, other) for one in known for other in known if other < one]
    p = [mann_whitney_p(known[one], known[other]) for one, other in pairs]
    adjusted = holm([1.0 if raw is None else raw for raw in p])
    return Unpaired(
        metric=_NAMES.get(column, column), h=test.h if test else None, p=test.p if test else None,
        arms=tuple(_arm(frame.arms[at], x, how) for at, x in known.items()),
        pairs=tuple(
            UnpairedPair(arm=frame.arms[one], baseline=frame.arms[other], p=raw,
                         p_adjusted=None if raw is None else float(adjusted_p),
                         cliffs_delta=cliffs_delta(known[one], known[other]))
            for (one, other), raw, adjusted_p in zip(pairs, p, adjusted, strict=True)
        ),
    )  # fmt: skip


def _arm(name: str, x: Floats, how: Resampling) -> UnpairedArm:
    low, high = bca_limits(x, how) or (None, None)
    return UnpairedArm(arm=name, n=x.size, mean=float(x.mean()), median=float(np.median(x)), low=low, high=high)
