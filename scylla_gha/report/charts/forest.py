"""Forest plot: the change of each arm's pass rate against its baseline, with its 95 % interval and verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.model.analysis import Ruling, Verdict
from scylla_gha.report.charts.layers import GAP, by_row, ground, own_color, row_text, signed_axis, table
from scylla_gha.report.charts.theme import Chart, Color, finish, first_few, not_drawn, paint, short
from scylla_gha.report.metrics import change_limits
from scylla_gha.report.summary import MARKS
from scylla_gha.report.view import ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 270  # of the scale, in pixels
_ROW: Final = 38  # two lines
_SHAPES: Final[dict[Verdict, str]] = {
    "better": "triangle-up",
    "worse": "triangle-down",
    "equivalent": "square",
    "not_enough_data": "circle",
}
_COLORS: Final[dict[Verdict, Color]] = {
    "better": "better",
    "worse": "worse",
    "equivalent": "equivalent",
    "not_enough_data": "unclear",
}


@dataclass(frozen=True, slots=True)
class _Row:
    """One arm; numbers are points of percentage, and None if they are unknown."""

    row: int
    name: str
    value: float | None
    low: float | None
    high: float | None
    shape: str
    color: str
    reading: str
    numbers: str


def forest(view: ReportView) -> Chart | None:
    """Draw the changes of the pass rate; None if no arm was compared with a baseline."""
    rulings = _rulings(view)
    if not any(ruling.contrast.value is not None for ruling in rulings):
        return None
    against = short(view.against) if view.baseline or view.report.paired_by == "modes" else "its baseline"
    rows = [_row(view, at, ruling) for at, ruling in enumerate(rulings)]
    title = f"Change of the pass rate against {against}"
    return finish(_draw(rows, 100 * rulings[0].margin), "forest", title, _alternative(view, rows, title))


def _rulings(view: ReportView) -> list[Ruling]:
    """Return the verdicts on the shown arms, the largest gain first."""
    shown = {arm.arm for arm in view.arms}
    rulings = [ruling for ruling in (view.analysis.rulings if view.analysis else ()) if ruling.arm in shown]
    return sorted(
        rulings, key=lambda ruling: -2.0 if ruling.contrast.value is None else ruling.contrast.value, reverse=True
    )


def _row(view: ReportView, row: int, ruling: Ruling) -> _Row:
    contrast, verdict = ruling.contrast, ruling.verdict
    value, low, high = (None if x is None else 100 * x for x in (contrast.value, contrast.low, contrast.high))
    limits = f" {change_limits(contrast)}" if low is not None and high is not None else ", no interval"
    return _Row(
        row=row,
        name=short(view.name(ruling.arm)),
        value=value,
        low=low,
        high=high,
        shape=_SHAPES[verdict],
        color=paint(_COLORS[verdict]),
        reading=f"{MARKS[verdict]} {verdict.replace('_', ' ')}",
        numbers="no estimate" if value is None else f"{value:+.1f}{limits}",
    )


def _draw(rows: Sequence[_Row], margin: float) -> "alt.TopLevelMixin":
    import altair as alt

    ends = [x for row in rows for x in (row.value, row.low, row.high) if x is not None]
    domain = [1.1 * min(-margin, -1.0, *ends), 1.1 * max(margin, 1.0, *ends)]
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=domain, nice=False),
        axis=signed_axis("+d"),
        title=f"difference in points, 95 % interval; grey band: ±{margin:g} count as equal",
    )
    data, once, beside = table(rows), ground(), _WIDTH + GAP
    intervals = data.transform_filter("datum.low !== null && datum.high !== null")
    return alt.layer(
        once.mark_rect(color=paint("band")).encode(x=alt.datum(-margin), x2=alt.datum(margin)),
        once.mark_rule(color=paint("text"), strokeDash=[4, 3]).encode(x=alt.datum(0)),
        intervals.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=by_row(), color=own_color()),
        data.transform_filter("datum.value !== null")
        .mark_point(size=110, filled=True, opacity=1)
        .encode(x=x, y=by_row(), color=own_color(), shape=alt.Shape("shape:N", scale=None)),
        row_text(data, "name", -GAP),
        row_text(data, "reading", beside, dy=-8, bold=True, color=None),
        row_text(data, "numbers", beside, dy=8),
    ).properties(width=_WIDTH, height=alt.Step(_ROW))


def _alternative(view: ReportView, rows: Sequence[_Row], title: str) -> str:
    arms = first_few([f"{row.name}: {row.reading}, {row.numbers}" for row in rows])
    hidden = len(view.report.comparisons) - len(rows)
    return " ".join([f"{title}, in points, with its 95 % interval. {arms}", *not_drawn(hidden, "arm")])
