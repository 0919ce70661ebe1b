"""Arms over time: each result set compared with a pinned one, changes of level, and slow drift.

The paired comparison is a gate for the newest result set; E-divisive and CUSUM use all result sets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis.contrasts import ALPHA, compare_each, rule
from scylla_gha.analysis.estimate import Sample
from scylla_gha.analysis.frame import Frame, Groups, Pairing, build_frame, grouped
from scylla_gha.counting import counted
from scylla_gha.model.analysis import Measure, Ruling
from scylla_gha.model.report import History, Point, Series, Shift
from scylla_gha.model.result import Result
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.change_points import change_points, cusum, first_signal
from scylla_gha.stats.resampling import Resampling

Metric = Literal["pass_rate", "usd", "seconds"]
SHORT: Final = 9  # result sets; with fewer, no order gives a p of 0.05 or less over three metrics
_NO_SPREAD: Final = "no search for drift: the variation by chance is unknown, since no repetitions differ"
_INDEPENDENT: Final = (
    "a change needs p of at most 0.05 / 3, since three metrics are tested, and independent result sets: "
    "if neighbours are similar (a busy week, a slow provider), stable series show changes more often"
)
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
    """The result set with which others are compared, and the largest difference that counts as none."""

    name: str
    margin: float
    seed: int = 0


def history(sets: Sequence[ResultSet], arms: Sequence[str], pin: Pin) -> History:
    """Follow the arms over the result sets, oldest first; they include the pinned one."""
    notes = []
    if len(sets) < SHORT:
        count = f"{len(sets)} result {'set is' if len(sets) == 1 else 'sets are'} too few"
        notes.append(f"{count} to find changes of level; {SHORT} are needed")
    return History(
        baseline=pin.name, margin=pin.margin, notes=tuple(notes), series=tuple(_series(arm, sets, pin) for arm in arms)
    )


def _series(arm: str, sets: Sequence[ResultSet], pin: Pin) -> Series:
    """Follow one arm; its result sets are treated as arms, so that the analyses of arms apply to them."""
    names = tuple(results.name for results in sets)
    rows = (
        row.model_copy(update={"arm": results.name, "variant": None})
        for results in sets
        for row in results.rows
        if row.arm == arm
    )
    frame = build_frame(rows, names)
    tables = {metric: grouped(frame, frame.columns[column]) for metric, column in _METRICS}
    rates = tables["pass_rate"]
    shared, ruled = shared_scenarios(rates), _ruled(frame, pin)
    tracks = [Track(names, metric, table, shared) for metric, table in tables.items()]
    shifts = [shift for track in tracks for shift in changes(track, pin.seed, ALPHA / len(tracks))]
    drifts = drift(tracks[0], names.index(pin.name))
    limits = [_rate(frame, at) for at in range(len(sets))]
    return Series(
        arm=arm,
        points=tuple(
            _point(at, results, tables, ruled.get(results.name), pin).model_copy(
                update={"rate_low": limits[at].low, "rate_high": limits[at].high}
            )
            for at, results in enumerate(sets)
        ),
        shifts=(*shifts, *(drifts or ())),
        notes=(
            *_notes(rates, int(shared.sum())),
            *((_INDEPENDENT,) if shifts else ()),
            *(() if drifts is not None else (_NO_SPREAD,)),
        ),
    )


def _rate(frame: Frame, at: int) -> Measure:
    rows = frame.rows_of(at)
    return Sample.of(frame.scenario[rows]).rate("pass_rate", frame.columns["passed"][rows])


def _notes(rates: Groups, shared: int) -> Iterator[str]:
    tried = rates.n > 0
    every, has_rows = int(tried.any(axis=0).sum()), tried.any(axis=1)
    if shared < every:
        yield (
            f"the result sets differ in their scenarios: changes and drift are computed from the {shared} of "
            f"{every} that all of them have"
        )
    if not has_rows.all():
        yield f"this arm has no judged trial in {int((~has_rows).sum())} of {counted(has_rows.size, 'result set')}"


def _ruled(frame: Frame, pin: Pin) -> dict[str, Ruling]:
    """Compare each set with the pinned one, as a family of its own, since its verdict came before the later sets."""
    pinned = frame.arms.index(pin.name)
    pairings = [
        Pairing(name, pin.name, (at,), (pinned,))
        for at, name in enumerate(frame.arms)
        if at != pinned and frame.rows_of(at).size
    ]
    contrasts = compare_each(frame, pairings, "result sets against the pinned one", Resampling(seed=pin.seed), 1)
    return {contrast.arm: rule(contrast, pin.margin) for contrast in contrasts}


def _point(at: int, results: ResultSet, tables: dict[Metric, Groups], ruling: Ruling | None, pin: Pin) -> Point:
    contrast = ruling.contrast if ruling else None
    low, n = contrast.inner_low if contrast else None, tables["pass_rate"].n[at]
    usd = tables["usd"]
    return Point(
        run=results.run,
        epoch=results.epoch,
        trials=int(n.sum()),
        scenarios=int((n > 0).sum()),
        rate=_mean(tables["pass_rate"], at),
        usd=_mean(usd, at) if np.array_equal(usd.n[at], n) else None,  # unknown if the cost of one trial is unknown
        seconds=_mean(tables["seconds"], at),
        difference=contrast.value if contrast else None,
        low=low,
        verdict=ruling.verdict if ruling else None,
        not_worse=None if low is None else low > -pin.margin,
    )


def _mean(table: Groups, at: int) -> float | None:
    known = table.mean[at][~np.isnan(table.mean[at])]
    return float(known.mean()) if known.size else None


@dataclass(frozen=True, slots=True)
class Track:
    """One metric of one arm: groups of shape (result sets, scenarios), and the scenarios that all sets have."""

    names: tuple[str, ...]
    metric: Metric
    groups: Groups
    shared: Bools

    def values(self) -> Floats:
        """Return each set's mean over the shared scenarios; NaN if it has no value."""
        if not self.shared.any():
            return np.full(len(self.names), np.nan)
        return np.asarray(self.groups.mean[:, self.shared].mean(axis=1))


def changes(track: Track, seed: int, level: float = 0.05) -> Iterator[Shift]:
    """Find changes of level, in chronological order; none if the series is too short.

    Args:
        track: track of one metric.
        seed: seed of the permutations.
        level: false-positive rate; divide it by the number of tracks.
    """
    values = track.values()
    known = np.flatnonzero(~np.isnan(values))
    x = values[known]
    if x.size < SHORT:
        return
    points = change_points(x, level, seed=seed)
    bounds = [0, *(point.at for point in points), x.size]
    means = [float(x[start:end].mean()) for start, end in pairwise(bounds)]
    for number, point in enumerate(points):
        name, (before, after) = track.names[known[point.at]], means[number : number + 2]
        yield Shift(
            kind="change",
            metric=track.metric,
            run=name,
            since=name,
            before=before,
            after=after,
            side="up" if after > before else "down",
            p=point.p,
        )


def drift(track: Track, baseline: int) -> tuple[Shift, ...] | None:
    """Find the first signal of a drift since the baseline runs; None if variation by chance cannot be estimated.

    Args:
        track: track of the pass rate.
        baseline: index of the last baseline run; all earlier sets are baseline runs too.
    """
    residuals_after = residuals(track, baseline)
    if residuals_after is None:
        return None
    sets, z = residuals_after
    signal = first_signal(cusum(z))
    if signal is None:
        return ()
    run, since = track.names[sets[signal.at]], track.names[sets[signal.since]]
    return (Shift(kind="drift", metric=track.metric, run=run, since=since, side=signal.side),)


def residuals(track: Track, baseline: int) -> tuple[Sequence[int], Floats] | None:
    """Return the indices of the sets after the baseline runs, and their standardised recursive residuals.

    A residual compares a set's mean with the mean of all sets before it, in standard deviations due to repetitions.
    Residuals from the baseline runs alone would share the chance deviation of these runs, so their sum would drift;
    recursive residuals are independent if nothing changes.
    """
    n, values = track.groups.n[:, track.shared], track.values()
    spare = np.maximum(n - 1, 0).sum()
    variance = track.groups.within[:, track.shared].sum() / spare if spare else 0.0
    known = [at for at in range(len(track.names)) if not np.isnan(values[at])]
    if variance <= 0 or not known:
        return None
    noise = {at: float(variance * (1 / n[at]).sum() / n.shape[1] ** 2) for at in known}
    mean = weight = 0.0
    later, z = [], []
    for at in known:
        if weight and at > baseline:
            later.append(at)
            z.append((values[at] - mean) / np.sqrt(noise[at] + 1 / weight))
        mean = (mean * weight + values[at] / noise[at]) / (weight + 1 / noise[at])
        weight += 1 / noise[at]
    return later, np.array(z, dtype=np.float64)


def shared_scenarios(rates: Groups) -> Bools:
    """Mask the scenarios that all sets with rows have; a changed suite would look like a changed agent."""
    tried = rates.n > 0
    has_rows = tried.any(axis=1)
    return np.asarray(tried[has_rows].all(axis=0)) if has_rows.any() else np.zeros(tried.shape[1], dtype=np.bool_)
