"""Draw charts of arms: a forest plot of changes against the baseline, and pass rate over cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.model.analysis import Measure, Ruling, Verdict
from scylla_gha.report.charts.theme import (
    FONT_SIZE,
    GAP,
    Chart,
    Color,
    amount_x,
    by_row,
    finish,
    first_few,
    name_list,
    not_drawn,
    paint,
    row_color,
    row_text,
    short,
    signed_axis,
    single_layer,
    table,
)
from scylla_gha.report.metrics import change_limits, value
from scylla_gha.report.summary import MARKS
from scylla_gha.report.view import PASS, ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 270  # pixels of the forest plot's scale
_ROW: Final = 38  # pixels; two lines of text
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
_COST_PASS_WIDTH: Final = 400
_HEIGHT: Final = 240
_KEY_ROW: Final = 22
_FEW: Final = 8  # with more arms, intervals would hide each other


@dataclass(frozen=True, slots=True)
class _Row:
    """An arm in the forest plot; numbers are percentage points, None if unknown."""

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
    compared_with = short(view.baseline_text) if view.baseline or view.report.paired_by == "modes" else "its baseline"
    rows = [_row(view, at, ruling) for at, ruling in enumerate(rulings)]
    title = f"Change of the pass rate against {compared_with}"
    return finish(_draw(rows, 100 * rulings[0].margin), "forest", title, _alternative(view, rows, title))


def _rulings(view: ReportView) -> list[Ruling]:
    """Return the verdicts on the arms in `view.arms`, largest gain first."""
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
    data, once, beside = table(rows), single_layer(), _WIDTH + GAP
    intervals = data.transform_filter("datum.low !== null && datum.high !== null")
    return alt.layer(
        once.mark_rect(color=paint("band")).encode(x=alt.datum(-margin), x2=alt.datum(margin)),
        once.mark_rule(color=paint("text"), strokeDash=[4, 3]).encode(x=alt.datum(0)),
        intervals.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=by_row(), color=row_color()),
        data.transform_filter("datum.value !== null")
        .mark_point(size=110, filled=True, opacity=1)
        .encode(x=x, y=by_row(), color=row_color(), shape=alt.Shape("shape:N", scale=None)),
        row_text(data, "name", -GAP),
        row_text(data, "reading", beside, dy=-8, bold=True, color=None),
        row_text(data, "numbers", beside, dy=8),
    ).properties(width=_WIDTH, height=alt.Step(_ROW))


def _alternative(view: ReportView, rows: Sequence[_Row], title: str) -> str:
    arms = first_few([f"{row.name}: {row.reading}, {row.numbers}" for row in rows])
    hidden = len(view.report.comparisons) - len(rows)
    return " ".join([f"{title}, in points, with its 95 % interval. {arms}", *not_drawn(hidden, "arm")])


@dataclass(frozen=True, slots=True)
class _Point:
    """An arm in the chart of pass rate over cost; rates are in percent, costs in USD per trial."""

    row: int
    number: str
    usd: float
    usd_low: float | None
    usd_high: float | None
    rate: float
    rate_low: float | None
    rate_high: float | None
    in_front: bool
    color: str
    name: str
    label: str


def cost_pass(view: ReportView) -> Chart | None:
    """Draw pass rate over cost; None if no arm has a known cost above 0."""
    known = {arm.arm: pair for arm in view.arms if (pair := _rate_and_cost(view, arm.arm))}
    if not any(usd.value for _, usd in known.values()):
        return None
    ranked = sorted(known.items(), key=lambda item: (-(item[1][0].value or 0.0), item[1][1].value or 0.0))
    points = [_point(view, at, arm, *pair) for at, (arm, pair) in enumerate(ranked)]
    unknown = [view.name(arm.arm) for arm in view.arms if arm.arm not in known]
    return finish(
        _draw_front(points),
        "cost_pass",
        "Pass rate and cost of a trial",
        _front_alternative(view, points, unknown),
    )


def _rate_and_cost(view: ReportView, arm: str) -> tuple[Measure, Measure] | None:
    rate, usd = view.measure(arm, PASS), view.measure(arm, "usd")
    if rate is None or usd is None or rate.value is None or usd.value is None:
        return None
    return rate, usd


def _point(view: ReportView, row: int, arm: str, rate: Measure, usd: Measure) -> _Point:
    frontier = view.analysis.frontier if view.analysis else None
    in_front = frontier is not None and arm in frontier.pareto
    low, high = (None if limit is None else 100 * limit for limit in (rate.low, rate.high))
    role = ", baseline" if arm in view.baselines else ""
    return _Point(
        row=row,
        number=str(row + 1),
        usd=usd.value or 0.0,
        usd_low=usd.low,
        usd_high=usd.high,
        rate=100 * (rate.value or 0.0),
        rate_low=low,
        rate_high=high,
        in_front=in_front,
        color=paint("better" if in_front else "unclear"),
        name=view.name(arm),
        label=f"{short(view.name(arm))}: {value(rate)}, {value(usd)}{role}",
    )


def _draw_front(points: Sequence[_Point]) -> "alt.TopLevelMixin":
    import altair as alt

    data, key = table(points), table(points)
    amounts = [usd for point in points for usd in (point.usd, point.usd_low, point.usd_high) if usd is not None]
    x = amount_x("usd", amounts, "USD per trial (lower is better)")
    y = alt.Y("rate:Q", scale=alt.Scale(domain=[0, 100]), title="pass rate in percent")
    front = data.transform_filter("datum.in_front")
    plot = [
        front.mark_line(interpolate="step-after", color=paint("better"), strokeDash=[5, 3]).encode(x=x, y=y),
        *(_whiskers(data, x, y) if len(points) <= _FEW else ()),
        *_numbered(data, x, y),
    ]
    listed = [*_numbered(key, None, by_row()), row_text(key, "label", 18)]
    has_front = sum(point.in_front for point in points) > 1
    front_words = "dashed line: highest pass rate for the cost (Pareto front)"
    caption = alt.TitleParams(
        front_words if has_front else "", anchor="start", color=paint("muted"), fontSize=FONT_SIZE, fontWeight="normal"
    )
    return alt.vconcat(
        alt.layer(*plot, title=caption).properties(width=_COST_PASS_WIDTH, height=_HEIGHT),
        alt.layer(*listed).properties(width=10, height=alt.Step(_KEY_ROW)),
        spacing=12,
    )


def _whiskers(data: "alt.Chart", x: "alt.X", y: "alt.Y") -> list["alt.Chart"]:
    """Draw the 95 % intervals of rate and cost."""
    import altair as alt

    rates = data.transform_filter("datum.rate_low !== null && datum.rate_high !== null")
    costs = data.transform_filter("datum.usd_low !== null && datum.usd_high !== null")
    return [
        rates.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("rate_low:Q"), y2=alt.Y2("rate_high"), color=row_color()),
        costs.mark_rule(opacity=0.6).encode(x=alt.X("usd_low:Q"), x2=alt.X2("usd_high"), y=y, color=row_color()),
    ]


def _numbered(data: "alt.Chart", x: "alt.X | None", y: "alt.Y") -> list["alt.Chart"]:
    """Draw numbered discs; in a column if `x` is None."""
    import altair as alt

    channels = {"x": x, "y": y} if x else {"y": y}
    return [
        data.mark_circle(size=260, opacity=1).encode(**channels, color=row_color()),
        data.mark_text(color=paint("surface"), fontWeight="bold").encode(**channels, text=alt.Text("number:N")),
    ]


def _front_alternative(view: ReportView, points: Sequence[_Point], unknown: Sequence[str]) -> str:
    parts = [f"Pass rate and mean cost of a trial: {first_few([point.label for point in points])}"]
    front = [point.name for point in points if point.in_front]
    if front:
        parts.append(f"Highest pass rate for the cost: {name_list(front)}.")
    if unknown:
        parts.append(f"Not drawn, since their cost or pass rate is unknown: {name_list(unknown)}.")
    return " ".join([*parts, *not_drawn(view.left_out, "arm")])
