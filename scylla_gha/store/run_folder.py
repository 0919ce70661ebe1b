"""Paths, judgments, digests and the lock of an experiment's run folder; no other module knows these file names.

```
runs/<experiment>/
  plan.json                cells to run
  shards.json              which job runs which cells, if the run is done in shards
  reused.jsonl             rows of earlier runs, whose cells are not run again
  <cell>/
    cell.json              the cell and its key
    trial.json             the outcome, with all attempts
    judgment.json          checks, items, score
    judgments/             judgments under other keys: other judges, prompts or rubrics
    attempt-1/             attempt.json, prompt.md, transcript.jsonl, stderr.txt, trajectory.json, diff.patch,
                           traffic.jsonl, first-request.json, network.jsonl, with GitHub state github.json,
                           github.bundle, github-requests.jsonl, and with --keep-workspaces workspace/,
                           workspace-left-out.txt
  shards/<NNN>/
    results.jsonl          the rows of that shard's cells, rewritten after each cell
    manifest.json          count and digest of the rows, and the cells that were not started
  controls/<scenario or cell>/   results of each judge's controls, and their traffic
  results.jsonl            one row per trial
  controls.jsonl           one row per judge and scenario or trial that was controlled
  report.json  readiness.json  report.md  report.html  glossary.md  charts/<name>.svg
  profile-rows.jsonl       one line per trial, appended when it is done; profile-rows-<NNN>.jsonl: of a shard
  unstarted.json  refused.json   cells that a run did not start, and why; rows of jobs that were refused or missing
  old/                     cells under keys that are no longer planned
```
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import click

from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model import FileDigest, slug
from scylla_gha.model.judgment import JudgeControl, Judgment
from scylla_gha.model.plan import Plan, WavePacking, shard_name
from scylla_gha.model.trial import Attempt
from scylla_gha.store import digest_mismatch, file_digest, read_record, write_record

JUDGE_TRAFFIC: Final = "judge-traffic.jsonl"  # in an attempt's folder
# Files of an attempt without a digest in its record: the record itself, and the log that later judgments append to.
_WITHOUT_DIGEST: Final = frozenset({"attempt.json", JUDGE_TRAFFIC})


class _Folder(Protocol):
    @property
    def root(self) -> Path: ...


class PathBelow:
    """A file's path below the `root` of a folder."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: _Folder, owner: object = None) -> Path:
        """Return the path."""
        return folder.root / self._name


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths in the folder of one experiment's run."""

    root: Path
    plan = PathBelow("plan.json")
    results = PathBelow("results.jsonl")  # one row per trial
    controls = PathBelow("controls.jsonl")  # one row per judge and subject
    unstarted = PathBelow("unstarted.json")
    refused = PathBelow("refused.json")
    glossary = PathBelow("glossary.md")
    charts = PathBelow("charts")
    forest = PathBelow("charts/forest.svg")

    def probe(self, subject: str, judge: str, key: str) -> Path:
        """Return the path of one judge's controls on a scenario or a cell."""
        return self.root / "controls" / subject / f"{slug(judge)}--{key[:8]}.json"

    def probes(self) -> list[Path]:
        """Return the paths of all controls, sorted."""
        return sorted(self.root.glob("controls/*/*.json"))

    def report(self, suffix: str) -> Path:
        """Return the path of the report, as `json`, `md` or `html`."""
        return self.root / f"report.{suffix}"

    def journals(self, name: str) -> list[Path]:
        """Return all files of that name in the run's attempts, including those of archived cells."""
        return sorted({*self.root.glob(f"*/attempt-*/{name}"), *self.root.glob(f"old/*/attempt-*/{name}")})

    def judgment_records(self) -> list[tuple[Path, Path]]:
        """Return all judgments of the run, including archived cells, each with its cell's folder."""
        cells = [*self.root.glob("*/"), *self.root.glob("old/*/")]
        records = [(path, cell) for cell in cells for path in (cell / "judgment.json", *cell.glob("judgments/*.json"))]
        return sorted(pair for pair in records if pair[0].exists())

    def archive_path(self, cell: str, key: str) -> Path:
        """Return a free path for archived records of a cell under another key."""
        first = self.root / "old" / f"{cell}--{key[:8]}"
        paths = (first, *(first.with_name(f"{first.name}-{number}") for number in range(2, 10_000)))
        return next(path for path in paths if not path.exists())

    def cell(self, cell: str) -> "CellFolder":
        """Return the folder of a cell."""
        return CellFolder(self.root / cell)


@dataclass(frozen=True, slots=True)
class CellFolder:
    """Paths in the folder of one cell."""

    root: Path
    cell = PathBelow("cell.json")  # written before any work on the cell
    trial = PathBelow("trial.json")
    judgment = PathBelow("judgment.json")

    def other_judgment(self, key: str) -> Path:
        """Return the path of a judgment that is not the experiment's current one."""
        return self.root / "judgments" / f"{key[:8]}.json"

    def attempt(self, number: int) -> "AttemptFolder":
        """Return the folder of an attempt, counted from 1."""
        return AttemptFolder(self.root / f"attempt-{number}")

    def attempts(self) -> list["AttemptFolder"]:
        """Return the started attempts in order; folders with other names are skipped."""
        folders = [AttemptFolder(path) for path in self.root.glob("attempt-*") if path.name[8:].isdecimal()]
        return sorted(folders, key=lambda attempt: attempt.number)


@dataclass(frozen=True, slots=True)
class AttemptFolder:
    """Paths in the folder of one start of the agent."""

    root: Path

    @property
    def number(self) -> int:
        """Number of the attempt, from 1."""
        return int(self.root.name.removeprefix("attempt-"))

    def file(self, name: str) -> Path:
        """Return the path of one of the files named in the module's docstring."""
        return self.root / name


def find_judgment(folder: CellFolder, key: str) -> Judgment | None:
    """Return the cell's judgment under this key, or None.

    Raises:
        ConfigError: a stored record is invalid.
    """
    judgments = (read_record(path, Judgment) for path in (folder.judgment, folder.other_judgment(key)))
    return next((judgment for judgment in judgments if judgment and judgment.key == key), None)


def keep_judgment(folder: CellFolder, judgment: Judgment, *, stands: bool) -> None:
    """Store a judgment: the current one in `judgment.json`, others in `judgments/`, since all of them cost money.

    Raises:
        ConfigError: a stored record is invalid.
    """
    aside = folder.other_judgment(judgment.key)
    target = folder.judgment if stands else aside
    earlier = read_record(target, Judgment)
    if earlier is not None and earlier.key != judgment.key:
        write_record(folder.other_judgment(earlier.key), earlier)
    if earlier != judgment:
        write_record(target, judgment)
    if stands:
        aside.unlink(missing_ok=True)


def traffic_of(probe: Path) -> Path:
    """Return the path of the request log of a control."""
    return probe.with_suffix(".traffic.jsonl")


def lock_run(folder: Path, *, shared: bool = False) -> None:
    """Lock the run folder until the command ends; create the folder if it is missing.

    Two commands in one folder would pay for the same cells twice. The kernel's lock on the folder needs no file and
    ends with its process. Jobs of several shards share the folder; each shard has a separate lock.

    Args:
        folder: the run folder.
        shared: allow other commands to hold a shared lock at the same time.

    Raises:
        RefusedError: another process holds the lock.
    """
    click.get_current_context().with_resource(_held(folder, shared=shared))


@contextlib.contextmanager
def _held(folder: Path, *, shared: bool) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                process = lock_holder(os.fstat(descriptor)) or "another process"
                raise RefusedError(
                    f"{folder}: {process} is at work in it; wait until it ends, or give another folder by --runs; "
                    "nothing was started"
                ) from None
        yield
    finally:
        os.close(descriptor)


def lock_holder(folder: os.stat_result) -> str | None:
    """Describe the process that holds the lock of a folder, or return None if the kernel's table of locks has none.

    It reads the table, since trying the lock would take it.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1:2] == ["FLOCK"] and fields[5].rpartition(":")[2] == str(folder.st_ino):
                try:
                    argv = Path("/proc", fields[4], "cmdline").read_bytes().decode(errors="replace").split("\0")
                except OSError:
                    return "another process"
                return f"process {fields[4]} ({' '.join(argv).strip()})"
    return None


@dataclass(frozen=True, slots=True)
class ShardPaths:
    """Paths in the folder of one shard."""

    root: Path
    rows = PathBelow("results.jsonl")
    manifest = PathBelow("manifest.json")


@dataclass(frozen=True, slots=True)
class WavePaths:
    """Paths of a wave; `root` is the run's folder."""

    root: Path
    packing = PathBelow("shards.json")
    reused = PathBelow("reused.jsonl")

    def shard(self, number: int) -> ShardPaths:
        """Return the folder of a shard."""
        return ShardPaths(self.root / "shards" / shard_name(number))


def stored_plan(folder: RunFolder) -> Plan:
    """Read the plan in a run's folder.

    Raises:
        ConfigError: the folder has no plan.
    """
    plan = read_record(folder.plan, Plan)
    if plan is None:
        raise ConfigError(
            f"{folder.plan}: there is no plan; run `scylla-gha evaluate {folder.root.name}` first, or "
            "`plan`, to run it step by step"
        )
    return plan


def stored_packing(folder: RunFolder) -> WavePacking:
    """Read the wave of a run's folder.

    Raises:
        ConfigError: there is no wave, or it does not belong to the plan in the folder.
    """
    path = WavePaths(folder.root).packing
    packing = read_record(path, WavePacking)
    if packing is None:
        raise ConfigError(f"{path}: there is no such file; `scylla-gha plan {folder.root.name} --github` writes it")
    if packing.plan != hashlib.sha256(folder.plan.read_bytes()).hexdigest():
        raise ConfigError(
            f"{path}: is of another plan than {folder.plan.name} beside it; take both files from the same plan job"
        )
    return packing


def file_digests(folder: AttemptFolder) -> dict[str, FileDigest]:
    """Compute the digests of an attempt's files, by name."""
    files = sorted(path for path in folder.root.iterdir() if path.name not in _WITHOUT_DIGEST)
    return {
        path.name: file_digest(path)
        for path in files
        if not path.name.startswith(".") and path.is_file() and not path.is_symlink()
    }


def require_log_digests(folder: RunFolder) -> int:
    """Require that the request logs, which prove the cost of a run, match their digests.

    Returns the number of attempts without digests, which older versions stored.

    Raises:
        ConfigError: a request log differs from its digest, so the amount spent is unknown.
    """
    paths = folder.journals("attempt.json")
    attempts = [(path, attempt) for path in paths if (attempt := read_record(path, Attempt))]
    logs = [(path.with_name("traffic.jsonl"), attempt.files.get("traffic.jsonl")) for path, attempt in attempts]
    for path, digest in (*logs, *_judge_logs(folder)):
        if reason := digest_mismatch(path, digest):
            raise ConfigError(
                f"{reason}, so what was spent is not known; restore it, or begin anew elsewhere by --runs"
            )
    return sum(not attempt.files for _, attempt in attempts)


def _judge_logs(folder: RunFolder) -> Iterator[tuple[Path, FileDigest | None]]:
    for path, cell in folder.judgment_records():
        judgment = read_record(path, Judgment)
        yield from ((cell / name, digest) for name, digest in (judgment.files if judgment else {}).items())
    for path in folder.probes():
        control = read_record(path, JudgeControl)
        yield traffic_of(path), control.traffic if control else None
