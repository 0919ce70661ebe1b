"""A page of the site: sections of sanitised Markdown, with charts inserted afterwards, and tables that scripts fill."""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.page.answer import KeyFigure
from scylla_gha.report.page.html import PagePlace, data_script, html
from scylla_gha.report.site.addresses import OVERVIEW, data_path, relative
from scylla_gha.report.site.markdown_html import markdown_html
from scylla_gha.report.templates import render_parts

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
    """A part of a page under a heading.

    Attributes:
        title: the heading.
        text: Markdown.
        charts: below the text.
        widget: a table that a script fills.
        figures: below the heading.
    """

    title: str
    text: str
    charts: tuple[Chart, ...] = ()
    widget: Widget = ""
    figures: tuple[KeyFigure, ...] = ()


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
    widget: Widget = next((section.widget for section in page.sections if section.widget), "")
    sections = [(section, markdown_html(section.text, section.title)) for section in page.sections]
    text = html(
        "site.html.j2",
        *_SCRIPTS[widget],
        location=location,
        title=page.title,
        lead=page.lead,
        banner=page.banner,
        sections=sections,
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


def sections(
    template: str,
    values: Mapping[str, Any],
    charts: Mapping[str, Sequence[Chart | None]] | None = None,
    widgets: Mapping[str, Widget] | None = None,
) -> list[SiteSection]:
    """Return the parts of a template with their charts and tables of scripts; parts without anything are left out.

    Args:
        template: consists of parts, whose names are headings.
        values: of the template.
        charts: by heading.
        widgets: by heading.
    """
    parts = [
        SiteSection(
            title,
            text,
            tuple(chart for chart in (charts or {}).get(title, ()) if chart),
            (widgets or {}).get(title, ""),
        )
        for title, text in render_parts(template, values).items()
    ]
    return [section for section in parts if section.text or section.charts or section.widget]
