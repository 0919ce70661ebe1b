"""Parts of specifications that several charts share: data, colours, and texts beside rows."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from scylla_gha.report.charts.theme import FONT_SIZE, Color, paint

if TYPE_CHECKING:
    import altair as alt
    from _typeshed import DataclassInstance

_LOG_FROM: Final = 20  # times that the highest amount is the lowest
GAP: Final = 14  # pixels between the scale and the texts beside it


def table(rows: Sequence["DataclassInstance"]) -> "alt.Chart":
    """Return a chart without marks, whose data are the rows."""
    import altair as alt

    # Altair copies lists at each step, and tuples never.
    return alt.Chart(alt.InlineData(values=tuple(asdict(row) for row in rows)))


def ground() -> "alt.Chart":
    """Return a chart without marks, for what is drawn once: zero lines, bands."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=[{}]))


def by_row() -> "alt.Y":
    """Return the vertical place of a row: the field `row`, without an axis."""
    import altair as alt

    return alt.Y("row:O", axis=None)


def own_color() -> "alt.Color":
    """Return the colour that the field `color` holds."""
    import altair as alt

    return alt.Color("color:N", scale=None, legend=None)


def amount_x(field: str, amounts: Sequence[float], title: str) -> "alt.X":
    """Return a horizontal scale for amounts that are not below 0, logarithmic if they differ by much.

    Args:
        field: the field with the amount.
        amounts: all that are drawn.
        title: of the axis.
    """
    import altair as alt

    lowest, highest = min(amounts), max(amounts)
    is_log = lowest > 0 and highest >= _LOG_FROM * lowest
    domain = [0.8 * lowest, 1.25 * highest] if is_log else [0, 1.08 * highest or 1]
    return alt.X(
        f"{field}:Q",
        axis=alt.Axis(format=",.3~r", tickCount=5, grid=False),
        scale=alt.Scale(type="log" if is_log else "linear", domain=domain, nice=False),
        title=f"{title}{', logarithmic scale' if is_log else ''}",
    )


def signed_axis(number_format: str, ticks: int = 6) -> "alt.Axis":
    """Return an axis for differences: numbers have a sign, and zero has none."""
    import altair as alt

    return alt.Axis(grid=False, tickCount=ticks, format=number_format, labelExpr="datum.value == 0 ? '0' : datum.label")


def row_text(
    data: "alt.Chart", field: str, x: float, *, dy: int = 0, bold: bool = False, color: Color | None = "text"
) -> "alt.Chart":
    """Write a field beside each row: right-aligned if it is left of the scale.

    Args:
        data: rows with the field `row`.
        field: what is written.
        x: pixels from the left end of the scale.
        dy: pixels below the middle of the row.
        bold: whether the text is bold.
        color: of the text; None: the one that the field `color` holds.
    """
    import altair as alt

    mark = data.mark_text(
        x=x,
        align="right" if x < 0 else "left",
        dy=dy,
        fontSize=FONT_SIZE,
        baseline="middle",
        fontWeight="bold" if bold else "normal",
        color=paint(color or "text"),
    )
    texts: alt.Chart = mark.encode(y=by_row(), text=alt.Text(f"{field}:N"))
    return texts if color else texts.encode(color=own_color())
