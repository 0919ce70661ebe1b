"""Cost against pass rate: one point per arm, and the front of arms that no other beats in both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.model.analysis import Measure
from scylla_gha.report.charts.layers import amount_x, by_row, own_color, row_text, table
from scylla_gha.report.charts.theme import FONT_SIZE, Chart, finish, first_few, listed, not_drawn, paint, short
from scylla_gha.report.metrics import value
from scylla_gha.report.view import PASS, ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 400
_HEIGHT: Final = 240
_KEY_ROW: Final = 22
_FEW: Final = 8  # arms whose intervals do not hide each other


@dataclass(frozen=True, slots=True)
class _Point:
    """One arm; rates in percent."""

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
    """Draw cost against pass rate; None if the cost of no arm is known and above 0."""
    known = {arm.arm: pair for arm in view.arms if (pair := _rate_and_cost(view, arm.arm))}
    if not any(usd.value for _, usd in known.values()):
        return None
    ranked = sorted(known.items(), key=lambda item: (-(item[1][0].value or 0.0), item[1][1].value or 0.0))
    points = [_point(view, at, arm, *pair) for at, (arm, pair) in enumerate(ranked)]
    unknown = [view.name(arm.arm) for arm in view.arms if arm.arm not in known]
    return finish(_draw(points), "cost_pass", "Pass rate and cost of a trial", _alternative(view, points, unknown))


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


def _draw(points: Sequence[_Point]) -> "alt.TopLevelMixin":
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
        alt.layer(*plot, title=caption).properties(width=_WIDTH, height=_HEIGHT),
        alt.layer(*listed).properties(width=10, height=alt.Step(_KEY_ROW)),
        spacing=12,
    )


def _whiskers(data: "alt.Chart", x: "alt.X", y: "alt.Y") -> list["alt.Chart"]:
    """Draw the 95 % intervals of rate and cost."""
    import altair as alt

    rates = data.transform_filter("datum.rate_low !== null && datum.rate_high !== null")
    costs = data.transform_filter("datum.usd_low !== null && datum.usd_high !== null")
    return [
        rates.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("rate_low:Q"), y2=alt.Y2("rate_high"), color=own_color()),
        costs.mark_rule(opacity=0.6).encode(x=alt.X("usd_low:Q"), x2=alt.X2("usd_high"), y=y, color=own_color()),
    ]


def _numbered(data: "alt.Chart", x: "alt.X | None", y: "alt.Y") -> list["alt.Chart"]:
    """Draw numbered discs, without `x` in a column."""
    import altair as alt

    channels = {"x": x, "y": y} if x else {"y": y}
    return [
        data.mark_circle(size=260, opacity=1).encode(**channels, color=own_color()),
        data.mark_text(color=paint("surface"), fontWeight="bold").encode(**channels, text=alt.Text("number:N")),
    ]


def _alternative(view: ReportView, points: Sequence[_Point], unknown: Sequence[str]) -> str:
    parts = [f"Pass rate and mean cost of a trial: {first_few([point.label for point in points])}"]
    front = [point.name for point in points if point.in_front]
    if front:
        parts.append(f"Highest pass rate for the cost: {listed(front)}.")
    if unknown:
        parts.append(f"Not drawn, since their cost is not known: {listed(unknown)}.")
    return " ".join([*parts, *not_drawn(view.left_out, "arm")])
