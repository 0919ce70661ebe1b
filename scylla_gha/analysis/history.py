"""An arm over time: each result set against a pinned one, changes of level, and slow drift.

The paired comparison is a gate for the newest result; E-divisive and CUSUM look at all of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import Pairing, compare_each
from scylla_gha.analysis.frame import Frame, read
from scylla_gha.analysis.groups import Groups, grouped
from scylla_gha.analysis.shifts import SHORT, Metric, Track, changes, drift, shared_scenarios
from scylla_gha.analysis.verdicts import ALPHA, rule
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.history import History, Point, Series
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling

_METRICS: Final[tuple[tuple[Metric, str], ...]] = (("pass_rate", "passed"), ("usd", "usd"), ("seconds", "seconds"))


@dataclass(frozen=True, slots=True)
class ResultSet:
    """Rows of one run and epoch. `name` is unique in a history."""

    name: str
    run: str
    epoch: str
    rows: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Pin:
    """The result set that others are held against, and the margin that counts as no difference."""

    name: str
    margin: float
    seed: int = 0


def history(sets: Sequence[ResultSet], arms: Sequence[str], pin: Pin) -> History:
    """The arms over the result sets, oldest first; the pinned one is among them."""
    notes = []
    if len(sets) < SHORT:
        count = f"{len(sets)} result {'set is' if len(sets) == 1 else 'sets are'} too few"
        notes.append(f"{count} to look for changes of level: it takes {SHORT}")
    return History(baseline=pin.name, margin=pin.margin, notes=tuple(notes),
                   series=tuple(_series(arm, sets, pin) for arm in arms))  # fmt: skip


def _series(arm: str, sets: Sequence[ResultSet], pin: Pin) -> Series:
    """The sets take the place of arms, so that all that is said of arms can be said of them."""
    names = tuple(one.name for one in sets)
    mine = (row.model_copy(update={"arm": one.name, "variant": None})
            for one in sets for row in one.rows if row.arm == arm)  # fmt: skip
    frame = read(mine, names)
    tables = {metric: grouped(frame, frame.columns[column]) for metric, column in _METRICS}
    rates = tables["pass_rate"]
    shared, ruled = shared_scenarios(rates), _ruled(frame, pin)
    tracks = [Track(names, metric, table, shared) for metric, table in tables.items()]
    shifts = [shift for track in tracks for shift in changes(track, pin.seed, ALPHA / len(tracks))]
    drifts = drift(tracks[0], names.index(pin.name))
    return Series(
        arm=arm, points=tuple(_point(at, one, tables, ruled.get(one.name), pin) for at, one in enumerate(sets)),
        shifts=(*shifts, *(drifts or ())),
        notes=(*_notes(rates, int(shared.sum())), *((_INDEPENDENT,) if shifts else ()),
               *(() if drifts is not None else (_NO_SPREAD,))),
    )  # fmt: skip


_NO_SPREAD: Final = "drift is not looked for: without repetitions that differ, nothing tells what chance does"

_INDEPENDENT: Final = (
    "a change takes p of at most 0.05 / 3, as three metrics are looked at, and result sets that vary independently: "
    "where neighbours resemble each other (a busy week, a slow provider), stable series show changes more often"
)


def _notes(rates: Groups, shared: int) -> Iterator[str]:
    tried = rates.n > 0
    every, there = int(tried.any(axis=0).sum()), tried.any(axis=1)
    if shared < every:
        yield (f"the result sets differ in their scenarios: changes and drift are looked for in the {shared} of "
               f"{every} that all of them have")  # fmt: skip
    if not there.all():
        yield f"{int((~there).sum())} of {there.size} result sets have no judged trial of this arm"


def _ruled(frame: Frame, pin: Pin) -> dict[str, Ruling]:
    """Each set with rows against the pinned one, as if alone: it was judged when it came, not with all after it."""
    place = frame.arms.index(pin.name)
    pairings = [Pairing(name, pin.name, (at,), (place,)) for at, name in enumerate(frame.arms)
                if at != place and frame.rows_of(at).size]  # fmt: skip
    found = compare_each(frame, pairings, "result sets against the pinned one", Resampling(seed=pin.seed), 1)
    return {one.arm: rule(one, pin.margin) for one in found}


def _point(at: int, one: ResultSet, tables: dict[Metric, Groups], ruling: Ruling | None, pin: Pin) -> Point:
    contrast = ruling.contrast if ruling else None
    low, n = contrast.inner_low if contrast else None, tables["pass_rate"].n[at]
    usd = tables["usd"]
    return Point(
        run=one.run, epoch=one.epoch, trials=int(n.sum()), scenarios=int((n > 0).sum()),
        rate=_mean(tables["pass_rate"], at),
        usd=_mean(usd, at) if np.array_equal(usd.n[at], n) else None,  # part of a sum is no sum
        seconds=_mean(tables["seconds"], at), difference=contrast.value if contrast else None, low=low,
        verdict=ruling.verdict if ruling else None, not_worse=None if low is None else low > -pin.margin,
    )  # fmt: skip


def _mean(table: Groups, at: int) -> float | None:
    known = table.mean[at][~np.isnan(table.mean[at])]
    return float(known.mean()) if known.size else None
