"""Draw charts of histories: pass rates of arms over result sets, and readiness scores over runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.counting import counted
from scylla_gha.model.readiness import ReadinessReport
from scylla_gha.model.report import History, Point, Series, Shift
from scylla_gha.report.charts.theme import (
    FONT_SIZE,
    Chart,
    finish,
    first_few,
    not_drawn,
    paint,
    row_color,
    short,
    table,
)
from scylla_gha.report.document import percent
from scylla_gha.report.readiness_text import interval_text

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 520
_HEIGHT: Final = 130
_MOST_ARMS: Final = 8
_MOST_SETS: Final = 60  # newest result sets
_MOST_NAMES: Final = 15  # below the axis
_NAME: Final = 18  # characters
_LINE: Final = 14  # pixels between texts of neighbouring changes
_WORDS: Final = {"up": "rises", "down": "drops"}
_MOST_RUNS: Final = 30  # newest runs


@dataclass(frozen=True, slots=True)
class _Point:
    """An arm in a result set; rates are in percent."""

    at: int
    name: str
    rate: float | None
    low: float | None
    high: float | None
    shape: str
    size: float


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of level or a signal of drift, at a position among the result sets."""

    at: float
    text: str
    color: str


def history(history: History) -> Chart | None:
    """Draw the pass rates of arms over time; None if no arm has two known pass rates."""
    drawn = [series for series in history.series if sum(point.rate is not None for point in series.points) > 1]
    if not drawn:
        return None
    import altair as alt

    panels = [_panel(series, history.baseline) for series in drawn[:_MOST_ARMS]]
    statements = [_statement(series) for series in drawn]
    sets = counted(len(drawn[0].points), "result set")
    alternative = [
        f"Pass rate over {sets}, oldest first, with its 95 % interval.",
        first_few(statements),
        f"◆ is the baseline {short(history.baseline)}.",
        *not_drawn(len(drawn) - _MOST_ARMS, "arm"),
    ]
    chart = alt.vconcat(*panels, spacing=18)
    return finish(chart, "history", "Pass rate over time", " ".join(alternative))


def _statement(series: Series) -> str:
    known = [point.rate for point in series.points if point.rate is not None]
    shifts = [f"{_word(shift)} at {short(shift.run, _NAME)}" for shift in _shifts(series)]
    return ", ".join([f"{short(series.arm)}: from {percent(known[0])} to {percent(known[-1])}", *shifts])


def _shifts(series: Series) -> list[Shift]:
    return [shift for shift in series.shifts if shift.metric == "pass_rate"]


def _word(shift: Shift) -> str:
    if shift.kind == "drift":
        return f"drifts {shift.side}"
    return f"{_WORDS[shift.side]} from {percent(shift.before)} to {percent(shift.after)}"


def _names(points: Sequence[Point]) -> list[str]:
    return [f"{point.run}@{point.epoch}" if point.epoch else point.run for point in points]


def _points(series: Series, baseline: str) -> Iterator[_Point]:
    shown = series.points[-_MOST_SETS:]
    for at, (point, name) in enumerate(zip(shown, _names(shown), strict=True)):
        rate, low, high = (None if x is None else 100 * x for x in (point.rate, point.rate_low, point.rate_high))
        shape = "diamond" if name == baseline else "circle"
        yield _Point(at, short(name, _NAME), rate, low, high, shape, 120.0 if name == baseline else 45.0)


def _changes(series: Series) -> Iterator[_Change]:
    """Yield changes, half a step before the first result set that shows them, and drift signals at their result set."""
    names = _names(series.points[-_MOST_SETS:])
    for shift in _shifts(series):
        if shift.run in names:
            at = names.index(shift.run) - (0.5 if shift.kind == "change" else 0.0)
            yield _Change(at, _word(shift), paint("better" if shift.side == "up" else "worse"))


def _panel(series: Series, baseline: str) -> "alt.LayerChart | alt.FacetChart":
    import altair as alt

    points, changes = list(_points(series, baseline)), list(_changes(series))
    data, color = table(points), paint("better")
    x = alt.X("at:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(points) - 0.5], nice=False))
    y = alt.Y("rate:Q", title="pass rate in percent", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5))
    layers = [
        data.mark_area(color=color, opacity=0.18).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high")),
        data.mark_line(color=color, strokeWidth=2).encode(x=x, y=y),
        data.transform_filter("datum.rate !== null")
        .mark_point(filled=True, opacity=1, color=color)
        .encode(x=x, y=y, size=alt.Size("size:Q", scale=None), shape=alt.Shape("shape:N", scale=None)),
        data.transform_filter("datum.rate === null").mark_text(text="?", y=_HEIGHT - 10).encode(x=x),
        _names_below(points, x),
    ]
    if changes:
        at = alt.X("at:Q")
        marked = table(changes)
        layers += [
            marked.mark_rule(strokeDash=[5, 3]).encode(x=at, color=row_color()),
            *(
                table([change])
                .mark_text(align="left", dx=4, y=8 + _LINE * (number % 3))
                .encode(x=at, text=alt.Text("text:N"), color=row_color())
                for number, change in enumerate(changes)
            ),
        ]
    heading = alt.TitleParams(short(series.arm), anchor="start", color=paint("text"), fontSize=FONT_SIZE)
    return alt.layer(*layers, width=_WIDTH, height=_HEIGHT, title=heading)


def _names_below(points: Sequence[_Point], x: "alt.X") -> "alt.Chart":
    """Write names of result sets below the scale; only every nth name if there are many."""
    import altair as alt

    step = -(-len(points) // _MOST_NAMES)
    data = table([point for point in points if (len(points) - 1 - point.at) % step == 0])
    mark = data.mark_text(align="right", baseline="middle", angle=325, y=_HEIGHT + 10, color=paint("muted"))
    names: alt.Chart = mark.encode(x=x, text=alt.Text("name:N"))
    return names


@dataclass(frozen=True, slots=True)
class _ScorePoint:
    """Score of a run and its interval, all clamped to 0 to 100."""

    at: int
    name: str
    score: float
    low: float
    high: float
    words: str
    subject: str


def readiness_history(runs: Sequence[tuple[str, ReadinessReport]]) -> Chart | None:
    """Draw the scores of labelled runs, oldest first; None if fewer than two have a score.

    A line joins scores of the same agent and model; scores of different ones cannot be compared.
    """
    points = list(_readiness_points(runs))[-_MOST_RUNS:]
    if len(points) < 2:  # noqa: PLR2004 a line needs two points
        return None
    import altair as alt

    x = alt.X("name:N", sort=None, title=None, axis=alt.Axis(labelAngle=-35, grid=False))
    y = alt.Y("score:Q", title="readiness", scale=alt.Scale(domain=[0, 100], clamp=True), axis=alt.Axis(tickCount=5))
    rows, color = table(points), paint("better")
    chart = alt.layer(
        rows.mark_line(color=color, strokeWidth=1, opacity=0.6).encode(x=x, y=y, detail="subject:N"),
        rows.mark_rule(color=color, strokeWidth=2).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high")),
        rows.mark_point(filled=True, opacity=1, color=color, size=60).encode(x=x, y=y),
        width=_WIDTH,
        height=_HEIGHT,
    )
    scores = first_few([f"{point.name}: {point.words}" for point in points])
    alternative = f"Readiness over {counted(len(points), 'run')}, oldest first, with its 95 % interval. {scores}"
    return finish(chart, "readiness_history", "Readiness over time", alternative)


def _readiness_points(runs: Sequence[tuple[str, ReadinessReport]]) -> Iterator[_ScorePoint]:
    for at, (label, report) in enumerate(runs):
        measured = report.score
        if measured is None or measured.score is None:
            continue
        low, high = (measured.score if end is None else end for end in (measured.low, measured.high))
        words = f"{measured.score:.0f}{interval_text(measured.low, measured.high)}"
        yield _ScorePoint(
            at, short(label, _NAME), _bounded(measured.score), _bounded(low), _bounded(high), words, measured.subject
        )


def _bounded(number: float) -> float:
    return min(100.0, max(0.0, number))
