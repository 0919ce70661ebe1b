"""Records to files and back, atomically; the only place that knows the names in a run's folder.

```
runs/<experiment>/
  plan.json                what was to be run
  <cell>/
    cell.json              which cell this is, under which key
    trial.json             the outcome, with all attempts
    judgment.json          checks, items, score
    judgments/             judgments under other keys: by other judges, in other words, by another rubric
    attempt-1/             attempt.json, prompt.md, transcript.jsonl, stderr.txt, trajectory.json, diff.patch,
                           traffic.jsonl, first-request.json, network.jsonl, and by --keep-workspaces
                           workspace/, workspace-left-out.txt
  controls/<scenario or cell>/   what each judge's controls found, and their traffic
  results.jsonl            one row per trial
  controls.jsonl           one row per judge and scenario or trial that was controlled
  report.json  report.md
  unstarted.json           cells that a run did not start, and why; not there where it started all
  refused.json             what came of the rows that jobs sent: what was refused, what is missing
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
from typing import IO, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.record import Record, slug

JUDGE_TRAFFIC: Final = "judge-traffic.jsonl"  # in an attempt's folder
R = TypeVar("R", bound=Record)
T = TypeVar("T")


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

    @property
    def controls(self) -> Path:
        """The file of the controls' rows."""
        return self.root / "controls.jsonl"

    def probe(self, subject: str, judge: str, key: str) -> Path:
        """The file of one judge's controls on a scenario or a cell."""
        return self.root / "controls" / subject / f"{slug(judge)}--{key[:8]}.json"

    def probes(self) -> list[Path]:
        """The files of all controls, in order."""
        return sorted(self.root.glob("controls/*/*.json"))

    def report(self, suffix: str) -> Path:
        """The report as `json` or `md`."""
        return self.root / f"report.{suffix}"

    @property
    def unstarted(self) -> Path:
        """The file of what the last run did not start."""
        return self.root / "unstarted.json"

    @property
    def refused(self) -> Path:
        """The file of what came of rows that other machines sent."""
        return self.root / "refused.json"

    def journals(self, name: str) -> list[Path]:
        """All files of that name of the run's attempts, of cells that were put aside as well."""
        return sorted({*self.root.glob(f"*/attempt-*/{name}"), *self.root.glob(f"old/*/attempt-*/{name}")})

    def judgment_records(self) -> list[tuple[Path, Path]]:
        """All judgments of the run, of cells that were put aside as well, each with its cell's folder."""
        cells = [*self.root.glob("*/"), *self.root.glob("old/*/")]
        found = [(path, cell) for cell in cells for path in (cell / "judgment.json", *cell.glob("judgments/*.json"))]
        return sorted(pair for pair in found if pair[0].exists())

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

    def judgment_aside(self, key: str) -> Path:
        """The file of a judgment that is not, or no longer, as the experiment says."""
        return self.root / "judgments" / f"{key[:8]}.json"

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


def find_judgment(place: CellFolder, key: str) -> Judgment | None:
    """The cell's judgment under this key, wherever it lies.

    Raises:
        ConfigError: a stored record is not what it must be.
    """
    found = (read_record(path, Judgment) for path in (place.judgment, place.judgment_aside(key)))
    return next((judgment for judgment in found if judgment and judgment.key == key), None)


def keep_judgment(place: CellFolder, made: Judgment, *, stands: bool) -> None:
    """Keep a judgment: the one that stands in `judgment.json`, and every other beside it; all were paid for.

    Raises:
        ConfigError: a stored record is not what it must be.
    """
    aside = place.judgment_aside(made.key)
    target = place.judgment if stands else aside
    earlier = read_record(target, Judgment)
    if earlier is not None and earlier.key != made.key:
        write_record(place.judgment_aside(earlier.key), earlier)
    if earlier != made:
        write_record(target, made)
    if stands:
        aside.unlink(missing_ok=True)


def traffic_of(probe: Path) -> Path:
    """The journal of what the controls in a file asked."""
    return probe.with_suffix(".traffic.jsonl")


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
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a disk that is full does not say where it is
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


def read_journal(path: Path, line: TypeAdapter[T], what: str) -> list[T]:
    """The records of a file that is written line by line, in order of time; none where there is no file.

    Args:
        path: of the file.
        line: what each is.
        what: they tell of, for the message.

    Raises:
        ConfigError: a line other than a torn last one is no such record.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    records = []
    if not b"{".startswith(lines[-1][:1]):  # what follows the last line's end is torn or empty
        raise ConfigError(f"{path}: ends in what is no record of {what}; move the file away to go on")
    for number, content in enumerate(lines[:-1], start=1):
        try:
            records.append(line.validate_json(content))
        except ValidationError as error:
            message = f"{path}:{number}: no record of {what}: {error.errors()[0]['msg']}; move the file away to go on"
            raise ConfigError(message) from None
    return records


def open_journal(path: Path) -> IO[bytes]:
    """Open a journal for appending, unbuffered; a torn last line goes, and folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+b", buffering=0)
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    return file
