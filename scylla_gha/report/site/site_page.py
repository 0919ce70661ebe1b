"""A page of the site: sections with charts, and tables that scripts fill."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.document import Section
from scylla_gha.report.page.answer import KeyFigure
from scylla_gha.report.page.blocks import blocks_html
from scylla_gha.report.page.html import PagePlace, data_script, html
from scylla_gha.report.site.addresses import OVERVIEW, data_path, relative

Widget = Literal["", "trials", "pairs"]
HOME: Final = "Results"
_SCRIPTS: Final[dict[Widget, tuple[str, ...]]] = {
    "": ("basics.js", "plain.js"),
    "trials": ("basics.js", "side_by_side.js", "page.js"),
    "pairs": ("basics.js", "pairs.js"),
}


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of the site, by its path inside it."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SiteSection:
    """A section of a page.

    Attributes:
        content: with its title.
        charts: below the content.
        widget: a table that a script fills.
        figures: below the heading.
    """

    content: Section
    charts: tuple[Chart, ...] = ()
    widget: Widget = ""
    figures: tuple[KeyFigure, ...] = ()


def site_section(content: Section, *charts: Chart | None, widget: Widget = "") -> SiteSection:
    """Return a section with those charts that there are."""
    return SiteSection(content, tuple(chart for chart in charts if chart), widget)


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page of sections.

    Attributes:
        path: inside the site.
        title: heading of the page.
        name: in the trail of links.
        trail: names and paths of the pages between the overview and this one.
        sections: parts of the page.
        lead: a line below the heading.
        banner: what a reader must know before any number; empty: nothing.
        data: for the page's script; None: it has none.
    """

    path: str
    title: str
    name: str
    sections: Sequence[SiteSection]
    trail: Sequence[tuple[str, str]] = ()
    lead: str = ""
    banner: str = ""
    data: object = None


def page_files(page: SitePage) -> Iterator[SiteFile]:
    """Yield the page, and the script with its data."""
    location, data = place_of(page.path, page.name, page.trail, page.data)
    yield from data
    shown = [part for part in page.sections if part.content.blocks or part.charts or part.widget]
    widget: Widget = next((part.widget for part in shown if part.widget), "")
    text = html(
        "site.html.j2",
        *_SCRIPTS[widget],
        location=location,
        title=page.title,
        lead=page.lead,
        banner=page.banner,
        sections=[(part, blocks_html(part.content.blocks, part.content.title)) for part in shown],
        widget=widget,
    )
    yield SiteFile(page.path, text.encode())


def place_of(
    path: str, name: str, trail: Sequence[tuple[str, str]], data: object
) -> tuple[PagePlace, tuple[SiteFile, ...]]:
    """Return the place of a page, and the file of its data, if it has any."""
    links = [(HOME, OVERVIEW), *trail] if path != OVERVIEW else []
    above = [(text, relative(target, path)) for text, target in links]
    if data is None:
        return PagePlace(name, above), ()
    file = SiteFile(data_path(path), data_script(data).encode())
    # A digest of what it allows: no part of the data can contain it.
    nonce = base64.urlsafe_b64encode(hashlib.sha256(file.path.encode() + file.content).digest()[:18]).decode()
    return PagePlace(name, above, relative(file.path, path), nonce), (file,)
