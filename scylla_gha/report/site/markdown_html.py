"""Markdown of our templates as HTML: no raw HTML is read, and the result is sanitised."""

import itertools
import re
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Final

from scylla_gha.model.printable_text import one_line

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
