"""Records to files and back, atomically; the only place that knows the names in a run's folder.

```
runs/<experiment>/
  plan.json                what was to be run
  <cell>/
    cell.json              which cell this is, under which key
    trial.json             the outcome, with all attempts
    judgment.json          checks, items, score
    attempt-1/             attempt.json, prompt.md, transcript.jsonl, stderr.txt, trajectory.json, diff.patch
  results.jsonl            one row per trial
  report.json  report.md
  old/                     cells under keys that are no longer planned
```
A file is either whole or absent: it is written beside its place and renamed into it, so a killed process leaves at
most a `*.tmp`.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.model.record import Record

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one experiment's run."""

    root: Path

    @property
    def plan(self) -> Path:
        """The plan's file."""
        return self.root / "plan.json"

    @property
    def results(self) -> Path:
        """The rows' file."""
        return self.root / "results.jsonl"

    def report(self, suffix: str) -> Path:
        """The report as `json` or `md`."""
        return self.root / f"report.{suffix}"

    def aside(self, cell: str, key: str) -> Path:
        """A free place for records of a cell under another key."""
        first = self.root / "old" / f"{cell}--{key[:8]}"
        places = (first, *(first.with_name(f"{first.name}-{number}") for number in range(2, 10_000)))
        return next(place for place in places if not place.exists())

    def cell(self, cell: str) -> "CellFolder":
        """The folder of a cell."""
        return CellFolder(self.root / cell)


@dataclass(frozen=True, slots=True)
class CellFolder:
    """The folder of one cell."""

    root: Path

    @property
    def cell(self) -> Path:
        """The cell's own file, written before any work on it begins."""
        return self.root / "cell.json"

    @property
    def trial(self) -> Path:
        """The trial's file."""
        return self.root / "trial.json"

    @property
    def judgment(self) -> Path:
        """The judgment's file."""
        return self.root / "judgment.json"

    def attempt(self, number: int) -> "AttemptFolder":
        """The folder of an attempt, counted from 1."""
        return AttemptFolder(self.root / f"attempt-{number}")

    def attempts(self) -> list["AttemptFolder"]:
        """The attempts that were started, in order; a folder that a person copied beside them is none."""
        found = [AttemptFolder(path) for path in self.root.glob("attempt-*") if path.name[8:].isdecimal()]
        return sorted(found, key=lambda attempt: attempt.number)


@dataclass(frozen=True, slots=True)
class AttemptFolder:
    """The folder of one start of the agent."""

    root: Path

    @property
    def number(self) -> int:
        """Counted from 1."""
        return int(self.root.name.removeprefix("attempt-"))

    def file(self, name: str) -> Path:
        """One of the files named in the module's docstring."""
        return self.root / name


def write_text(path: Path, text: str) -> None:
    """Write a whole file atomically, with its folders."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file atomically, with its folders."""
    with atomic(path) as temporary:
        temporary.write_bytes(data)


def write_record(path: Path, record: Record) -> None:
    """Write a record as JSON that a person can read."""
    write_text(path, record.model_dump_json(indent=1) + "\n")


def write_lines(path: Path, records: Iterable[Record]) -> None:
    """Write records as JSON lines."""
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(record.model_dump_json() + "\n" for record in records)


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_record(path: Path, kind: type[R]) -> R | None:
    """The record in a file, or None where there is no file.

    Raises:
        ConfigError: the file is no such record.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder, not a file; move it away to go on") from None
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        message = f"{path}: not a {kind.__name__} of this version: {where}: {first['msg']}; move the file away to go on"
        raise ConfigError(message) from None


def read_lines(path: Path, kind: type[R]) -> Iterator[R]:
    """The records in a file of JSON lines.

    Raises:
        ConfigError: there is no such file, or a line is no such record.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield kind.model_validate_json(line)
                except ValidationError as error:
                    raise ConfigError(f"{path}:{number}: not a {kind.__name__}: {error.errors()[0]['msg']}") from None
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; run `scylla-gha collect` first") from None
