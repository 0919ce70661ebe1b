"""Publication of a run: compare-and-swap pushes with retries; a run is never published twice."""

import datetime
import hashlib
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import scylla_gha
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GitHubError
from scylla_gha.model.plan import Plan
from scylla_gha.model.publication import Origin, RunIndexEntry, RunManifest, RunName
from scylla_gha.model.record import Record
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.results_branch.clone import BranchClone, TemporaryCloneError
from scylla_gha.results_branch.index import INDEX, index_entry, month_of
from scylla_gha.results_branch.stored_run import PackedRun

_MOST_ENTRIES: Final = 2_900  # of a folder: GitHub advises at most 3,000


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

    The bound of a pause starts at the duration of an attempt, which shows how long others take, and doubles.
    """

    tries: int = 40
    first: float = 0.25
    longest: float = 10.0
    sleep: Callable[[float], None] = time.sleep

    def wait(self, tried: int, took: float) -> None:
        """Wait after `tried` attempts, of which the last one took `took` seconds."""
        bound = max(self.first, took) * 2.0 ** min(tried, 20)
        self.sleep(random.uniform(0.0, min(self.longest, bound)))  # noqa: S311 no secret


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """A published run. `new` is False if the branch had it already; `tries` is the number of pushes."""

    entry: RunIndexEntry
    new: bool
    tries: int


def publish_run(copy: BranchClone, run: RunToPublish, backoff: PushBackoff = PushBackoff()) -> PublishedRun:
    """Publish a run on a clone's branch, even while other jobs publish.

    Raises:
        ConfigError: the branch has that run with other content.
        GitHubError: the remote is out of reach or refuses, or other jobs were faster every time.
    """
    last: GitHubError | None = None
    for tried in range(1, backoff.tries + 1):
        began = time.monotonic()
        try:
            return _once(copy, run, tried)
        except TemporaryCloneError as error:
            last = error
        backoff.wait(tried, time.monotonic() - began)
    raise GitHubError(
        f"{run.name}: not published after {counted(backoff.tries, 'try', 'tries')}; run `scylla-gha publish` "
        f"again. {last}"
    )


def _once(copy: BranchClone, run: RunToPublish, tried: int) -> PublishedRun:
    copy.refresh()
    index = copy.files(INDEX)
    there = index_entry(copy, index, run.name)
    if there is not None:
        if there.content != run.packed.content:
            raise ConfigError(f"{run.name}: is on {copy.branch} already, with other content; what is published never "
                              "changes: publish under another --run or --attempt")  # fmt: skip
        return PublishedRun(there, new=False, tries=tried - 1)
    now = datetime.datetime.now(datetime.UTC)
    entry, files = run_files(run, now, _month(index, now))
    copy.push(copy.commit(files, _message(entry)))
    return PublishedRun(entry, new=True, tries=tried)


def _month(index: Mapping[str, str], now: datetime.datetime) -> str:
    """Return the month's folder, or a further one of the same month if it is full."""
    count = [month_of(path) for path in index]
    names = [f"{now:%Y-%m}", *(f"{now:%Y-%m}.{number}" for number in range(2, 1_000))]
    return next(name for name in names if count.count(name) < _MOST_ENTRIES)


def run_files(run: RunToPublish, now: datetime.datetime, month: str) -> tuple[RunIndexEntry, dict[str, bytes]]:
    """Return the index entry, and all files by path."""
    year, _, rest = month.partition("-")
    folder = f"v1/runs/{year}/{rest}/{run.name.experiment}/{run.name.run}-{run.name.attempt}"
    about = {"name": run.name, "origin": run.origin, "published_at": now, "epoch": run.plan.epoch,
             "toolkit_version": scylla_gha.__version__, "content": run.packed.content}  # fmt: skip
    manifest = _text(RunManifest.model_validate(
        {**about, "rows_version": Result.model_fields["schema_version"].default, "files": run.packed.parts}
    ))  # fmt: skip
    entry = RunIndexEntry.model_validate(
        {
            **about,
            "only": run.plan.only,
            "folder": folder,
            "manifest": hashlib.sha256(manifest).hexdigest(),
            **_findings(run.report),
        }
    )
    files = {f"{folder}/{name}": content for name, content in run.packed.files.items()}
    files |= {f"{folder}/manifest.json": manifest, f"{INDEX}/{month}/{run.name.file}.json": _text(entry)}
    return entry, files


def _text(record: Record) -> bytes:
    return record.model_dump_json(indent=1).encode() + b"\n"


def _findings(report: Report) -> dict[str, object]:
    verdicts = [comparison.verdict for comparison in report.comparisons]
    costs = [arm.usd for arm in report.arms]
    known = [cost for cost in costs if cost is not None]
    return {
        "counts": report.counts,
        "passed": sum(arm.passed for arm in report.arms),
        "verdicts": {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)},
        "usd": sum(known) if len(known) == len(costs) else None,
        "judge_usd": report.judge_usd,
    }


def _message(entry: RunIndexEntry) -> str:
    counts = entry.counts
    return f"{entry.name}\n\n{counts.judged} of {counted(counts.planned, 'cell')} judged, {entry.passed} passed\n"
