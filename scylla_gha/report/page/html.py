"""Render HTML pages from templates, and sections of a report as sanitised HTML with accessible tables.

Template values are escaped. A content security policy allows the page's style and script by their hashes.
"""

import base64
import gzip
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from scylla_gha.model import one_line, visible
from scylla_gha.report.charts.theme import palette_css
from scylla_gha.report.document import Block, Bullets, Markdown, MarkdownPage, Section, Table, is_empty, more

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown import Markdown as Converter

_TEMPLATES: Final = Path(__file__).parents[1] / "templates"
_TEXT_TAGS: Final = {"a", "br", "code", "em", "h2", "h3", "li", "ol", "p", "strong", "ul"}
_TABLE_TAGS: Final = {"table", "tbody", "td", "th", "thead", "tr"}
_TABLE: Final = re.compile(r"<table>.*?</table>", re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")
_ESCAPED: Final = ["<", "~", "|"]  # characters that `document.escape` escapes and the package `markdown` does not know
_INLINE: Final = re.compile(
    r"\\(?P<escaped>[\\`*_\[\]<>|&~])|<!-- -->|`(?P<code>[^`]+)`"
    r"|\[(?P<words>(?:\\.|[^\]\\])+)\]\((?P<address>[^)\s]+)\)|\*\*(?P<strong>(?:\\.|[^*\\])+)\*\*|\*(?P<em>(?:\\.|[^*\\])+)\*"
)
_ADDRESS: Final = re.compile(r"https?://|#|\.{0,2}/(?!/)|[\w.-]+(?:[/#?]|$)")  # HTTP or relative, no other scheme
_EMPHASIS: Final = frozenset({"strong", "em"})
_LONGEST_NUMBER: Final = 26  # characters; columns with longer texts may wrap


@dataclass(frozen=True, slots=True)
class PageLocation:
    """Location of a page on a site: breadcrumbs to the pages above it, and the script with its data.

    Attributes:
        name: name of the page in the breadcrumbs.
        trail: names and addresses of the pages above it.
        data: address of the script with its data; empty: none.
        nonce: value by which the policy allows that script; authors of the data cannot predict it.
    """

    name: str
    trail: Sequence[tuple[str, str]] = ()
    data: str = ""
    nonce: str = ""


def html(template: str, *scripts: str, location: PageLocation | None = None, **values: Any) -> str:  # noqa: ANN401 values of the template
    """Render a template with its values, the common style sheet, scripts and a security policy.

    Args:
        template: name of the template in the folder `templates`.
        scripts: names of scripts in that folder, which are joined; none: the policy forbids scripts.
        location: location of the page on a site; None: a single page.
        values: values of the template.
    """
    style = _source("page.css").replace("/*light*/", palette_css("light")).replace("/*dark*/", palette_css("dark"))
    code = "".join(map(_source, scripts))
    allowed = _hash(code) if code else "'none'"
    if location and location.data:
        allowed += f" 'nonce-{location.nonce}'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(style=style, script=code, policy=policy, location=location, **values)
    )


def packed(value: object) -> str:
    """Return plain data or dataclasses as base64 of gzipped JSON, so that no text in it is read as HTML or script."""
    return base64.b64encode(gzip.compress(orjson.dumps(value), 6, mtime=0)).decode()


def data_script(value: object) -> str:
    """Return a script that passes data to a page. Pages opened from a file may load scripts, but not fetch data."""
    return f'globalThis.scyllaData = "{packed(value)}";\n'


@cache
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _source(name: str) -> str:
    loader = _environment().loader
    if loader is None:
        raise TypeError("the environment of pages has no loader")
    return loader.get_source(_environment(), name)[0]


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_without_hidden_characters,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _without_hidden_characters(value: object) -> object:
    return value if hasattr(value, "__html__") else visible(str(value))


def sections_html(sections: Mapping[str, Section]) -> dict[str, tuple[str, str]]:
    """Return title and HTML of the sections that are not empty, by their anchor."""
    shown = {anchor: part for anchor, part in sections.items() if part.blocks}
    return {anchor: (part.title, blocks_html(part.blocks, part.title)) for anchor, part in shown.items()}


def blocks_html(blocks: Iterable[Block], label: str) -> str:
    """Return paragraphs, lists and tables as HTML; `label` names the tables for screen readers."""
    regions = _Regions(label)
    return "\n".join(html for block in blocks if not is_empty(block) for html in _block(block, regions))


def inline_html(text: str) -> str:
    """Return text as HTML: plain text is escaped; emphasis, code and links of `Markdown` are converted.

    Works without the optional dependencies. HTTP and relative links are kept; others become text.
    """
    if not isinstance(text, Markdown):
        return escape(one_line(text), quote=False)
    html, end = [], 0
    for mark in _INLINE.finditer(text):
        html += [escape(text[end : mark.start()], quote=False), _mark_up(mark)]
        end = mark.end()
    return "".join((*html, escape(text[end:], quote=False)))


def _mark_up(mark: re.Match[str]) -> str:
    kind = mark.lastgroup
    if kind == "escaped":
        return escape(mark["escaped"], quote=False)
    if kind == "code":
        return f"<code>{escape(mark['code'], quote=False)}</code>"
    if kind == "address":
        words = inline_html(Markdown(mark["words"]))
        address = mark["address"]
        rel = ' rel="noopener noreferrer"' if address.startswith("http") else ""
        return f'<a href="{escape(address)}"{rel}>{words}</a>' if _ADDRESS.match(address) else words
    if kind in _EMPHASIS:
        return f"<{kind}>{inline_html(Markdown(mark[kind]))}</{kind}>"
    return ""  # an empty comment, which breaks mentions on GitHub


def markdown_html(text: str) -> str:
    """Return the sanitised HTML of Markdown with escaped values; HTML tags in it are shown as text."""
    import nh3

    # The empty comments break mentions on GitHub; here they would be shown. `markdown` takes `&lt;` for an entity even
    # if its ampersand is escaped.
    html = _converter().reset().convert(text.replace("<!-- -->", "").replace("\\&", "&amp;"))
    return nh3.clean(html, tags=_TEXT_TAGS | _TABLE_TAGS, attributes={"a": {"href"}}, url_schemes={"https", "http"})


def _block(block: Block, regions: "_Regions") -> Iterator[str]:
    if isinstance(block, MarkdownPage):
        yield _TABLE.sub(lambda table: regions.wrap(table[0]), markdown_html(block))
    elif isinstance(block, str):
        yield f"<p>{inline_html(block).strip()}</p>"
    elif isinstance(block, Bullets):
        tag = "ul" if block.numbers is None else "ol"
        items = "\n".join(f"<li>{inline_html(item)}</li>" for item in block.items)
        yield f"<{tag}>\n{items}\n</{tag}>"
    else:
        yield regions.wrap(_table(block))
        yield from _block(more(block.left_out, block.noun, block.source), regions) if block.left_out > 0 else ()


class _Regions:
    """Wrap the tables of a section in regions with unique names, which screen readers can list."""

    def __init__(self, label: str) -> None:
        self._label = one_line(label)
        self._numbers = itertools.count(1)

    def wrap(self, table: str) -> str:
        """Return a table in a named region that can be scrolled by keyboard."""
        number = next(self._numbers)
        name = escape(f"{self._label}, table {number}" if number > 1 else self._label)
        return f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">{table}</div>'


def _table(table: Table) -> str:
    """Return a table as HTML, with scopes on heading cells and classes on text columns."""
    rows = [[inline_html(cell) for cell in row] for row in table.rows]
    marks = [_mark([unescape(_TAG.sub("", row[at])) for row in rows]) for at in range(len(table.headings))]
    head = _row([inline_html(heading) for heading in table.headings], marks, 'th scope="col"', 'th scope="col"')
    body = "\n".join(_row(row, marks, 'th scope="row"', "td") for row in rows)
    return f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _row(cells: Sequence[str], marks: Sequence[str], first: str, others: str) -> str:
    tags = [first, *[others] * (len(cells) - 1)]
    marked = zip(cells, tags, marks, strict=True)
    return f"<tr>{''.join(f'<{tag}{mark}>{cell}</{tag[:2]}>' for cell, tag, mark in marked)}</tr>"


def _mark(column: list[str]) -> str:
    """Return the class attribute of a column: `words` (may wrap), `name`, or empty for numbers."""
    if any(len(text) > _LONGEST_NUMBER for text in column):
        return ' class="words"'
    letters = any(sum(map(str.isalpha, text)) > len(text) / 2 for text in column)
    return ' class="name"' if letters else ""


@cache
def _converter() -> "Converter":
    from markdown import Markdown as Converter

    converter = Converter(extensions=["tables"], output_format="html")
    converter.preprocessors.deregister("html_block")
    for pattern in ("html", "entity", "autolink", "automail"):
        converter.inlinePatterns.deregister(pattern)
    converter.ESCAPED_CHARS = [*converter.ESCAPED_CHARS, *_ESCAPED]
    return converter
