"""A page of the site: sections of sanitised Markdown, with charts inserted afterwards, and tables that scripts fill."""

import base64
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any, Final, Literal

from scylla_gha.model.printable_text import one_line
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.page.answer import KeyFigure
from scylla_gha.report.page.html import PagePlace, data_script, html
from scylla_gha.report.site.addresses import OVERVIEW, data_path, relative
from scylla_gha.report.templates import render_parts

if TYPE_CHECKING:
    from markdown import Markdown as Converter

_TAGS: Final = {
    "a",
    "br",
    "code",
    "em",
    "h2",
    "h3",
    "li",
    "ol",
    "p",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
_ESCAPED: Final = ["<", "~", "|"]  # by `templates.escape`, beside those that the package knows
_TABLE: Final = re.compile(r"<table>(.*?)</table>", re.DOTALL)
_ROW: Final = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
_CELL: Final = re.compile(r"<(t[hd])>(.*?)</t[hd]>", re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")
_LONGEST_NUMBER: Final = 26  # characters; longer cells are words, which may wrap
Widget = Literal["", "trials", "pairs"]
HOME: Final = "Results"
_SCRIPTS: Final[dict[Widget, tuple[str, ...]]] = {
    "": ("basics.js", "plain.js"),
    "trials": ("basics.js", "side_by_side.js", "page.js"),
    "pairs": ("basics.js", "pairs.js"),
}


def markdown_html(text: str, label: str) -> str:
    """Return the HTML of Markdown; tables may be scrolled by keyboard.

    Args:
        text: Markdown of a template, in which values are escaped.
        label: what its tables are about, for screen readers.
    """
    import nh3

    # The empty comments break mentions on GitHub, and would be read as text elsewhere. The package takes `&lt;` for an
    # entity even if its ampersand is escaped.
    html = _converter().reset().convert(text.replace("<!-- -->", "").replace("\\&", "&amp;"))
    clean = nh3.clean(html, tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"https", "http"})
    numbers = itertools.count(1)
    return _TABLE.sub(lambda table: _region(table[1], label, next(numbers)), clean)


def _region(inside: str, label: str, number: int) -> str:
    """Return a table that can be scrolled, with marks on the cells that are headings and on columns of words."""
    rows = [[cell[2] for cell in _CELL.finditer(row[1])] for row in _ROW.finditer(inside)]
    head, *body = rows or [[]]
    names = [('th scope="col"', "th")] * len(head), [('th scope="row"', "th"), *[("td", "td")] * len(head)]
    columns = [[unescape(_TAG.sub("", row[at])) for row in body if at < len(row)] for at in range(len(head))]
    marks = [_mark(column) for column in columns]

    def line(cells: list[str], tags: list[tuple[str, str]]) -> str:
        marked = zip(cells, tags, marks, strict=False)
        return f"<tr>{''.join(f'<{tag}{mark}>{cell}</{end}>' for cell, (tag, end), mark in marked)}</tr>"

    name = _attribute(f"{label}, table {number}" if number > 1 else label)
    lines = "\n".join(line(row, names[1]) for row in body)
    return (
        f'<div class="scroll" role="region" aria-label="{name}" tabindex="0"><table>\n<thead>{line(head, names[0])}'
        f"</thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def _mark(column: list[str]) -> str:
    """Return the class of a column: words, which may wrap, or names; none for numbers."""
    if any(len(text) > _LONGEST_NUMBER for text in column):
        return ' class="words"'
    letters = any(sum(map(str.isalpha, text)) > len(text) / 2 for text in column)
    return ' class="name"' if letters else ""


def _attribute(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


@cache
def _converter() -> "Converter":
    from markdown import Markdown

    converter = Markdown(extensions=["tables"], output_format="html")
    converter.preprocessors.deregister("html_block")
    for pattern in ("html", "entity", "autolink", "automail"):
        converter.inlinePatterns.deregister(pattern)
    converter.ESCAPED_CHARS = [*converter.ESCAPED_CHARS, *_ESCAPED]
    return converter


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
