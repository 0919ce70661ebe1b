"""Is there any difference among several arms? By shared scenarios; and by ranks of trials where none are shared."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from scipy.special import chdtrc

from scylla_gha.analysis.contrasts import Pairing
from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.groups import grouped
from scylla_gha.model.analysis import Omnibus, Unpaired, UnpairedArm, UnpairedPair
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.bootstrap import bca_limits
from scylla_gha.stats.concordance import kendall_w
from scylla_gha.stats.effect import cliffs_delta
from scylla_gha.stats.multiplicity import holm
from scylla_gha.stats.resampling import Resampling
from scylla_gha.stats.unpaired import kruskal_wallis, mann_whitney_p

_METRICS: Final = ("passed", "score", "usd", "seconds")
_NAMES: Final = {"passed": "pass_rate"}
_FEWEST_ARMS: Final = 3
_MOST_ARMS: Final = 40  # of which each two are compared


def omnibus(frame: Frame) -> Iterator[Omnibus]:
    """Friedman's test of each metric over three arms or more, on the scenarios that all of them have."""
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
    apart = any(not (tried[one.first[0]] & tried[one.second[0]]).any() for one in pairings)
    if not apart or len(frame.arms) > _MOST_ARMS:
        return
    for column in _METRICS:
        values = [frame.columns[column][frame.rows_of(at)] for at in range(len(frame.arms))]
        known = {at: x[~np.isnan(x)] for at, x in enumerate(values) if not np.isnan(x).all()}
        if len(known) > 1:
            yield _unpaired(frame, column, known, how)


def _unpaired(frame: Frame, column: str, known: dict[int, Floats], how: Resampling) -> Unpaired:
    test = kruskal_wallis(list(known.values()))
    places = [(one, other) for one in known for other in known if other < one]
    p = [mann_whitney_p(known[one], known[other]) for one, other in places]
    adjusted = holm([1.0 if one is None else one for one in p], len(p))
    return Unpaired(
        metric=_NAMES.get(column, column), h=test.h if test else None, p=test.p if test else None,
        arms=tuple(_arm(frame.arms[at], x, how) for at, x in known.items()),
        pairs=tuple(
            UnpairedPair(arm=frame.arms[one], baseline=frame.arms[other], p=raw,
                         p_adjusted=None if raw is None else float(each),
                         cliffs_delta=cliffs_delta(known[one], known[other]))
            for (one, other), raw, each in zip(places, p, adjusted, strict=True)
        ),
    )  # fmt: skip


def _arm(name: str, x: Floats, how: Resampling) -> UnpairedArm:
    low, high = (float(limit[0]) for limit in bca_limits([x[None, :]], how=how))
    return UnpairedArm(arm=name, n=x.size, mean=float(x.mean()), median=float(np.median(x)),
                       low=None if math.isnan(low) else low, high=None if math.isnan(high) else high)  # fmt: skip
