"""Read rows and files from another machine safely: no links, no devices, limited sizes, and consistent values.

Rows from the hub and from github.com are never counted together. The hub follows GitHub's documentation, answers at
once and refuses nobody, so a difference between the two may come from the server instead of the agent.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.result import Result

if TYPE_CHECKING:
    from scylla_gha.model.report import Report

LINE_BYTES: Final = 64 * 1024
_VERSION: Final = Result.model_fields["schema_version"].default
_MOST: Final = 2**53  # larger than any count; tables cannot store larger integers exactly
_VERDICT: Final = ("passed", "score", "grade", "progress")


class UntrustedFileError(Exception):
    """A received file is not valid; the message says why. `collect` reports it as a refused artifact."""


def list_files(folder: Path, most: int) -> list[str]:
    """Return the sorted names in a real folder.

    Raises:
        UntrustedFileError: the path is a link or not a folder, or the folder has more than `most` entries.
    """
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise UntrustedFileError("is not a folder")
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > most:
                raise UntrustedFileError(f"holds more than {counted(most, 'file')}")
    return sorted(names)


@contextlib.contextmanager
def open_file(path: Path, most: int) -> Iterator[BufferedReader]:
    """Open a regular file of at most `most` bytes that has no other hard link.

    The file is checked before opening, since opening a device or a pipe has effects, and again afterwards.

    Raises:
        UntrustedFileError: the file is missing, too large, or not a regular file without hard links.
    """
    name = path.name
    try:
        _check(name, path.lstat(), most)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UntrustedFileError(f"{name} is missing") from None
    except OSError as error:
        raise UntrustedFileError(f"{name} cannot be read: {error.strerror}") from None
    with open(handle, "rb") as file:  # noqa: PTH123 of a descriptor
        _check(name, os.fstat(file.fileno()), most)
        yield file


def _check(name: str, status: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UntrustedFileError(f"{name} is a {_kind(status.st_mode)}, not a file")
    if status.st_nlink > 1:
        raise UntrustedFileError(f"{name} is a hard link")
    if status.st_size > most:
        raise UntrustedFileError(f"{name} has {counted(status.st_size, 'byte')}; at most {most:,} were expected")


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISLNK, "link"), (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    return next((name for is_one, name in kinds if is_one(mode)), "device")


def read_lines_limited(file: BufferedReader, most: int) -> Iterator[bytes]:
    """Yield the lines of a file, each at most `most` bytes long.

    Raises:
        UntrustedFileError: a line is longer, or the last one is cut.
    """
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if not line.endswith(b"\n"):
            raise UntrustedFileError(
                f"line {number} is longer than {counted(most, 'byte')}"
                if len(line) > most
                else f"line {number} has no end: the file is cut"
            )
        yield line


def printable_excerpt(text: str) -> str:
    """Return an untrusted name quoted, cut, and in ASCII."""
    return ascii(text[:80])


def parse_row(line: bytes, number: int) -> Result:
    """Parse the row in a line.

    Raises:
        UntrustedFileError: the line is not a row, or contradicts itself.
    """
    try:
        row = Result.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = printable_excerpt(".".join(str(part) for part in first["loc"]))
        raise UntrustedFileError(f"line {number} is not a row: {where}: {first['msg'][:200]}") from None
    fault = row_fault(row)
    if fault:
        raise UntrustedFileError(f"line {number}: {fault}")
    return row


def row_fault(row: Result) -> str | None:
    """Return why this version of the toolkit cannot have written a row; None if it can."""
    if row.schema_version != _VERSION:
        return f"its schema version is {row.schema_version}, not {_VERSION}; use one version of the toolkit"
    if row.measures_agent != row.outcome.measures_agent:
        return f"measures_agent does not follow from its outcome, {row.outcome}"
    if row.judged and (not row.measures_agent or row.passed is None):
        return "it is judged, but has no verdict on an agent"
    if not row.judged and any(getattr(row, name) is not None for name in _VERDICT):
        return "it has a verdict, but is not judged"
    if row.started_at is not None and row.started_at.tzinfo is None:
        return "started_at has no time zone"
    return _number_fault(row)


def _number_fault(row: Result) -> str | None:
    for name, value in row:
        numbers: Iterable[object] = value.values() if isinstance(value, dict) else (value,)
        for number in numbers:
            if isinstance(number, int | float) and not 0 <= number <= _MOST:
                return f"{name} is out of range"
    return None


def mismatch(row: Result, cell: Cell, plan: Plan, arm: Arm) -> str | None:
    """Return a message about the first value of a row that differs from its cell's plan, or None."""
    planned: dict[str, object] = {
        "experiment": plan.experiment.id,
        "epoch": plan.epoch,
        "key": cell.key,
        "scenario": cell.scenario,
        "arm": cell.arm,
        "repetition": cell.repetition,
        "agent": arm.agent,
        "model": arm.model,
        "variant": arm.variant.id if arm.variant else None,
        **({"judging": plan.judging[cell.scenario]} if row.judged and cell.scenario in plan.judging else {}),
    }
    if row.github not in (None, "hub"):
        return f"{cell.id}: its github is not the planned one"
    for name, value in planned.items():
        if getattr(row, name) != value:
            return f"{cell.id}: its {name} is not the planned one"
    return None


def of_same_github(rows: Iterable[Result], name: str) -> Iterator[Result]:
    """Yield the rows; refuse a mix of rows from the hub and from github.com.

    Args:
        rows: rows that are counted together.
        name: name of their file, run or files, for the message.

    Raises:
        ConfigError: some rows are from the hub, and some from github.com.
    """
    first: Result | None = None
    for row in rows:
        if row.github is not None:
            first = first or row
            if row.github != first.github:
                raise ConfigError(
                    f"{name}: {_where(first)}, {_where(row)}. Trials of the two are never compared or "
                    "counted together; choose runs with one value of `github`"
                )
        yield row


def _where(row: Result) -> str:
    return f"{row.cell} ran on {'the hub' if row.github == 'hub' else row.github}"


def require_same_github(rows: Iterable[Result], name: str) -> None:
    """Check that rows from the hub and from github.com are not counted together.

    Raises:
        ConfigError: some rows are from the hub, and some from github.com.
    """
    for _ in of_same_github(rows, name):
        pass


def reports_of_same_github(reports: Sequence[tuple[str, "Report"]]) -> list[tuple[str, "Report"]]:
    """Keep the reports that do not use GitHub, or use the same GitHub as the newest report that does.

    `reports` are pairs of name and report, oldest first.
    """
    newest = next((report.github for _, report in reversed(reports) if report.github), None)
    return [(name, report) for name, report in reports if report.github in (None, newest)]
