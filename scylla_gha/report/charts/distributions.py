"""Times and costs of single trials, by arm: one line per trial, quartiles, and timeouts marked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.analysis import Spread, SpreadMetric
from scylla_gha.report.charts.layers import GAP, amount_x, by_row, row_text, table
from scylla_gha.report.charts.theme import Chart, finish, first_few, not_drawn, paint, short
from scylla_gha.report.view import ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 270
_ROW: Final = 34
_TIMEOUT: Final = "✕"
_WHOLE_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class _Row:
    """One arm: the middle half of its trials."""

    row: int
    name: str
    first: float
    median: float
    third: float
    numbers: str
    counts: str


@dataclass(frozen=True, slots=True)
class _Trial:
    row: int
    value: float
    is_late: bool


def times(view: ReportView) -> Chart | None:
    """Draw how long trials took; None if no time is known."""
    return _chart(view, "seconds", "Time of single trials", "seconds", _seconds)


def costs(view: ReportView) -> Chart | None:
    """Draw what trials cost; None if no cost is known and above 0."""
    return _chart(view, "usd", "Cost of single trials", "USD", dollars)


def _chart(
    view: ReportView, metric: SpreadMetric, title: str, unit: str, written: Callable[[float], str]
) -> Chart | None:
    by_arm = {
        spread.arm: spread for spread in (view.analysis.spreads if view.analysis else ()) if spread.metric == metric
    }
    spreads = [by_arm[arm.arm] for arm in view.arms if arm.arm in by_arm]
    if not any(spread.quartiles[-1] > 0 for spread in spreads):
        return None
    rows = [_row(view, at, spread, written) for at, spread in enumerate(spreads)]
    trials = [
        _Trial(at, value, is_late)
        for at, spread in enumerate(spreads)
        for values, is_late in ((spread.values, False), (spread.late, True))
        for value in values
    ]
    axis = f"{unit}, lower is better; bar: median, box: middle half"
    x = amount_x("value", [trial.value for trial in trials], axis)
    statements = [f"{row.name}: median {row.numbers}, {row.counts}" for row in rows]
    alternative = [f"{title}, by arm. {first_few(statements)}", *not_drawn(view.left_out, "arm")]
    return finish(_draw(rows, trials, x), metric, title, " ".join(alternative))


def _row(view: ReportView, row: int, spread: Spread, written: Callable[[float], str]) -> _Row:
    _, first, median, third, _ = spread.quartiles
    timeouts = f", {_TIMEOUT} {counted(spread.timeouts, 'timeout')}" if spread.timeouts else ""
    return _Row(
        row=row,
        name=short(view.name(spread.arm)),
        first=first,
        median=median,
        third=third,
        numbers=f"{written(median)} ({written(first)} to {written(third)})",
        counts=f"{counted(spread.n, 'trial')}{timeouts}",
    )


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= _WHOLE_SECONDS else f"{value:.2g} s"


def _draw(rows: Sequence[_Row], trials: Sequence[_Trial], x: "alt.X") -> "alt.TopLevelMixin":
    import altair as alt

    data, single = table(rows), table(trials)
    return alt.layer(
        data.mark_bar(height=20, color=paint("band")).encode(x=alt.X("first:Q"), x2=alt.X2("third"), y=by_row()),
        single.transform_filter("!datum.is_late")
        .mark_tick(height=12, thickness=1.5, color=paint("unclear"), fillOpacity=0.7)
        .encode(x=x, y=by_row()),
        single.transform_filter("datum.is_late")
        .mark_text(text=_TIMEOUT, color=paint("worse"), fontWeight="bold")
        .encode(x=x, y=by_row()),
        data.mark_tick(height=22, thickness=3.5, color=paint("better")).encode(x=alt.X("median:Q"), y=by_row()),
        row_text(data, "name", -GAP),
        row_text(data, "numbers", _WIDTH + GAP, dy=-7),
        row_text(data, "counts", _WIDTH + GAP, dy=8, color="muted"),
    ).properties(width=_WIDTH, height=alt.Step(_ROW))
