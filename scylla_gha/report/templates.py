"""Markdown from templates: a template's values are escaped, except text that code made as `Markdown`."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.printable_text import one_line
from scylla_gha.report.numbers import clipped, number, percent

if TYPE_CHECKING:
    from jinja2 import Environment

# GitHub turns these into mentions and links after Markdown, so a backslash does not help: github/cmark-gfm issue 181.
_REFERENCE: Final = re.compile(r"([@#]|:(?=//)|\bwww(?=\.)|\bGH(?=-[0-9]))", re.IGNORECASE)
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")
_LINK_TEXT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Markdown(str):
    """Text that is Markdown already, so it is not escaped again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the text: the protocol by which Jinja recognises text that is safe."""
        return self


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


def more(left_out: int, noun: str = "", source: str = "report.json") -> Markdown:
    """Return a paragraph with the number of rows that are not shown, or nothing; `noun` is singular."""
    count = counted(left_out, f"more {noun}") if noun else f"{left_out:,} more"
    return Markdown(f"\nand {count}, in {source}\n\n" if left_out > 0 else "")


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template of the folder `templates`; paragraphs are separated by one empty line."""
    return tidy(_environment().get_template(template).render(values))


def render_parts(template: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Fill a template that consists of `{% call part(NAME) %}`; return the text of each, without empty lines around."""
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
    environment.filters |= {"clipped": clipped, "names": _names}
    return environment


def _escaped(value: object) -> object:
    return value if hasattr(value, "__html__") else escape(str(value))


def _names(texts: Iterable[str]) -> Markdown:
    """Escape each text, and join them by commas."""
    return Markdown(", ".join(escape(text) for text in texts))
