"""Workflow commands: lines of a step's output that the runner acts on, and text that it must not act on.

The runner reads both of a step's streams. It takes `::name key=value::text` at the beginning of a line, and the older
`##[name key=value]text` anywhere in it.
"""

import re
from typing import Final, Literal

Level = Literal["error", "warning", "notice"]
_GAP: Final = "\N{ZERO WIDTH SPACE}"
_AT_WORK: Final = re.compile(r"^(\s*):(?=:)", re.MULTILINE)


def annotation(level: Level, message: str, title: str = "") -> str:
    """The command that shows a message on the run's page; the runner shows ten of each level in a step."""
    given = f" title={_property(title)}" if title else ""
    return f"::{level}{given}::{_data(message)}"


def harmless(text: str) -> str:
    """Text of strangers as it may be printed in a step: nothing in it is a command. It looks the same to a reader."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _AT_WORK.sub(rf"\1:{_GAP}", lines).replace("##[", f"##{_GAP}[")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
