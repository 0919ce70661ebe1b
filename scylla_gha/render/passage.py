"""Lines for a person at a terminal: the harness's own words, and passages of others that can neither steer nor forge.

What others wrote is indented, also where a terminal is too narrow for it, so it never stands where a heading stands.
"""

from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.text import Text

from scylla_gha.model.visible import head_and_tail, visible
from scylla_gha.render.text import plain

STEP: Final = 2  # columns of indentation
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


@dataclass(frozen=True, slots=True)
class Passage:
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


def heading(words: str) -> Passage:
    """The beginning of a section, after an empty line."""
    return Passage(Text("\n" + plain(words), style="bold"))


def line(words: str, indent: int = STEP, style: str = "") -> Passage:
    """One line, whatever stands in the words."""
    return Passage(Text(plain(words), style=style, overflow="fold"), indent)


def field(name: str, words: str, style: str = "") -> Passage:
    """A named value."""
    return Passage(Text(f"{name:<10}", overflow="fold").append(plain(words), style=style), STEP)


def passage(words: str, indent: int, room: int | None, style: str = "") -> Passage:
    """What others wrote; `room` is the number of characters above which it is cut, None: never."""
    whole = visible(words.strip("\n"))
    return Passage(Text(whole if room is None else head_and_tail(whole, room), style=style, overflow="fold"), indent)


def patch(words: str) -> Passage:
    """A patch, whole, with its added and deleted lines in colours."""
    text = Text(overflow="fold")
    for each in visible(words.rstrip("\n")).split("\n"):
        is_name = each.startswith(("+++ ", "--- "))
        text.append(each + "\n", style="bold" if is_name else _STYLES.get(each[:1], ""))
    text.right_crop(1)
    return Passage(text, STEP)
