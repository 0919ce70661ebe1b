"""Building blocks of Markdown: escaped text, tables, links, folded parts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.report.numbers import plain

# GitHub turns these into mentions and links after Markdown, so a backslash does not help: github/cmark-gfm issue 181.
_REFERENCE: Final = re.compile(r"([@#]|:(?=//)|\bwww(?=\.)|\bGH(?=-[0-9]))", re.IGNORECASE)
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
SAFE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def escape(text: str) -> str:
    """Escape untrusted text into one line of Markdown without table cells, HTML, links or mentions."""
    line = re.sub(r"([\\`*_\[\]<>|&~])", r"\\\1", plain(text))
    return _REFERENCE.sub(r"\1<!-- -->", line)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table of plain text, with an empty line before and after it."""
    yield from raw_table([escape(heading) for heading in headings], ([escape(value) for value in row] for row in rows))


def raw_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table of cells that are escaped already."""
    yield ""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def fold(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a folded part; nothing if there are no lines."""
    inside = list(lines)
    if inside:
        yield from ("", f"<details><summary>{escape(title)}</summary>", "", *inside, "", "</details>", "")


def folder(cell: str) -> str:
    """Return a cell's id as a link to its folder beside the report."""
    return f"[{escape(cell)}]({cell}/)" if SAFE_NAME.fullmatch(cell) else escape(cell)


def code(text: str) -> str:
    """Return a name or command as code if it consists of safe characters; else escaped."""
    return f"`{text}`" if _CODE.fullmatch(text) else escape(text)


def more(left_out: int, noun: str = "") -> Iterator[str]:
    """Yield a line with the number of rows that are not shown; `noun` is singular."""
    if left_out > 0:
        yield f"\nand {counted(left_out, f'more {noun}') if noun else f'{left_out:,} more'}, in report.json\n"
