"""Reading pictures: what texts and marks stand where in the SVG of a chart."""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from scylla_gha.report.charts.theme import Chart

SVG = "{http://www.w3.org/2000/svg}"
TEXTS, INERT = {"text", "title", "desc"}, {"svg", "g", "rect", "path", "line", "text", "title", "desc"}


@dataclass(frozen=True)
class Mark:
    """An element with the place that its own and its parents' translations give it."""

    tag: str
    x: float
    y: float
    text: str
    attributes: dict[str, str]


def marks(chart: Chart) -> list[Mark]:
    return list(_marks(ElementTree.fromstring(chart.svg), 0.0, 0.0, {}))


def _marks(element: ElementTree.Element, x: float, y: float, inherited: dict[str, str]) -> Iterator[Mark]:
    transform = element.get("transform", "")
    if transform.startswith("translate("):
        dx, _, dy = transform.removeprefix("translate(").partition(")")[0].partition(",")
        x, y = x + float(dx), y + float(dy or 0)
    yield Mark(element.tag.removeprefix(SVG), x, y, element.text or "", inherited | element.attrib)
    colors = {"fill", "stroke"} & element.attrib.keys()
    for child in element:
        yield from _marks(child, x, y, inherited | {name: element.attrib[name] for name in colors})


def texts(chart: Chart) -> list[str]:
    """The texts of the picture from top to bottom and left to right, its title and description left out."""
    drawn = [mark for mark in marks(chart) if mark.tag == "text" and mark.text]
    return [mark.text for mark in sorted(drawn, key=lambda mark: (round(mark.y), mark.x))]


def painted(chart: Chart, color: str, tag: str = "path") -> list[Mark]:
    """Marks in a colour of the palette."""
    start = f"var(--chart-{color},"

    def is_painted(mark: Mark) -> bool:
        return any(mark.attributes.get(attribute, "").startswith(start) for attribute in ("fill", "stroke"))

    return [mark for mark in marks(chart) if mark.tag == tag and is_painted(mark)]


def require_inert(chart: Chart) -> None:
    """Fail if a browser would do anything with the picture but show it."""
    for mark in marks(chart):
        assert mark.tag in INERT, mark
        assert not [
            name for name in mark.attributes if name.startswith("on") or name.endswith(("href", "style", "id"))
        ], mark
        assert "url(" not in str(mark.attributes), mark
