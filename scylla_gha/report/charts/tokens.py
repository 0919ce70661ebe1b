"""Tokens by arm: kinds of tokens, and components of requests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.report.charts.layers import GAP, by_row, row_text, table
from scylla_gha.report.charts.theme import Chart, Color, finish, first_few, not_drawn, paint, short
from scylla_gha.report.numbers import tokens as written
from scylla_gha.report.view import ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 330
_ROW: Final = 28
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
class _Part:
    """A stretch of an arm's bar."""

    row: int
    part: str
    start: float
    end: float
    label: str


@dataclass(frozen=True, slots=True)
class _Arm:
    """An arm's bar: the length of its parts, by name."""

    row: int
    name: str
    total: float
    numbers: str
    shares: Mapping[str, float]


def tokens(view: ReportView) -> Chart | None:
    """Draw tokens by kind and requests by component; None if neither is known."""
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
        f"Tokens of a trial and what they are spent on. {first_few(statements)}",
        *not_drawn(view.left_out, "arm"),
    ]
    chart = alt.vconcat(*panels, spacing=28).resolve_scale(color="independent")
    return finish(chart, "tokens", "Tokens of a trial", " ".join(alternative))


def _arms(view: ReportView, names: Mapping[str, str], total_metric: str = "") -> Iterator[_Arm]:
    """Yield the arms whose shares are known; totals are 100 (percent) without a metric for them."""
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
            yield _Arm(rows, short(view.name(arm.arm)), total, written(round(total)) if total_metric else "", shares)
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
        row_text(data, "numbers", _WIDTH + GAP),
        width=_WIDTH,
        height=alt.Step(_ROW),
    )


def _parts(arm: _Arm, longest: float) -> Iterator[_Part]:
    start = 0.0
    for name, share in arm.shares.items():
        end = start + share * arm.total
        is_wide = (end - start) / longest * _WIDTH >= _LEAST_LABELLED
        yield _Part(arm.row, name, start, end, f"{100 * share:.0f} %" if is_wide else "")
        start = end
