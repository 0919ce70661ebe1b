"""Agreement of judges: by how much each pair's scores differ, and within which limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import Agreement, Pair
from scylla_gha.report.charts.layers import GAP, by_row, ground, row_text, signed_axis, table
from scylla_gha.report.charts.theme import Chart, finish, first_few, not_drawn, paint, short
from scylla_gha.report.outcomes import alpha_text
from scylla_gha.report.view import ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 180
_ROW: Final = 30
_MOST_PAIRS: Final = 20
_WITHIN: Final = 1.96  # standard deviations: 95 % of differences, if these are normal (Bland and Altman 1986)
_NAME: Final = 18


@dataclass(frozen=True, slots=True)
class _Row:
    """A pair of judges; differences are of scores between 0 and 1."""

    row: int
    name: str
    bias: float
    low: float | None
    high: float | None
    numbers: str


def judges(view: ReportView) -> Chart | None:
    """Draw the differences of each pair of judges; None without a panel."""
    agreement = view.analysis.agreement if view.analysis else None
    if agreement is None or not agreement.pairs:
        return None
    pairs = sorted(agreement.pairs, key=lambda pair: -abs(pair.bias))
    rows = [_row(at, pair) for at, pair in enumerate(pairs[:_MOST_PAIRS])]
    statements = [f"{row.name}: {row.numbers}" for row in rows]
    alternative = [
        _alpha(agreement),
        f"Difference of the two judges' scores: {first_few(statements)}",
        *not_drawn(len(pairs) - len(rows), "pair"),
    ]
    return finish(_draw(rows), "judges", "Agreement of the judges", " ".join(alternative))


def _alpha(agreement: Agreement) -> str:
    panel = counted(len(agreement.judges), "judge")
    return f"Krippendorff's alpha of {panel} is {alpha_text(agreement)}, where 1 is perfect."


def _row(row: int, pair: Pair) -> _Row:
    reach = None if pair.sd is None else _WITHIN * pair.sd
    low, high = (None, None) if reach is None else (pair.bias - reach, pair.bias + reach)
    limits = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
    return _Row(
        row,
        f"{short(pair.first, _NAME)} - {short(pair.second, _NAME)}",
        pair.bias,
        low,
        high,
        f"{pair.bias:+.2f}{limits}, {counted(pair.n, 'trial')}",
    )


def _draw(rows: Sequence[_Row]) -> "alt.TopLevelMixin":
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
        ground().mark_rule(color=paint("text"), strokeDash=[4, 3]).encode(x=alt.datum(0)),
        data.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=2, color=color)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=by_row()),
        data.mark_circle(size=110, opacity=1, color=color).encode(x=x, y=by_row()),
        row_text(data, "name", -GAP),
        row_text(data, "numbers", _WIDTH + GAP),
    ).properties(width=_WIDTH, height=alt.Step(_ROW))
