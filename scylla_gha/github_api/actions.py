"""GitHub Actions: workflow commands, the job's environment, and the runner's files for outputs and step summary.

The runner reads workflow commands from both output streams of a step: `::name key=value::text` at the beginning of a
line, and the older `##[name key=value]text` anywhere in it. A step summary is Markdown on the run's page. GitHub shows
none of it if it is larger than 1 MiB.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from scylla_gha.counting import counted, first_of
from scylla_gha.errors import ConfigError

Level = Literal["error", "warning", "notice"]
_ZERO_WIDTH_SPACE: Final = "\N{ZERO WIDTH SPACE}"
_COMMAND: Final = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)  # \s* would take quadratic time on line breaks
_OUTPUT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MAX_OUTPUT: Final = 500_000  # characters; GitHub silently drops a job's outputs above 1 MB of UTF-16
MAX_SUMMARY: Final = 1024 * 1024  # bytes
_NOTICE_BYTES: Final = 2_000  # reserved for the notice about the missing parts
_MAX_NAMED: Final = 12
_HEADING: Final = re.compile(r"(?:#{1,3} |<details><summary>)(.+?)(?:</summary>)?$", re.MULTILINE)
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")


def annotation(level: Level, message: str, title: str = "", file: str = "", line: int = 0) -> str:
    """Return the command that shows a message on the run's page; GitHub shows ten messages per level and step.

    Args:
        level: severity.
        message: the text.
        title: bold title above the message; empty: none.
        file: path in the repository; in a pull request, the message is shown at `line` of this file; empty: none.
        line: line number from 1; 0: none.
    """
    values = {"file": file, "line": str(line or ""), "title": title}
    options = [
        f"{key}={_escape_data(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in values.items() if value
    ]
    return f"::{level}{' ' if options else ''}{','.join(options)}::{_escape_data(message)}"


def mask_command(secret: str) -> str:
    """Return the command that hides a value in the rest of a job's log."""
    return f"::add-mask::{_escape_data(secret)}"


def escape_command(text: str) -> str:
    """Return untrusted text so that the runner finds no command in it; readers see no difference."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _COMMAND.sub(rf"\1:{_ZERO_WIDTH_SPACE}", lines).replace("##[", f"##{_ZERO_WIDTH_SPACE}[")


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


@dataclass(frozen=True, slots=True)
class JobFacts:
    """Run, attempt and runner files of a job; `summary` is None if the runner has no step summary."""

    run_id: int
    attempt: int
    outputs: Path
    summary: Path | None


def job_facts(environ: Mapping[str, str]) -> JobFacts:
    """Read the environment variables that the runner sets for every step.

    Raises:
        ConfigError: a variable is missing or malformed.
    """
    summary = environ.get("GITHUB_STEP_SUMMARY")
    return JobFacts(
        run_id=_number(environ, "GITHUB_RUN_ID"),
        attempt=_number(environ, "GITHUB_RUN_ATTEMPT"),
        outputs=Path(_required(environ, "GITHUB_OUTPUT")),
        summary=Path(summary) if summary else None,
    )


def _required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise ConfigError(f"--github: {name} is not set; use --github only in a workflow of GitHub Actions")
    return value


def _number(environ: Mapping[str, str], name: str) -> int:
    value = _required(environ, name)
    if not (value.isascii() and value.isdecimal() and int(value) > 0):
        raise ConfigError(f"--github: {name} must be a positive number, got {value!r}")
    return int(value)


def set_outputs(file: Path, values: Mapping[str, str]) -> None:
    """Set outputs of this step; `file` is the runner's GITHUB_OUTPUT.

    Raises:
        ConfigError: the runner would change or reject a name or value; then nothing is written.
    """
    text = "".join(_output(name, value) for name, value in values.items())
    with file.open("a", encoding="utf-8", newline="") as out:
        out.write(text)


def write_outputs(environ: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Set outputs of this step; do nothing outside of Actions, where GITHUB_OUTPUT is not set."""
    file = environ.get("GITHUB_OUTPUT", "")
    if file:
        set_outputs(Path(file), values)


def _output(name: str, value: str) -> str:
    """Return an output with its value between two lines of a random delimiter."""
    if not _OUTPUT_NAME.fullmatch(name):
        raise ConfigError(f"{name!r}: not an output name; use letters, digits, - and _")
    if (fault := _output_fault(value)) is not None:
        raise ConfigError(f"{name}: its value {fault}, so the runner cannot pass it on; write it to a file")
    delimiter = f"scylla-{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def _output_fault(value: str) -> str | None:
    if "\0" in value or "\r" in value:
        return "contains a NUL or a carriage return"
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        return "is not valid Unicode"
    if len(value) > _MAX_OUTPUT:
        return f"has {counted(len(value), 'character')}, more than {_MAX_OUTPUT:,}"
    return None


def add_summary(file: Path, markdown: str, whole: str, limit: int = MAX_SUMMARY) -> bool:
    """Append a page to this step's summary; return False if it was cut. A cut page has a notice.

    Args:
        file: the runner's GITHUB_STEP_SUMMARY.
        markdown: the page.
        whole: location of the whole page, for the notice.
        limit: maximum bytes of the summary, including the file's present content.
    """
    used = file.stat().st_size if file.exists() else 0
    page = fit_summary(markdown, max(0, limit - used), whole)
    with file.open("a", encoding="utf-8", newline="") as out:
        out.write(page)
    return page == markdown


def fit_summary(markdown: str, limit: int, whole: str) -> str:
    """Return the page if it fits into `limit` bytes, otherwise its first lines and a notice; "" if neither fits."""
    size = len(markdown.encode())
    if size <= limit:
        return markdown
    lines = markdown.splitlines(keepends=True)
    count = _fitting_lines(lines, limit - _NOTICE_BYTES)
    missing = [heading.group(1).strip() for line in lines[count:] if (heading := _HEADING.match(line))]
    head = "".join(lines[:count])
    page = f"{head}{_closing_marks(head)}\n{_notice(size - len(head.encode()), size, missing, whole)}\n"
    return page if len(page.encode()) <= limit else ""


def _fitting_lines(lines: Sequence[str], limit: int) -> int:
    """Return how many of the first lines fit."""
    used = 0
    for number, line in enumerate(lines):
        used += len(line.encode())
        if used > limit:
            return number
    return len(lines)


def _closing_marks(head: str) -> str:
    """Return the text that closes an open code fence and open `<details>`."""
    fence = ""
    open_details = 0
    for line in head.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and line.strip() == mark.group(1) and mark.group(1).startswith(fence):
            fence = ""
        elif not fence:
            open_details += line.count("<details") - line.count("</details>")
    return (f"{fence}\n" if fence else "") + "\n</details>\n" * max(0, open_details)


def _notice(lost: int, size: int, parts: Sequence[str], whole: str) -> str:
    names = first_of((part[:80] for part in parts), _MAX_NAMED, "; ")
    missing = f" These parts are missing: {names}." if parts else ""
    return (
        f"> **Cut here**: {lost:,} of {counted(size, 'byte')} did not fit into a step summary of "
        f"{MAX_SUMMARY:,} bytes.{missing} The whole page is in {whole}."
    )
