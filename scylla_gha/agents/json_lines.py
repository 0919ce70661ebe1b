"""Events of a transcript, which is a file with a JSON object on each line.

The agent can write to the file, so no content may raise an error or fill the memory.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scylla_gha.providers.base import parse_object

Event = dict[str, Any]

_MAX_LINES: Final = 1_000_000  # far more than a session has; that many are read in seconds
_MAX_LINE_BYTES: Final = 16 * 1024 * 1024  # the longest events have a picture or a tool's output
_TOO_LONG: Final = b"\0"  # replaces a longer line, and is not an event
_MAX_PARTS: Final = 1_000_000  # in one event; each takes a few hundred bytes of memory
_MAX_LEVELS: Final = 100  # of nesting in an event; Python and pydantic allow a few hundred


def read_events(transcript: Path) -> Iterator[Event | None]:
    """Yield the events; None for a line that is not an event, and once at the end if there are too many lines."""
    lines = _lines(transcript)
    for line in itertools.islice(lines, _MAX_LINES):
        event = _parse_event(line)
        if event is not None and not _is_deep(line, event):
            yield event
        elif line.strip():
            yield None
    if any(lines):
        yield None


def events_with(transcript: Path, marker: bytes) -> Iterator[Event]:
    """Yield the events of lines that contain the marker; the other lines are not parsed."""
    for line in _lines(transcript):
        if marker in line and (event := _parse_event(line)) is not None:
            yield event


def _lines(transcript: Path) -> Iterator[bytes]:
    """Yield the lines; never read the whole of a line that is too long into memory."""
    with transcript.open("rb") as file:
        while line := file.readline(_MAX_LINE_BYTES):
            part = line
            while len(part) == _MAX_LINE_BYTES and not part.endswith(b"\n"):
                line, part = _TOO_LONG, file.readline(_MAX_LINE_BYTES)
            yield line


def _parse_event(line: bytes) -> Event | None:
    """Parse an event; return None if the line is not an event, or has so many parts that it would fill the memory."""
    return None if sum(map(line.count, (b",", b"[", b"{"))) > _MAX_PARTS else parse_object(line)


def _is_deep(line: bytes, event: Event) -> bool:
    """Return True if the event is nested too deeply to be written again."""
    if line.count(b"[") + line.count(b"{") <= _MAX_LEVELS:
        return False
    level: list[object] = [event]
    for _ in range(_MAX_LEVELS):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)
