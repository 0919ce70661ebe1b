"""Define the chart record, palette and parts of specifications; convert charts to SVG for light and dark pages."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal
from xml.etree import ElementTree

from scylla_gha.counting import counted
from scylla_gha.model import one_line

if TYPE_CHECKING:
    import altair as alt
    from _typeshed import DataclassInstance
    from altair import TopLevelMixin

Theme = Literal["light", "dark"]
Color = Literal[
    "text",
    "muted",
    "line",
    "surface",
    "band",
    "better",
    "worse",
    "equivalent",
    "unclear",
    "part-1",
    "part-2",
    "part-3",
    "part-4",
    "part-5",
    "level-none",
    "level-few",
    "level-most",
    "level-all",
]
FONT: Final = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # as wide as the font with which Vega measures texts
FONT_SIZE: Final = 12  # pixels
_NAME_LENGTH: Final = 28
_MOST_NAMED: Final = 8
_MOST_STATEMENTS: Final = 6
# Space, since a reader's font can be wider than the font with which Vega measures texts
_PADDING: Final = {"left": 10, "right": 18, "top": 10, "bottom": 4}
_SVG: Final = "http://www.w3.org/2000/svg"

# Light and dark. tests/unit/test_charts_theme.py checks contrasts, and distances as colour-blind people see them.
PALETTE: Final[dict[Color, tuple[str, str]]] = {
    "text": ("#1f2328", "#e6edf3"),
    "muted": ("#59636e", "#9198a1"),
    "line": ("#d1d9e0", "#3d444d"),
    "surface": ("#ffffff", "#0d1117"),
    "band": ("#e4e9ee", "#262c34"),
    "better": ("#0b5fa5", "#58a6ff"),
    "worse": ("#b3400a", "#ff8f4a"),
    "equivalent": ("#2b7a5b", "#7ee0b0"),
    "unclear": ("#59636e", "#9198a1"),
    "part-1": ("#211251", "#37d0d2"),
    "part-2": ("#82771a", "#bc711e"),
    "part-3": ("#4c748f", "#8377e4"),
    "part-4": ("#571920", "#e2e499"),
    "part-5": ("#b93ad6", "#e23b6c"),
    "level-none": ("#f3bd98", "#7a3a12"),
    "level-few": ("#fbe9dc", "#3f2a1d"),
    "level-most": ("#d6e6f5", "#16304a"),
    "level-all": ("#8fbfe8", "#175a96"),
}
# Placeholders that Vega copies to the picture unchanged, and that `_page_svg` replaces by variables
_MARKERS: Final[dict[Color, str]] = {color: f"#0c0f{at:02x}" for at, color in enumerate(PALETTE)}
_VARIABLES: Final = {marker: f"var(--chart-{color},{PALETTE[color][0]})" for color, marker in _MARKERS.items()}
_DECIMALS: Final = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_DROPPED: Final = {"class", "role", "aria-roledescription", "aria-hidden", "pointer-events", "version", "font-family"}
_DEFAULTS: Final = {
    ("font-size", f"{FONT_SIZE}px"),
    ("font-weight", "normal"),
    ("opacity", "1"),
    ("stroke-width", "1"),
}
_INHERITED: Final = ("fill", "fill-opacity", "stroke", "stroke-width", "text-anchor", "font-weight", "font-size")
_DRAWN_COORDINATES: Final = {"d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height"}
_LOG_FROM: Final = 20  # ratio of the highest to the lowest amount from which a scale is logarithmic
GAP: Final = 14  # pixels between the scale and the texts beside it


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture as SVG text for use inside a page, whose style sheet sets the variables of `palette_css`.

    Attributes:
        name: identifier, for file names and anchors.
        title: heading for people.
        svg: one `<svg>` element without script, style, link or id.
        alternative: text that describes the picture.
    """

    name: str
    title: str
    svg: str
    alternative: str

    @property
    def file(self) -> str:
        """The picture as a separate file, with a background; it is dark if the reader's system is."""
        style = f"svg{{{palette_css('light')}}}@media(prefers-color-scheme:dark){{svg{{{palette_css('dark')}}}}}"
        background = f'<rect width="100%" height="100%" fill="{_VARIABLES[_MARKERS["surface"]]}"/>'
        head, end, body = self.svg.partition("</desc>")
        return f"{head}{end}<style>{style}</style>{background}{body}"


def palette_css(theme: Theme) -> str:
    """Return the CSS declarations of all colour variables."""
    at = ("light", "dark").index(theme)
    return "".join(f"--chart-{color}:{values[at]};" for color, values in PALETTE.items())


def paint(color: Color) -> str:
    """Return the placeholder of a colour, for use in a chart's specification."""
    return _MARKERS[color]


def short(name: str, most: int = _NAME_LENGTH) -> str:
    """Return a name on one line, without hidden characters, shortened in the middle."""
    line = one_line(name)
    if len(line) <= most:
        return line
    tail = (most - 1) // 2
    return f"{line[: most - 1 - tail]}…{line[-tail:]}"


def first_few(statements: Sequence[str]) -> str:
    """Return the first statements, and the number of the others, as one sentence."""
    others = len(statements) - _MOST_STATEMENTS
    return f"{'; '.join(statements[:_MOST_STATEMENTS])}{f'; and {others:,} more' if others > 0 else ''}."


def name_list(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others, in one line."""
    others = len(names) - _MOST_NAMED
    return f"{', '.join(map(short, names[:_MOST_NAMED]))}{f' and {others:,} more' if others > 0 else ''}"


def not_drawn(count: int, noun: str) -> list[str]:
    """Return a sentence on the number of rows that are not drawn; empty if all are drawn."""
    return [f"{counted(count, f'more {noun} is', f'more {noun}s are')} not drawn."] if count > 0 else []


def finish(specification: "TopLevelMixin", name: str, title: str, alternative: str) -> Chart:
    """Apply the theme to a chart and convert it to SVG."""
    from vl_convert import vegalite_to_svg

    described = one_line(alternative)
    svg = vegalite_to_svg(specification.to_dict(validate=False), config=_config())
    return Chart(name, title, _page_svg(svg, title, described), described)


def _config() -> dict[str, object]:
    text = {
        "labelColor": paint("muted"),
        "titleColor": paint("muted"),
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
    }
    lines = dict.fromkeys(("gridColor", "domainColor", "tickColor"), paint("line"))
    return {
        "aria": False,
        "background": None,
        "font": FONT,
        "padding": _PADDING,
        "view": {"stroke": None},
        "axis": text | lines,
        "legend": text | {"labelColor": paint("text"), "columnPadding": 18, "symbolSize": 140},
        "text": {"color": paint("text"), "fontSize": FONT_SIZE},
    }


def _page_svg(svg: str, title: str, alternative: str) -> str:
    """Return Vega's SVG with colour variables, title and description, and without unneeded attributes."""
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)  # noqa: S314 Vega wrote it, with all text escaped
    for element in root.iter():
        attributes = dict(element.attrib)
        element.attrib.clear()
        for name, value in attributes.items():
            if name not in _DROPPED and (name, value) not in _DEFAULTS:
                short_value = _DECIMALS.sub(_rounded, value) if name in _DRAWN_COORDINATES else value
                element.attrib[name] = _VARIABLES.get(value, short_value)
    for group in root.iter(f"{{{_SVG}}}g"):
        _hoist(group)
    root.attrib |= {"role": "img", "font-family": FONT, "font-size": f"{FONT_SIZE}px", "overflow": "visible"}
    for tag, text in (("desc", alternative), ("title", title)):
        child = ElementTree.Element(f"{{{_SVG}}}{tag}")
        child.text = text
        root.insert(0, child)
    return ElementTree.tostring(root, encoding="unicode")


def _hoist(group: ElementTree.Element) -> None:
    """Move inherited attributes that all children share to their group; this halves large pictures."""
    children = list(group)
    for name in _INHERITED if len(children) > 1 else ():
        values = {child.get(name) for child in children}
        if len(values) == 1 and (value := values.pop()) is not None:
            group.set(name, value)
            for child in children:
                del child.attrib[name]


def _rounded(number: "re.Match[str]") -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def table(rows: Sequence["DataclassInstance"]) -> "alt.Chart":
    """Return a chart without marks, with the rows as its data."""
    import altair as alt

    # A tuple, since Altair copies lists at each step
    return alt.Chart(alt.InlineData(values=tuple(asdict(row) for row in rows)))


def single_layer() -> "alt.Chart":
    """Return a chart without marks or data, for zero lines and bands, which are drawn once."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=[{}]))


def by_row() -> "alt.Y":
    """Return the vertical position of a row, from the field `row`, without an axis."""
    import altair as alt

    return alt.Y("row:O", axis=None)


def row_color() -> "alt.Color":
    """Return the encoding that paints each row in the colour of its field `color`."""
    import altair as alt

    return alt.Color("color:N", scale=None, legend=None)


def amount_x(field: str, amounts: Sequence[float], title: str) -> "alt.X":
    """Return a horizontal scale for amounts that are not negative; it is logarithmic if they differ by much.

    Args:
        field: the field with the amount.
        amounts: all amounts in the chart.
        title: title of the axis.
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
    """Return an axis for differences: all numbers except zero have a sign."""
    import altair as alt

    return alt.Axis(grid=False, tickCount=ticks, format=number_format, labelExpr="datum.value == 0 ? '0' : datum.label")


def row_text(
    data: "alt.Chart", field: str, x: float, *, dy: int = 0, bold: bool = False, color: Color | None = "text"
) -> "alt.Chart":
    """Return a layer that writes a field beside each row; right-aligned if `x` is negative.

    Args:
        data: rows with the field `row`.
        field: name of the field to write.
        x: pixels from the left end of the scale.
        dy: pixels below the middle of the row.
        bold: whether the text is bold.
        color: color of the text; None: the color in the field `color`.
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
    return texts if color else texts.encode(color=row_color())
