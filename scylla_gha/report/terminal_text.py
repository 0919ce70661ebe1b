"""Lines for a terminal: the toolkit's own text, and untrusted text that can neither control it nor forge headings.

Untrusted text is always indented, even in a terminal that is too narrow for it, so it never looks like a heading.
"""

from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.text import Text

from scylla_gha.model.printable_text import head_and_tail, visible
from scylla_gha.report.numbers import plain

STEP: Final = 2  # columns of indentation
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text with an indentation: wrapped for a terminal, and line by line as it is for a file or a pipe."""

    text: Text
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        if console.is_terminal:
            yield Padding(self.text, (0, 0, 0, self.indent), expand=False)
            return
        for line in self.text.split("\n", allow_blank=True):
            prefix = " " * self.indent if line.plain else ""
            yield Text(prefix).append_text(line)


def heading(words: str) -> TextBlock:
    """Return the heading of a section, after an empty line."""
    return TextBlock(Text("\n" + plain(words), style="bold"))


def line(words: str, indent: int = STEP, style: str = "") -> TextBlock:
    """Return text as one line."""
    return TextBlock(Text(plain(words), style=style, overflow="fold"), indent)


def field(name: str, words: str, style: str = "") -> TextBlock:
    """Return a named value."""
    return TextBlock(Text(f"{name:<10}", overflow="fold").append(plain(words), style=style), STEP)


def passage(words: str, indent: int, room: int | None, style: str = "") -> TextBlock:
    """Return untrusted text; it is cut above `room` characters, None: never."""
    whole = visible(words.strip("\n"))
    return TextBlock(Text(whole if room is None else head_and_tail(whole, room), style=style, overflow="fold"), indent)


def patch(words: str) -> TextBlock:
    """Return a whole patch, with coloured added and deleted lines."""
    text = Text(overflow="fold")
    for each in visible(words.rstrip("\n")).split("\n"):
        is_name = each.startswith(("+++ ", "--- "))
        text.append(each + "\n", style="bold" if is_name else _STYLES.get(each[:1], ""))
    text.right_crop(1)
    return TextBlock(text, STEP)
