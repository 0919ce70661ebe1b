"""Sections of a report, with paragraphs, lists and tables: values that each renderer shows its own way.

Text is escaped when it is shown, except text that code made as `Markdown`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from scylla_gha.counting import counted
from scylla_gha.model.printable_text import one_line

# GitHub turns these into mentions and links after Markdown, so a backslash does not help: github/cmark-gfm issue 181.
_REFERENCE: Final = re.compile(r"([@#]|:(?=//)|\bwww(?=\.)|\bGH(?=-[0-9]))", re.IGNORECASE)
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
_LINK_TEXT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
Item = TypeVar("Item")
Columns = Mapping[str, Callable[[Item], str]]  # the heading of each column, and its text for an item


class Markdown(str):
    """Text that is Markdown already, so it is not escaped again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the text: the protocol by which Jinja recognises text that is safe."""
        return self

    def fill(self, *values: str) -> "Markdown":
        """Put escaped values in the place of each `{}`."""
        return Markdown(self.format(*map(escape, values)))


class MarkdownPage(Markdown):
    """Markdown with headings, lists and tables, such as the glossary; other `Markdown` is one paragraph."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows as plain text, or as `Markdown` if a cell is a link; without rows, no table is shown.

    Attributes:
        headings: one for each column.
        rows: the rows that are shown.
        left_out: number of further rows.
        noun: singular of what those rows are; empty: not named.
        source: where all rows are.
    """

    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    left_out: int = 0
    noun: str = ""
    source: str = "report.json"

    def __html__(self) -> str:
        """Return the table as Markdown, with an empty line before and after it."""
        if not self.rows:
            return ""
        cells = [self.headings, ["---"] * len(self.headings), *self.rows]
        lines = [f"| {' | '.join(escape(cell) for cell in row)} |" for row in cells]
        lines[1] = lines[1].replace(" ", "")
        return "\n".join(("", *lines, "")) + (more(self.left_out, self.noun, self.source) or "\n")


def table_of(
    items: Sequence[Item],
    columns: Columns[Item],
    most: int | None = None,
    noun: str = "",
    source: str = "report.json",
) -> Table:
    """Return a table with a row for each of the first `most` items.

    Args:
        items: all that there are.
        columns: of the table, in their order.
        most: rows that there is room for; None: no limit.
        noun: as in `Table`.
        source: as in `Table`.
    """
    rows = [[text(item) for text in columns.values()] for item in items[:most]]
    return Table(tuple(columns), rows, len(items) - len(rows), noun, source)


def lines_of(table: Table) -> list[str]:
    """Return the lines of a table as plain text; the first column is left-aligned, all others are right-aligned."""
    cells = [tuple(map(one_line, row)) for row in (table.headings, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; `numbers` are those of its items, None: it is not numbered."""

    items: Sequence[str]
    numbers: Sequence[int] | None = None


Block = str | Table | Bullets


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report under a heading.

    Attributes:
        title: the heading, as plain text.
        blocks: paragraphs, lists and tables in their order; without any, the section is not shown.
        is_news: True if a reader should see it without opening it.
    """

    title: str
    blocks: tuple[Block, ...]
    is_news: bool = False


def section(title: str, *blocks: Block, is_news: bool = False) -> Section:
    """Return a section of the blocks that are not empty."""
    return Section(title, tuple(block for block in blocks if not is_empty(block)), is_news)


def is_empty(block: Block) -> bool:
    """Tell whether nothing is shown for a block."""
    if isinstance(block, str):
        return not block
    return not (block.rows if isinstance(block, Table) else block.items)


def introduced(words: str, table: Table) -> tuple[Block, ...]:
    """Return a table after a sentence; neither of them if the table is empty."""
    return (Markdown(words), table) if table.rows else ()


def escape(text: str) -> Markdown:
    """Escape untrusted text into one line of Markdown without table cells, HTML, links or mentions."""
    if isinstance(text, Markdown):
        return text
    line = re.sub(r"([\\`*_\[\]<>|&~])", r"\\\1", one_line(text))
    return Markdown(_REFERENCE.sub(r"\1<!-- -->", line))


def code(text: str) -> Markdown:
    """Return a name or command as code if it consists of safe characters; else escaped."""
    return Markdown(f"`{text}`") if _CODE.fullmatch(text) else escape(text)


def link(cell: str, address: str, shown: str = "") -> Markdown:
    """Return a cell's id (or `shown`) as a link; without one if the id has other characters than ids of ours."""
    text = escape(shown or cell)
    return Markdown(f"[{text}]({address})") if _LINK_TEXT.fullmatch(cell) else text


def names(texts: Iterable[str]) -> Markdown:
    """Escape each text, and join them by commas."""
    return Markdown(", ".join(map(escape, texts)))


def more(left_out: int, noun: str = "", source: str = "report.json") -> Markdown:
    """Return a paragraph with the number of rows that are not shown, or nothing; `noun` is singular."""
    count = counted(left_out, f"more {noun}") if noun else f"{left_out:,} more"
    return Markdown(f"\nand {count}, in {source}\n\n" if left_out > 0 else "")


def blocks_markdown(blocks: Iterable[Block]) -> str:
    """Return blocks as Markdown, with empty lines between them."""
    return "\n\n".join(map(_block, blocks))


def _block(block: Block) -> str:
    if isinstance(block, str):
        return escape(block)
    if isinstance(block, Table):
        return block.__html__()
    signs = ["-"] * len(block.items) if block.numbers is None else [f"{number}." for number in block.numbers]
    return "\n".join(f"{sign} {escape(item)}" for sign, item in zip(signs, block.items, strict=True))


def section_markdown(part: Section, *, is_open: bool, level: int = 2) -> str:
    """Return a section under a heading, or folded if it is not open; nothing if it has no blocks."""
    if not part.blocks:
        return ""
    inside = blocks_markdown(part.blocks)
    if is_open:
        return f"{'#' * level} {escape(part.title)}\n\n{inside}"
    return folded(part.title, inside)


def folded(title: str, inside: str) -> str:
    """Return Markdown that a reader opens; nothing if it is empty."""
    body = inside.strip()
    return f"<details><summary>{escape(title)}</summary>\n\n{body}\n\n</details>" if body else ""
