"""History of readiness: the score of each run with its 95 % interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.readiness_score import ReadinessReport
from scylla_gha.report.charts.layers import table
from scylla_gha.report.charts.theme import Chart, finish, first_few, paint, short
from scylla_gha.report.readiness_text import interval_text

_WIDTH: Final = 520
_HEIGHT: Final = 130
_MOST_RUNS: Final = 30  # the newest
_NAME: Final = 18


@dataclass(frozen=True, slots=True)
class _ScorePoint:
    """Score of a run, 0 to 100, and the ends of its interval within that."""

    at: int
    name: str
    score: float
    low: float
    high: float
    words: str
    subject: str


def readiness_history(runs: Sequence[tuple[str, ReadinessReport]]) -> Chart | None:
    """Draw the scores of runs with labels, oldest first; None if fewer than two have a score.

    A line joins the scores of one agent and model, since others do not compare.
    """
    points = list(_points(runs))[-_MOST_RUNS:]
    if len(points) < 2:  # noqa: PLR2004 a line takes two points
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


def _points(runs: Sequence[tuple[str, ReadinessReport]]) -> Iterator[_ScorePoint]:
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
