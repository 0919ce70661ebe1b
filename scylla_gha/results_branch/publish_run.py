"""Publish a run exactly once: compress its rows, write a manifest, and push both, with retries.

The server refuses a push if another job was faster; then the commit is created again on top of the other job's commit.
"""

import datetime
import gzip
import hashlib
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import scylla_gha
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GitHubError
from scylla_gha.model import Record, digest, known_sum
from scylla_gha.model.plan import Plan
from scylla_gha.model.publication import Origin, RunFile, RunIndexEntry, RunManifest, RunName
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.results_branch.clone import BranchClone, TemporaryCloneError
from scylla_gha.results_branch.stored_runs import INDEX, index_entry, recent_entries

_MAX_ENTRIES: Final = 2_900  # of a folder: GitHub advises at most 3,000
_PART_ROWS: Final = 5_000  # about half a megabyte


@dataclass(frozen=True, slots=True)
class PackedRun:
    """Files of a run by name, without their manifest; their descriptions; and a digest of their content."""

    files: Mapping[str, bytes]
    parts: tuple[RunFile, ...]
    content: str


def pack_run(
    results: Path, report: Path, pages: Mapping[str, bytes] | None = None, part_rows: int = _PART_ROWS
) -> PackedRun:
    """Pack the report and the rows of a run; the rows are split into compressed parts.

    Args:
        results: file of the rows.
        report: file of the report.
        pages: further files for people, by name; the run's content digest does not cover them.
        part_rows: maximum number of rows in a part.

    Raises:
        ConfigError: there are no rows, or no report.
    """
    for path in (results, report):
        if not path.is_file():
            raise ConfigError(
                f"{path}: there is no such file; run `scylla-gha collect` and `scylla-gha aggregate` first"
            )
    text = report.read_bytes()
    files, parts, rows = {"report.json": text}, [_part("report.json", text)], hashlib.sha256()
    with results.open("rb") as lines:
        for number in itertools.count():
            chunk = list(itertools.islice(lines, part_rows))
            if not chunk:
                break
            plain, name = b"".join(chunk), f"rows-{number:03d}.jsonl.gz"
            rows.update(plain)
            files[name] = gzip.compress(plain, 6, mtime=0)
            parts.append(_part(name, files[name], len(chunk)))
    for name, page in (pages or {}).items():
        files[name] = page
        parts.append(_part(name, page))
    return PackedRun(files, tuple(parts), digest([rows.hexdigest(), hashlib.sha256(text).hexdigest()]))


def _part(name: str, content: bytes, rows: int | None = None) -> RunFile:
    return RunFile(name=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest(), rows=rows)


@dataclass(frozen=True, slots=True)
class RunToPublish:
    """A run to publish."""

    name: RunName
    origin: Origin
    plan: Plan
    report: Report
    packed: PackedRun


@dataclass(frozen=True, slots=True)
class PushBackoff:
    """Number of attempts, and random pauses between them.

    The maximum pause starts at the duration of an attempt, since others take as long, and doubles.
    """

    tries: int = 40
    first: float = 0.25
    longest: float = 10.0
    sleep: Callable[[float], None] = time.sleep

    def wait(self, tried: int, took: float) -> None:
        """Wait after `tried` attempts, of which the last one took `took` seconds."""
        bound = max(self.first, took) * 2.0 ** min(tried, 20)
        self.sleep(random.uniform(0.0, min(self.longest, bound)))  # noqa: S311 not for secrets


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """A published run. `new` is False if it was already on the branch; `tries` is the number of pushes."""

    entry: RunIndexEntry
    new: bool
    tries: int


class BranchPages(Protocol):
    """A function that returns further files of the branch, by path, which may replace earlier ones."""

    def __call__(
        self, copy: BranchClone, run: RunToPublish, entry: RunIndexEntry, earlier: Sequence[RunIndexEntry], /
    ) -> Mapping[str, bytes]:
        """Return the further files for a run, given the index entries of the latest earlier runs."""
        ...


def publish_run(
    copy: BranchClone, run: RunToPublish, backoff: PushBackoff = PushBackoff(), pages: BranchPages | None = None
) -> PublishedRun:
    """Publish a run on a clone's branch, even while other jobs publish.

    Args:
        copy: a clone of the branch.
        run: the run.
        backoff: number of attempts, and the pauses between them.
        pages: function that creates further files, called in each attempt; None: no further files.

    Raises:
        ConfigError: the branch has this run with other content.
        GitHubError: the remote cannot be reached or refuses, or other jobs were faster in all attempts.
    """
    last: GitHubError | None = None
    for tried in range(1, backoff.tries + 1):
        start = time.monotonic()
        try:
            return _try_publish(copy, run, tried, pages)
        except TemporaryCloneError as error:
            last = error
        backoff.wait(tried, time.monotonic() - start)
    raise GitHubError(
        f"{run.name}: not published after {counted(backoff.tries, 'try', 'tries')}; run `scylla-gha "
        f"publish` again. {last}"
    )


def _try_publish(copy: BranchClone, run: RunToPublish, tried: int, pages: BranchPages | None) -> PublishedRun:
    copy.refresh()
    index = copy.files(INDEX)
    existing = index_entry(copy, index, run.name)
    if existing is not None:
        if existing.content != run.packed.content:
            raise ConfigError(
                f"{run.name}: is on {copy.branch} already, with other content; published runs never "
                "change: publish under another --run or --attempt"
            )
        return PublishedRun(existing, new=False, tries=tried - 1)
    now = datetime.datetime.now(datetime.UTC)
    entry, files = run_files(run, now, _month(index, now))
    if pages is not None:
        files |= pages(copy, run, entry, recent_entries(copy, index))
    counts = f"{entry.counts.judged} of {counted(entry.counts.planned, 'cell')} judged, {entry.passed} passed"
    copy.push(copy.commit(files, f"{entry.name}\n\n{counts}\n"))
    return PublishedRun(entry, new=True, tries=tried)


def _month(index: Mapping[str, str], now: datetime.datetime) -> str:
    """Return the month's folder, or a further one of the same month if it is full."""
    entries = Counter(path.split("/")[-2] for path in index)
    names = [f"{now:%Y-%m}", *(f"{now:%Y-%m}.{number}" for number in range(2, 1_000))]
    return next(name for name in names if entries[name] < _MAX_ENTRIES)


def run_files(run: RunToPublish, now: datetime.datetime, month: str) -> tuple[RunIndexEntry, dict[str, bytes]]:
    """Return the index entry, and all files by path."""
    year, _, rest = month.partition("-")
    folder = f"v1/runs/{year}/{rest}/{run.name.experiment}/{run.name.run}-{run.name.attempt}"
    common = {
        "name": run.name,
        "origin": run.origin,
        "published_at": now,
        "epoch": run.plan.epoch,
        "toolkit_version": scylla_gha.__version__,
        "content": run.packed.content,
    }
    manifest = _text(
        RunManifest.model_validate(
            {**common, "rows_version": Result.model_fields["schema_version"].default, "files": run.packed.parts}
        )
    )
    entry = RunIndexEntry.model_validate(
        {
            **common,
            "only": run.plan.only,
            "folder": folder,
            "manifest": hashlib.sha256(manifest).hexdigest(),
            **_summary(run.report),
        }
    )
    files = {f"{folder}/{name}": content for name, content in run.packed.files.items()}
    files |= {f"{folder}/manifest.json": manifest, f"{INDEX}/{month}/{run.name.file}.json": _text(entry)}
    return entry, files


def _text(record: Record) -> bytes:
    return record.model_dump_json(indent=1).encode() + b"\n"


def _summary(report: Report) -> dict[str, object]:
    verdicts = [comparison.verdict for comparison in report.answer]
    return {
        "counts": report.counts,
        "passed": sum(arm.passed for arm in report.arms),
        "verdicts": {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)},
        "usd": known_sum(*(arm.usd for arm in report.arms)),
        "judge_usd": report.judge_usd,
    }
