"""Draw charts of trials by arm: times, costs, and tokens by kind; and of the agreement of pairs of judges."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.analysis import Agreement, Pair, Spread, SpreadMetric
from scylla_gha.report.charts.theme import (
    GAP,
    Chart,
    Color,
    amount_x,
    by_row,
    finish,
    first_few,
    not_drawn,
    paint,
    row_text,
    short,
    signed_axis,
    single_layer,
    table,
)
from scylla_gha.report.document import tokens as tokens_text
from scylla_gha.report.outcomes import alpha_text
from scylla_gha.report.view import ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 270
_ROW: Final = 34
_TIMEOUT: Final = "✕"
_WHOLE_SECONDS: Final = 10  # from here, times are shown without decimals
_PAIR_WIDTH: Final = 180
_PAIR_ROW: Final = 30
_MOST_PAIRS: Final = 20
_WITHIN: Final = 1.96  # standard deviations with 95 % of normal differences (Bland and Altman 1986)
_NAME: Final = 18
_TOKENS_WIDTH: Final = 330
_TOKENS_ROW: Final = 28
_BAR: Final = 20
_LEAST_LABELLED: Final = 36  # pixels
_COLORS: Final[tuple[Color, ...]] = ("part-1", "part-2", "part-3", "part-4", "part-5")
_KINDS: Final = {
    "cache_read_tokens_share": "read from cache",
    "cache_write_tokens_share": "written to cache",
    "input_tokens_share": "input",
    "output_tokens_share": "output",
}
_COMPONENTS: Final = {
    "system_prompt_share": "system prompt",
    "tool_schemas_share": "tool schemas",
    "tool_input_share": "tool input",
    "tool_output_share": "tool output",
    "conversation_share": "conversation",
}


@dataclass(frozen=True, slots=True)
class _Row:
    """An arm: quartiles of its trials, and the texts beside them."""

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
    """Draw the times of trials; None if no time is known and above 0."""
    return _chart(view, "seconds", "Time of single trials", "seconds", _seconds)


def costs(view: ReportView) -> Chart | None:
    """Draw the costs of trials; None if no cost is known and above 0."""
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


@dataclass(frozen=True, slots=True)
class _PairRow:
    """A pair of judges; differences are between scores from 0 to 1."""

    row: int
    name: str
    bias: float
    low: float | None
    high: float | None
    numbers: str


def judges(view: ReportView) -> Chart | None:
    """Draw the differences between the scores of each pair of judges; None if there is no pair."""
    agreement = view.analysis.agreement if view.analysis else None
    if agreement is None or not agreement.pairs:
        return None
    pairs = sorted(agreement.pairs, key=lambda pair: -abs(pair.bias))
    rows = [_pair_row(at, pair) for at, pair in enumerate(pairs[:_MOST_PAIRS])]
    statements = [f"{row.name}: {row.numbers}" for row in rows]
    alternative = [
        _alpha(agreement),
        f"Difference of the two judges' scores: {first_few(statements)}",
        *not_drawn(len(pairs) - len(rows), "pair"),
    ]
    return finish(_draw_pairs(rows), "judges", "Agreement of the judges", " ".join(alternative))


def _alpha(agreement: Agreement) -> str:
    panel = counted(len(agreement.judges), "judge")
    return f"Krippendorff's alpha of {panel} is {alpha_text(agreement)}, where 1 is perfect."


def _pair_row(row: int, pair: Pair) -> _PairRow:
    reach = None if pair.sd is None else _WITHIN * pair.sd
    low, high = (None, None) if reach is None else (pair.bias - reach, pair.bias + reach)
    limits = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
    return _PairRow(
        row,
        f"{short(pair.first, _NAME)} - {short(pair.second, _NAME)}",
        pair.bias,
        low,
        high,
        f"{pair.bias:+.2f}{limits}, {counted(pair.n, 'trial')}",
    )


def _draw_pairs(rows: Sequence[_PairRow]) -> "alt.TopLevelMixin":
    import altair as alt

    reach = max(0.1, *(abs(x) for row in rows for x in (row.bias, row.low, row.high) if x is not None)) * 1.1
    x = alt.X(
        "bias:Q",
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        title="difference of scores, 95 % of trials within",
        axis=signed_axis("+.2~f", ticks=4),
    )
    data, color = table(rows), paint("better")
    return alt.layer(
        single_layer().mark_rule(color=paint("text"), strokeDash=[4, 3]).encode(x=alt.datum(0)),
        data.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=2, color=color)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=by_row()),
        data.mark_circle(size=110, opacity=1, color=color).encode(x=x, y=by_row()),
        row_text(data, "name", -GAP),
        row_text(data, "numbers", _PAIR_WIDTH + GAP),
    ).properties(width=_PAIR_WIDTH, height=alt.Step(_PAIR_ROW))


@dataclass(frozen=True, slots=True)
class _Part:
    """A segment of an arm's bar."""

    row: int
    part: str
    start: float
    end: float
    label: str


@dataclass(frozen=True, slots=True)
class _Arm:
    """An arm's bar: its length `total`, and the shares of its segments by name."""

    row: int
    name: str
    total: float
    numbers: str
    shares: Mapping[str, float]


def tokens(view: ReportView) -> Chart | None:
    """Draw tokens by kind and requests' characters by component; None if neither is known."""
    kinds, components = list(_arms(view, _KINDS, "tokens")), list(_arms(view, _COMPONENTS))
    panels = [
        _panel(arms, names, title)
        for arms, names, title in (
            (kinds, _KINDS, "tokens per trial, by kind (lower is better)"),
            (components, _COMPONENTS, "characters of requests, by component, in percent"),
        )
        if arms
    ]
    if not panels:
        return None
    import altair as alt

    statements = [f"{arm.name}: {arm.numbers}, {_largest(arm)}".replace(": , ", ": ") for arm in (*kinds, *components)]
    alternative = [
        f"Tokens of a trial by kind, and characters of requests by component. {first_few(statements)}",
        *not_drawn(view.left_out, "arm"),
    ]
    chart = alt.vconcat(*panels, spacing=28).resolve_scale(color="independent")
    return finish(chart, "tokens", "Tokens of a trial", " ".join(alternative))


def _arms(view: ReportView, names: Mapping[str, str], total_metric: str = "") -> Iterator[_Arm]:
    """Yield the arms whose shares are known; without `total_metric`, each total is 100 (percent)."""
    rows = 0
    for arm in view.arms:
        measures = view.measures.get(arm.arm, {})
        shares = {
            name: measures[metric].value or 0.0
            for metric, name in names.items()
            if metric in measures and measures[metric].state == "known"
        }
        measure = measures.get(total_metric)
        total = 100.0 if not total_metric else measure.value if measure else None
        if shares and total:
            yield _Arm(
                rows, short(view.name(arm.arm)), total, tokens_text(round(total)) if total_metric else "", shares
            )
            rows += 1


def _largest(arm: _Arm) -> str:
    name = max(arm.shares, key=lambda part: arm.shares[part])
    return f"{100 * arm.shares[name]:.0f} % {name}"


def _panel(arms: Sequence[_Arm], names: Mapping[str, str], title: str) -> "alt.LayerChart | alt.FacetChart":
    import altair as alt

    longest = max(arm.total for arm in arms)
    bars, data = table([part for arm in arms for part in _parts(arm, longest)]), table(arms)
    order = list(names.values())
    legend = alt.Legend(
        orient="top", symbolType="square", title=None, columns=len(order) if len(order) < len(_COLORS) else 3
    )
    scale = alt.Scale(domain=order, range=[paint(color) for color in _COLORS[: len(order)]])
    x = alt.X(
        "start:Q",
        title=title,
        scale=alt.Scale(domain=[0, longest], nice=False),
        axis=alt.Axis(grid=False, tickCount=5, format="~s"),
    )
    return alt.layer(
        bars.mark_bar(height=_BAR, stroke=paint("surface"), strokeWidth=1).encode(
            x=x, x2=alt.X2("end"), y=by_row(), color=alt.Color("part:N", scale=scale, legend=legend)
        ),
        bars.transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(color=paint("surface"))
        .encode(x=alt.X("middle:Q"), y=by_row(), text=alt.Text("label:N")),
        row_text(data, "name", -GAP),
        row_text(data, "numbers", _TOKENS_WIDTH + GAP),
        width=_TOKENS_WIDTH,
        height=alt.Step(_TOKENS_ROW),
    )


def _parts(arm: _Arm, longest: float) -> Iterator[_Part]:
    start = 0.0
    for name, share in arm.shares.items():
        end = start + share * arm.total
        is_wide = (end - start) / longest * _TOKENS_WIDTH >= _LEAST_LABELLED
        yield _Part(arm.row, name, start, end, f"{100 * share:.0f} %" if is_wide else "")
        start = end
