"""Tier ladder: the pass rate of each tier with its interval, and the step from the tier before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.model.analysis import BestSubtest, Contrast, Slice
from scylla_gha.report.charts.layers import GAP, by_row, row_text, table
from scylla_gha.report.charts.theme import Chart, finish, first_few, paint, short
from scylla_gha.report.comparisons import arrow, family_reading
from scylla_gha.report.metrics import change, estimate, value
from scylla_gha.report.view import PASS, ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 270
_ROW: Final = 38


@dataclass(frozen=True, slots=True)
class _Tier:
    """One tier; rates in percent."""

    row: int
    name: str
    rate: float
    low: float | None
    high: float | None
    best: float | None
    numbers: str
    step: str
    subtest: str


def tier_ladder(view: ReportView) -> Chart | None:
    """Draw the tiers; None if there are fewer than two."""
    tiers = [part for part in (view.analysis.slices if view.analysis else ()) if part.by == "tier"]
    if view.analysis is None or len(tiers) < 2:  # noqa: PLR2004 a ladder has two steps
        return None
    steps = {contrast.arm: contrast for contrast in view.analysis.contrasts if contrast.metric == PASS}
    best = {subtest.tier: subtest for subtest in view.analysis.best}
    rows = [_tier(view, at, tier, steps.get(tier.name), best.get(tier.name)) for at, tier in enumerate(tiers)]
    statements = [f"{row.name}: {row.numbers}{row.step and f', {row.step}'}{row.subtest}" for row in rows]
    alternative = f"Pass rate of each tier, its sub-tests with equal weights. {first_few(statements)}"
    return finish(_draw(rows), "tier_ladder", "Pass rate by tier", alternative)


def _tier(view: ReportView, row: int, tier: Slice, step: Contrast | None, best: BestSubtest | None) -> _Tier:
    rate = tier.rate
    low, high, top = (
        None if x is None else 100 * x for x in (rate.low, rate.high, best.reported.value if best else None)
    )
    return _Tier(
        row=row,
        name=short(tier.name),
        rate=100 * (rate.value or 0.0),
        low=low,
        high=high,
        best=top,
        numbers=estimate(rate),
        step="" if step is None else _step(step),
        subtest=f", best sub-test {short(view.name(best.arm))} {value(best.reported)}" if best else "",
    )


def _step(step: Contrast) -> str:
    words = family_reading(step)
    return f"{arrow(step, words)}{change(step)}, {words}"


def _draw(rows: Sequence[_Tier]) -> "alt.TopLevelMixin":
    import altair as alt

    data, color = table(rows), paint("better")
    has_best = any(row.best is not None for row in rows)
    title = f"pass rate in percent, 95 % interval{'; ◇: best sub-test, on other repetitions' if has_best else ''}"
    x = alt.X("rate:Q", scale=alt.Scale(domain=[0, 100]), title=title, axis=alt.Axis(tickCount=5))
    return alt.layer(
        data.transform_filter("datum.low !== null && datum.high !== null")
        .mark_rule(strokeWidth=2.5, color=color)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=by_row()),
        data.mark_circle(size=130, opacity=1, color=color).encode(x=x, y=by_row()),
        data.transform_filter("datum.best !== null")
        .mark_point(shape="diamond", size=110, fill=paint("surface"), stroke=paint("text"), opacity=1)
        .encode(x=alt.X("best:Q"), y=by_row()),
        row_text(data, "name", -GAP),
        row_text(data, "numbers", _WIDTH + GAP, dy=-8, bold=True),
        row_text(data, "step", _WIDTH + GAP, dy=8),
    ).properties(width=_WIDTH, height=alt.Step(_ROW))
