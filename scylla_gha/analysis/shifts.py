"""Where a series of result sets changes its level (E-divisive), and where it drifts (CUSUM)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis.groups import Groups
from scylla_gha.model.history import Shift
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.change import change_points
from scylla_gha.stats.cusum import cusum, first_signal

Metric = Literal["pass_rate", "usd", "seconds"]
SHORT: Final = 9  # result sets: of fewer, no order has a p as small as 0.05 over three metrics
_DRAWS: Final = 999


@dataclass(frozen=True, slots=True)
class Track:
    """One metric of one arm: groups of shape (result sets, scenarios), and the scenarios that all sets have."""

    names: tuple[str, ...]
    metric: Metric
    groups: Groups
    shared: Bools

    def values(self) -> Floats:
        """The mean over the shared scenarios of each set; NaN where it has none."""
        if not self.shared.any():
            return np.full(len(self.names), np.nan)
        return np.asarray(self.groups.mean[:, self.shared].mean(axis=1))


def changes(track: Track, seed: int, level: float = 0.05) -> Iterator[Shift]:
    """Changes of level, in the order of time; none in a series that is too short.

    Args:
        track: of one metric.
        seed: of the permutations.
        level: of the first change of a stable series: divide it by the tracks that are looked at.
    """
    values = track.values()
    known = np.flatnonzero(~np.isnan(values))
    x = values[known]
    if x.size < SHORT:
        return
    found = change_points(x, level, draws=_DRAWS, seed=seed)
    bounds = [0, *(one.at for one in found), x.size]
    means = [float(x[start:end].mean()) for start, end in pairwise(bounds)]
    for number, one in enumerate(found):
        name, (before, after) = track.names[known[one.at]], means[number : number + 2]
        yield Shift(kind="change", metric=track.metric, run=name, since=name, before=before, after=after,
                    side="up" if after > before else "down", p=one.p)  # fmt: skip


def drift(track: Track, baseline: int) -> tuple[Shift, ...] | None:
    """The first signal of a drift since the baseline runs; None where nothing tells how much a set varies by chance.

    Args:
        track: of the pass rate.
        baseline: the last of the baseline runs, which all before it are too.
    """
    found = residuals(track, baseline)
    if found is None:
        return None
    places, z = found
    signal = first_signal(cusum(z))
    if signal is None:
        return ()
    run, since = track.names[places[signal.at]], track.names[places[signal.since]]
    return (Shift(kind="drift", metric=track.metric, run=run, since=since, side=signal.side),)


def residuals(track: Track, baseline: int) -> tuple[Sequence[int], Floats] | None:
    """Standardised residuals of the sets after the baseline runs, and their places.

    Each is of a set's scenario means from those of all sets before it, in standard deviations by which repetitions
    make it vary. Held against the baseline runs alone, their own chance would be in every residual, and a sum over
    them would run away; so (recursive residuals) they are independent where nothing changes.
    """
    n, values = track.groups.n[:, track.shared], track.values()
    spare = np.maximum(n - 1, 0).sum()
    variance = track.groups.within[:, track.shared].sum() / spare if spare else 0.0
    places = [at for at in range(len(track.names)) if not np.isnan(values[at])]
    if variance <= 0 or not places:
        return None
    noise = {at: float(variance * (1 / n[at]).sum() / n.shape[1] ** 2) for at in places}
    mean = weight = 0.0
    later, z = [], []
    for at in places:
        if weight and at > baseline:
            later.append(at)
            z.append((values[at] - mean) / np.sqrt(noise[at] + 1 / weight))
        mean = (mean * weight + values[at] / noise[at]) / (weight + 1 / noise[at])
        weight += 1 / noise[at]
    return later, np.array(z, dtype=np.float64)


def shared_scenarios(rates: Groups) -> Bools:
    """Those that every set with rows has: with others, a change of suite would look like one of the agent."""
    tried = rates.n > 0
    there = tried.any(axis=1)
    return np.asarray(tried[there].all(axis=0)) if there.any() else np.zeros(tried.shape[1], dtype=np.bool_)
