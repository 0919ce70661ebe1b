"""Run of a test command in the check box, and the lines that it writes."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scylla_gha.errors import SandboxError
from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.prepare.workspace import scratch
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.recorded_tests import TestOutcome
from scylla_gha.sandboxes.base import SandboxMounts
from scylla_gha.system.process import Cancel, FinishedProcess, LimitHit, ProcessLimits, ProcessStreams

_MOST_BYTES: Final = 512 * 1024 * 1024  # of a file that the tests' process wrote
_OUTPUT_CHARS: Final = 4000
_OUTCOMES: Final = "outcomes.jsonl"
_LINES: Final = "lines.json"


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Time limits in seconds: of a run of all tests, and of one test."""

    run: float = 600.0
    test: float = 60.0


@dataclass(frozen=True, slots=True)
class BoxRun:
    """Test command's end.

    Attributes:
        outcomes: of tests that ended, by id.
        collected: ids of all tests that were to run, in order; empty if collecting them did not end.
        started: test that was started last; None: none was.
        broken: error of each file that cannot be imported.
        measured: content of the file of executed lines; b"" if there is none.
        seconds: wall time.
        timed_out: the time limit ended it.
        output: end of what it printed.
        by_request: outcomes of the requests that ended, by number, if the command ran several.
    """

    outcomes: Mapping[str, TestOutcome]
    collected: tuple[str, ...]
    started: str | None
    broken: Mapping[str, str]
    measured: bytes
    seconds: float
    timed_out: bool
    output: str
    by_request: Mapping[int, Mapping[str, TestOutcome]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoxCommand:
    """Test command with its limits.

    Attributes:
        text: for /bin/sh, in the root of a copy of the tree.
        programs: texts of files in $CHECKS.
        measured: the executed lines are written to $LINES.
    """

    text: str
    programs: Mapping[str, str]
    limits: RunLimits
    measured: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoxFolders:
    """Folders of a box: a copy of the tree, the tests' home, their programs, and what they print."""

    work: Path
    home: Path
    checks: Path
    streams: ProcessStreams


@contextmanager
def box_folders(environment: CodeEnvironment, tree: Path, programs: Mapping[str, str]) -> Iterator[BoxFolders]:
    """Make the folders of a box, and remove them afterwards."""
    with scratch() as root:
        work, home, checks = (root / name for name in ("workspace", "home", "checks"))
        copy_tree(tree, environment.files, work)
        home.mkdir()
        checks.mkdir()
        for name, text in programs.items():
            (checks / name).write_text(text, encoding="utf-8")
        yield BoxFolders(work, home, checks, ProcessStreams(root / "stdout", root / "stderr"))


def run_in_box(environment: CodeEnvironment, tree: Path, command: BoxCommand, cancel: Cancel | None = None) -> BoxRun:
    """Run a test command in a copy of a tree, in a new sandbox without network.

    Raises:
        SandboxError: the sandbox cannot be started, or was lost.
        KeyboardInterrupt: the user interrupted.
    """
    with box_folders(environment, tree, command.programs) as folders:
        finished = run_command(environment, command, folders, cancel)
        if finished.cancelled:
            raise KeyboardInterrupt
        if LimitHit.LOST in finished.hits:
            raise SandboxError(f"the box of the tests was lost: {finished.note}")
        lines = list(read_lines(folders.home / _OUTCOMES))
        streams = (folders.streams.stdout, folders.streams.stderr)
        printed = "".join(_read_file(path).decode(errors="replace") for path in streams)
        return BoxRun(
            outcomes=outcomes_of(line for line in lines if "request" not in line),
            collected=tuple(next((line["collected"] for line in lines if _is_list(line.get("collected"))), ())),
            started=next((str(line["start"]) for line in reversed(lines) if "start" in line), None),
            broken={str(line["broken"]): str(line.get("output", "")) for line in lines if "broken" in line},
            measured=_read_file(folders.home / _LINES) if command.measured else b"",
            seconds=finished.seconds,
            timed_out=finished.timed_out,
            output=f"{printed}\n{finished.note}".strip()[-_OUTPUT_CHARS:],
            by_request=_by_request(lines),
        )


def run_command(
    environment: CodeEnvironment, command: BoxCommand, folders: BoxFolders, cancel: Cancel | None
) -> FinishedProcess:
    """Run a test command in the sandbox; its programs are in their folder already.

    Raises:
        SandboxError: the sandbox cannot be started.
    """
    extra = {
        "CHECKS": str(folders.checks),
        "OUTCOMES": str(folders.home / _OUTCOMES),
        "TEST_SECONDS": f"{command.limits.test:g}",
    }
    if command.measured:
        extra["LINES"] = str(folders.home / _LINES)
    mounts = SandboxMounts(
        folders.work, folders.home, environment.path, {**extra, **command.extra}, read_only=(folders.checks,),
        image=environment.target.image, programs=environment.programs,
    )  # fmt: skip
    argv, limits = ("/bin/sh", "-c", command.text), ProcessLimits(command.limits.run)
    return environment.target.sandbox.run(argv, mounts, folders.streams, limits, cancel)


def copy_tree(tree: Path, files: Mapping[str, bytes], into: Path) -> None:
    """Copy a tree without its git directory to a new folder, and add files that it has not."""
    shutil.copytree(tree, into, symlinks=True, ignore=lambda _, names: [name for name in names if name == ".git"])
    for name, content in files.items():
        path = into / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read the objects of a file of JSON lines; those that are cut off are left out."""
    for line in _read_file(path).splitlines():
        try:
            record = parse_json(line)
        except InvalidJsonError:  # cut off, when the process was killed
            continue
        if isinstance(record, dict):
            yield record


def outcomes_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, TestOutcome]:
    """Return the outcomes that lines of a program tell, by the test's id."""
    return {
        str(line["id"]): TestOutcome(line["passed"], "" if line["passed"] else str(line.get("output"))[-_OUTPUT_CHARS:])
        for line in lines
        if isinstance(line.get("passed"), bool) and "id" in line
    }


def _by_request(lines: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, TestOutcome]]:
    by_number: dict[int, list[Mapping[str, Any]]] = {}
    for line in lines:
        if isinstance(line.get("request"), int):
            by_number.setdefault(line["request"], []).append(line)
    return {number: outcomes_of(own) for number, own in by_number.items() if any("ended" in line for line in own)}


def _is_list(texts: object) -> bool:
    return isinstance(texts, list) and all(isinstance(text, str) for text in texts)


def _read_file(path: Path) -> bytes:
    """Read a plain file; tests may have put a link or a pipe in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MOST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def changes_between(tree: Path, variant: Path) -> dict[str, str | None]:
    """Return the text of each file of a variant that differs from the tree, None if it is missing there.

    Content that is not UTF-8 is kept by surrogates. Links count as equal.
    """
    if tree == variant:
        return {}
    before, after = (_plain_files(folder) for folder in (tree, variant))
    changed = (path for path, file in after.items() if path not in before or not _is_same(before[path], file))
    texts: dict[str, str | None] = {path: after[path].read_bytes().decode(errors="surrogateescape") for path in changed}
    return {**texts, **dict.fromkeys(before.keys() - after.keys())}


def _plain_files(folder: Path) -> dict[str, Path]:
    return {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and ".git" not in path.relative_to(folder).parts
    }


def _is_same(first: Path, second: Path) -> bool:
    return first.samefile(second) or (
        first.stat().st_size == second.stat().st_size and first.read_bytes() == second.read_bytes()
    )
