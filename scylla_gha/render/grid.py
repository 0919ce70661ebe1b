"""The parts of a Markdown page: escaped text, tables, links, folds."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.render.text import plain

# GitHub turns these into mentions and links after Markdown, so a backslash does not help: github/cmark-gfm issue 181.
_REFERENCE: Final = re.compile(r"([@#]|:(?=//)|\bwww(?=\.)|\bGH(?=-[0-9]))", re.IGNORECASE)
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
SAFE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def escape(text: str) -> str:
    """One line of Markdown that shows `text` and does nothing else: no table cell, HTML, link or mention."""
    line = re.sub(r"([\\`*_\[\]<>|&~])", r"\\\1", plain(text))
    return _REFERENCE.sub(r"\1<!-- -->", line)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of plain text; an empty line before and after it."""
    yield from raw_table([escape(heading) for heading in headings], ([escape(value) for value in row] for row in rows))


def raw_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown: each cell is escaped already."""
    yield ""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def fold(title: str, lines: Iterable[str]) -> Iterator[str]:
    """What is seen only by who asks for it; nothing where there are no lines."""
    inside = list(lines)
    if inside:
        yield from ("", f"<details><summary>{escape(title)}</summary>", "", *inside, "", "</details>", "")


def folder(cell: str) -> str:
    """A cell's id as a link to its folder, which lies beside the report."""
    return f"[{escape(cell)}]({cell}/)" if SAFE_NAME.fullmatch(cell) else escape(cell)


def code(text: str) -> str:
    """A name or a command as code, where it is of letters, digits and the usual signs; else escaped."""
    return f"`{text}`" if _CODE.fullmatch(text) else escape(text)


def more(left_out: int, what: str = "more") -> Iterator[str]:
    """How much is not shown, and where it is."""
    if left_out > 0:
        yield f"\nand {left_out:,} {what}, in report.json\n"
