"""Output of a workflow's step: its log, the annotations that it asks for, and the files that it sets variables in.

See https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.hub.workflow_records import JobNote, Level

_COMMAND: Final = re.compile(r"::(?P<name>[a-zA-Z-]+)(?: (?P<properties>[^:]*(?::(?!:)[^:]*)*))?::(?P<message>.*)")
_LEVELS: Final[Mapping[str, Level]] = {"error": "failure", "warning": "warning", "notice": "notice"}
_SHOWN: Final[Mapping[str, str]] = {"group": "##[group]{}", "endgroup": "##[endgroup]"}
_HIDDEN: Final = ("debug", "add-mask", "stop-commands", "set-output", "save-state", "echo")
# What the hub takes for the begin of a step in a job's log.
_BEGIN: Final = re.compile(r"##\[group\]Run |Post job cleanup\.|Cleaning up orphan processes")
_ESCAPES: Final[Mapping[str, str]] = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
_MOST_NOTES: Final = 10  # of a level in a step, as on GitHub
_LONGEST_LINE: Final = 4_000
_LONGEST_MESSAGE: Final = 4_000
MOST_LOG: Final = 200_000  # bytes of a step's log, half of them its end
_MOST_READ: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass
class StepOutput:
    """Log of a step as GitHub shows it, and its annotations."""

    lines: list[str] = field(default_factory=list)
    notes: list[JobNote] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Add a line of the step's own output, which may be a command."""
        matched = _COMMAND.fullmatch(line.strip())
        name = matched["name"].lower() if matched else ""
        if matched and name in _LEVELS:
            self.lines.append(f"##[{name}]{_decoded(matched['message'])}")
            self._note(_LEVELS[name], _properties(matched["properties"] or ""), _decoded(matched["message"]))
        elif matched and name in _SHOWN:
            self._show(_SHOWN[name].format(matched["message"]))
        elif name not in _HIDDEN:
            self._show(line)

    def fail(self, message: str) -> None:
        """Add an error of the runner itself."""
        self.lines.append(f"##[error]{message}")
        self.notes.append(JobNote(path=".github", line=1, end_line=1, level="failure", message=message))

    def _show(self, line: str) -> None:
        self.lines.append(f" {line}" if _BEGIN.match(line) else line)

    def _note(self, level: Level, properties: Mapping[str, str], message: str) -> None:
        if sum(note.level == level for note in self.notes) >= _MOST_NOTES or not message:
            return
        line = _line(properties.get("line"), 1)
        note = JobNote(path=properties.get("file", ".github"), line=line, level=level,
                       end_line=max(line, _line(properties.get("endline"), line)),
                       message=message[:_LONGEST_MESSAGE], title=properties.get("title"))  # fmt: skip
        self.notes.append(note)

    @property
    def text(self) -> str:
        """The log."""
        return "".join(f"{line}\n" for line in self.lines)


def read_output(output: StepOutput, path: Path) -> None:
    """Add what a step wrote to a file, of very much the begin and the end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        content = file.read(MOST_LOG)
        if size > MOST_LOG:
            content = content[: MOST_LOG // 2]
            file.seek(-(MOST_LOG // 2), os.SEEK_END)
            content += b"\n... [the middle of this log is left out]\n" + file.read()
    for line in (
        content.decode(errors="replace").replace("\r\n", "\n").split("\n")[: None if content[-1:] != b"\n" else -1]
    ):
        output.add(line.replace("\x00", "")[:_LONGEST_LINE])


def _properties(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {key.strip().lower(): _decoded(value) for key, _, value in pairs}


def _decoded(text: str) -> str:
    return re.sub(r"%(?:0D|0A|3A|2C|25)", lambda matched: _ESCAPES[matched[0].upper()], text, flags=re.IGNORECASE)


def _line(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"[1-9]\d{0,6}", text.strip()) else default


def read_variables(path: Path) -> dict[str, str]:
    """Return the variables of a file such as `$GITHUB_ENV`, which the step wrote: `NAME=text` or `NAME<<END`."""
    variables: dict[str, str] = {}
    lines = iter(read_lines(path))
    for line in lines:
        name, mark, end = line.partition("<<")
        if mark and "=" not in name:
            variables[name] = "\n".join(_until(lines, end))
        else:
            name, _, text = line.partition("=")
            variables[name] = text
    return {name: text for name, text in variables.items() if _NAME.fullmatch(name)}


def _until(lines: Iterator[str], end: str) -> Iterator[str]:
    for line in lines:
        if line == end:
            return
        yield line


def read_lines(path: Path) -> Sequence[str]:
    """Return the lines of a plain file that a step wrote; none of what is no plain file."""
    try:
        descriptor = os.open(path, _PLAIN)
    except OSError:
        return ()
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # `fdopen` of a folder fails
        return ()
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_READ)
    return [line for line in content.decode(errors="replace").replace("\x00", "").splitlines() if line]
