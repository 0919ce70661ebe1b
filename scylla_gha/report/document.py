"""Build a report's sections from paragraphs, lists and tables; render them as Markdown; format numbers.

Text is escaped when it is rendered or put into a template, unless its type is `Markdown`. An unknown number is `?`, an
undefined number is `-`; neither is ever 0.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from scylla_gha.counting import counted, dollars
from scylla_gha.model import one_line
from scylla_gha.model.report import ArmSummary, Counts, Report
from scylla_gha.stats import format_p

if TYPE_CHECKING:
    from jinja2 import Environment

UNKNOWN = "?"
UNDEFINED = "-"
# GitHub turns these into mentions and links after Markdown, so a backslash does not help: github/cmark-gfm issue 181.
_REFERENCE: Final = re.compile(r"([@#]|:(?=//)|\bwww(?=\.)|\bGH(?=-[0-9]))", re.IGNORECASE)
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
_LINK_TEXT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
Item = TypeVar("Item")
Columns = Mapping[str, Callable[[Item], str]]  # the heading of each column, and its text for an item


def clipped(text: str, most: int) -> str:
    """Return at most `most` characters of `text`, with an ellipsis if it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def percent(value: float | None) -> str:
    """Format a fraction as a whole percentage."""
    return UNDEFINED if value is None else f"{100 * value:.0f} %"


def interval(arm: "ArmSummary") -> str:
    """Format the 95 % interval of the pass rate, in percent."""
    if arm.pass_low is None or arm.pass_high is None:
        return UNDEFINED
    return f"[{100 * arm.pass_low:.0f}, {100 * arm.pass_high:.0f}]"


def bounds(arm: "ArmSummary") -> str:
    """Format the possible range of the pass rate, in percent, if trials were not judged; empty if all were."""
    if arm.pass_bounds is None:
        return ""
    low, high = arm.pass_bounds
    return f" ({100 * low:.0f} to {100 * high:.0f})"


def number(value: float | None, digits: int = 2) -> str:
    """Format a number."""
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def cost_of_pass(arm: "ArmSummary") -> str:
    """Format the cost of a pass; it is infinite if money was spent and nothing passed."""
    if arm.cost_of_pass is None and arm.usd is not None and arm.counts.judged:
        return "∞" if arm.usd > 0 else UNDEFINED
    return dollars(arm.cost_of_pass) if arm.counts.judged else UNDEFINED


def seconds(value: float | None) -> str:
    """Format a duration."""
    if value is None:
        return UNDEFINED
    return f"{value:.2f} s" if value < 100 else f"{value / 60:.1f} min"  # noqa: PLR2004


def tokens(value: int | None) -> str:
    """Format a number of tokens."""
    return UNKNOWN if value is None else f"{value:,}"


def grades(arm: "ArmSummary") -> str:
    """Format grades with their counts, best first."""
    return " ".join(f"{count}{grade}" for grade, count in arm.grades.items()) or UNDEFINED


def counts(trials: "Counts") -> str:
    """Format the four denominators, or one number if they are equal."""
    four = (trials.planned, trials.ran, trials.judged, trials.scored)
    return str(four[0]) if len(set(four)) == 1 else "/".join(map(str, four))


REPLAYED: Final = "REPLAY of recorded answers: nothing was measured; costs stand as recorded and were not spent"


def totals(report: "Report") -> str:
    """Format the report's denominators, the number of trials with proved delivery, and the cost of judges."""
    trials = report.counts
    proved = f"; delivery proved in {report.delivery[0]} of {report.delivery[1]}" if report.delivery else ""
    counted_trials = f"{trials.planned} planned, {trials.ran} ran, {trials.judged} judged, {trials.scored} scored"
    return f"{counted_trials}{proved}; judges {dollars(report.judge_usd)}"


def short_names(arms: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return arm ids without the dot-separated parts that all arms share, and the shared parts."""
    split = [arm.split(".") for arm in arms]
    if len(arms) < 2 or len({len(parts) for parts in split}) > 1:  # noqa: PLR2004 one arm has nothing to share with
        return {arm: arm for arm in arms}, ""
    shared = [len(set(column)) == 1 for column in zip(*split, strict=True)]
    names = {
        arm: ".".join(part for part, same in zip(parts, shared, strict=True) if not same)
        for arm, parts in zip(arms, split, strict=True)
    }
    return names, ".".join(part for part, same in zip(split[0], shared, strict=True) if same)


def p_value(p: float | None) -> str:
    """Format a p value; it is never 0."""
    return UNDEFINED if p is None else format_p(p)


def share(part: float | None) -> str:
    """Format a fraction in percent, with one digit."""
    return UNDEFINED if part is None else f"{100 * part:.1f} %"


class Markdown(str):
    """Text that is Markdown already, so it is not escaped again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the text; Jinja calls this method to recognise safe text."""
        return self

    def fill(self, *values: str) -> "Markdown":
        """Replace each `{}` by an escaped value."""
        return Markdown(self.format(*map(escape, values)))


class MarkdownPage(Markdown):
    """Markdown with headings, lists and tables, such as the glossary; other `Markdown` is one paragraph."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows; cells are plain text or `Markdown`. A table without rows is not shown.

    Attributes:
        headings: one for each column.
        rows: the rows that are shown.
        left_out: number of further rows.
        noun: singular noun for the further rows; empty: the number stands alone.
        source: file or page with all rows.
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
        items: all items.
        columns: the table's columns, in their order.
        most: maximum number of rows; None: no limit.
        noun: singular noun for rows, as in `Table`.
        source: file or page with all rows.
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


def plain_lines(sections: Iterable["Section"]) -> Iterator[str]:
    """Yield sections as lines of plain text, each under its title."""
    for part in sections:
        if part.blocks:
            yield f"{one_line(part.title).removesuffix('?')}:"
        yield from (f"  {line}" for block in part.blocks for line in _plain_block(block))


def _plain_block(block: "Block") -> list[str]:
    if isinstance(block, Table):
        return [*lines_of(block), *([f"and {block.left_out} more, in {block.source}"] if block.left_out else [])]
    return [f"- {one_line(item)}" for item in block.items] if isinstance(block, Bullets) else [one_line(block)]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; `numbers` are the items' numbers (None: no numbers)."""

    items: Sequence[str]
    numbers: Sequence[int] | None = None


Block = str | Table | Bullets


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report under a heading.

    Attributes:
        title: the heading, as plain text.
        blocks: paragraphs, lists and tables in order; empty: the section is not shown.
        is_news: True if the section is open; otherwise a reader must unfold it.
    """

    title: str
    blocks: tuple[Block, ...]
    is_news: bool = False


def section(title: str, *blocks: Block, is_news: bool = False) -> Section:
    """Return a section with the blocks that are not empty."""
    return Section(title, tuple(block for block in blocks if not is_empty(block)), is_news)


def is_empty(block: Block) -> bool:
    """Return whether a block has no text, rows or items."""
    if isinstance(block, str):
        return not block
    return not (block.rows if isinstance(block, Table) else block.items)


def table_after(words: str, table: Table) -> tuple[Block, ...]:
    """Return a sentence (Markdown) and a table; nothing if the table is empty."""
    return (Markdown(words), table) if table.rows else ()


def escape(text: str) -> Markdown:
    """Escape untrusted text into one line of Markdown without table cells, HTML, links or mentions."""
    if isinstance(text, Markdown):
        return text
    line = re.sub(r"([\\`*_\[\]<>|&~])", r"\\\1", one_line(text))
    return Markdown(_REFERENCE.sub(r"\1<!-- -->", line))


def code(text: str) -> Markdown:
    """Return a name or command as Markdown code if all characters are safe, else as escaped text."""
    return Markdown(f"`{text}`") if _CODE.fullmatch(text) else escape(text)


def link(cell: str, address: str, shown: str = "") -> Markdown:
    """Return a cell's id (or `shown`) as a link, or as plain text if the id has characters that our ids never have."""
    text = escape(shown or cell)
    return Markdown(f"[{text}]({address})") if _LINK_TEXT.fullmatch(cell) else text


def names(texts: Iterable[str]) -> Markdown:
    """Escape each text, and join them by commas."""
    return Markdown(", ".join(map(escape, texts)))


def more(left_out: int, noun: str = "", source: str = "report.json") -> Markdown:
    """Return a paragraph with the number of rows left out; empty if there are none. `noun` is singular."""
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
    """Return Markdown in a collapsed section; an empty string if `inside` is empty."""
    body = inside.strip()
    return f"<details><summary>{escape(title)}</summary>\n\n{body}\n\n</details>" if body else ""


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template of the folder `templates`; paragraphs are separated by one empty line."""
    return tidy(_environment().get_template(template).render(values))


def render_parts(template: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Fill a template made of `{% call part(NAME) %}` blocks; return their texts by name, without outer empty lines."""
    parts: dict[str, str] = {}

    def part(name: str, caller: Callable[[], str]) -> str:
        parts[name] = caller().strip("\n")
        return ""

    _environment().get_template(template).render({**values, "part": part})
    return parts


def tidy(text: str) -> str:
    """Return text without repeated empty lines, and with one newline at its end."""
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").rstrip() + "\n"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "code": code,
        "counted": counted,
        "dollars": dollars,
        "more": more,
        "number": number,
        "percent": percent,
    }
    environment.filters |= {"clipped": clipped, "names": names}
    return environment


def _escaped(value: object) -> object:
    return value if hasattr(value, "__html__") else escape(str(value))
