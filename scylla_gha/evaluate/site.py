"""The site of a results branch: its runs are read and checked one by one, and each readable run gets pages."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field, ValidationError

from scylla_gha.compare.result_set import MARGIN
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.report_run import draw_charts
from scylla_gha.model import Record, Sha256
from scylla_gha.model.publication import RunIndexEntry, RunPage
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.report.branch_readme import history_of_reports
from scylla_gha.report.charts.arms import forest
from scylla_gha.report.page import PageParts, SiteLinks, page
from scylla_gha.report.page.trials import TrialTable, trial_columns, trial_table
from scylla_gha.report.site import GLOSSARY, SiteFile, page_location, relative
from scylla_gha.report.site.experiment_pages import experiment_files, latest_run, scenario_files
from scylla_gha.report.site.overview import overview_files
from scylla_gha.report.site.site_data import SiteExperiment, SiteRun, report_fault, run_facts
from scylla_gha.report.view import report_view
from scylla_gha.results_branch.clone import BranchClone
from scylla_gha.results_branch.stored_runs import RunQuery, StoredRun, index_entries, last_waves, select_runs
from scylla_gha.store import read_record, without_garbage_collection, write_bytes, write_record
from scylla_gha.store.rows import reports_of_same_github

if TYPE_CHECKING:
    from scylla_gha.model.report import History
    from scylla_gha.report.charts.theme import Chart

_MOST_ARMS: Final = 8  # arms in a history, as in its chart
_MOST_ROWS: Final = 30_000  # maximum number of rows for finding changes of level
_MOST_PULLS: Final = 10  # maximum number of pull request runs with a page
_LIST: Final = "site.json"


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """Options of the site.

    Attributes:
        on: branch of the code whose runs are the history; None: for each experiment, the branch with most runs.
        last: number of newest runs of an experiment with a page.
        server: address of GitHub's pages, for links to workflow runs.
    """

    on: str | None = None
    last: int = 20
    server: str = "https://github.com"


def site_files(copy: BranchClone, options: SiteOptions) -> Iterator[SiteFile]:
    """Yield all files of the site.

    Args:
        copy: clone of the results branch.
        options: options of the site.

    Raises:
        GitHubError: the remote is out of reach.
    """
    by_experiment: dict[str, list[RunIndexEntry]] = {}
    for entry in index_entries(copy):
        by_experiment.setdefault(entry.name.experiment, []).append(entry)
    experiments = []
    with without_garbage_collection():
        for name in sorted(by_experiment):
            reader = _ExperimentReader(copy, options, by_experiment[name])
            yield from reader.files()
            experiments.append(reader.experiment)
        yield from overview_files(experiments, copy.branch)


class _ExperimentReader:
    """Reader of the runs of one experiment, which makes the experiment's pages."""

    def __init__(self, copy: BranchClone, options: SiteOptions, entries: Sequence[RunIndexEntry]) -> None:
        self._copy, self._options = copy, options
        own = [entry for entry in entries if entry.origin.pull is None]
        pulls = [entry for entry in entries if entry.origin.pull is not None]
        branch = options.on or _main_branch(own)
        followed = last_waves(select_runs(own, RunQuery(branch=branch)) if branch else own)
        with_page = {
            str(entry.name) for entry in (*own[-options.last :], *followed[-options.last :], *pulls[-_MOST_PULLS:])
        }
        files = [copy.files(entry.folder) for entry in entries if str(entry.name) in with_page]
        copy.download(oid for paths in files for path, oid in paths.items() if path.endswith((".json", ".jsonl.gz")))
        runs = {
            str(entry.name): self._run(entry) if str(entry.name) in with_page else SiteRun(entry) for entry in entries
        }

        def newest_first(some: Sequence[RunIndexEntry]) -> tuple[SiteRun, ...]:
            return tuple(runs[str(entry.name)] for entry in reversed(some))

        self.experiment = SiteExperiment(
            entries[0].name.experiment, branch, newest_first(own), newest_first(pulls), newest_first(followed)
        )
        self._history_runs = [
            run for run in reversed(self.experiment.followed) if run.is_measured and run.entry.complete
        ]
        # Rows of the runs, as far as they are needed again
        self._trials: dict[str, TrialTable] = {}
        self._followed: dict[str, tuple[Result, ...]] = {}
        self._row_count = 0

    def _run(self, entry: RunIndexEntry) -> SiteRun:
        """Read the report of a run, or the reason why it cannot be read or contradicts itself."""
        try:
            stored = StoredRun(self._copy, entry)
            report, readiness = stored.report(), stored.readiness()
        except ConfigError as error:
            return SiteRun(entry, fault=str(error))
        fault = report_fault(report)
        return SiteRun(entry, None if fault else report, fault, readiness)

    def files(self) -> Iterator[SiteFile]:
        """Yield the pages of the runs, of the scenarios, and of the experiment."""
        experiment = self.experiment
        charts = draw_charts(experiment.latest.report) if experiment.latest and experiment.latest.report else ()
        for run in (*experiment.runs, *experiment.pulls):
            if run.report is not None:
                is_latest = run is experiment.latest
                chart = None if is_latest else forest(report_view(run.report))
                yield from self._run_files(run, run.report, charts if is_latest else (chart,) if chart else ())
        self.experiment = experiment = replace(experiment, history=self._history())
        latest = latest_run(experiment, charts)
        yield from experiment_files(experiment, latest)
        if latest is not None:
            yield from scenario_files(latest, self._trials.get(str(latest.run.entry.name)))

    def _run_files(self, run: SiteRun, report: Report, charts: "Sequence[Chart]") -> Iterator[SiteFile]:
        entry, paths = run.entry, self.experiment.paths
        path = paths.run(entry.name)
        table = self._table(run, report)
        trail = [(self.experiment.name, paths.home)]
        location, data = page_location(path, run.label, trail, trial_columns(table))
        yield from data
        links = SiteLinks(
            location, relative(GLOSSARY, path), run_facts(run), _workflow_run(entry, self._options.server)
        )
        yield SiteFile(path, page(report_view(report), PageParts(charts, table, (), run.readiness), links).encode())

    def _table(self, run: SiteRun, report: Report) -> TrialTable:
        """Return the table of a run's trials, empty if they are unreadable; keep the rows for other pages."""
        view, name = report_view(report), str(run.entry.name)
        try:
            rows = tuple(StoredRun(self._copy, run.entry).results())
        except ConfigError:
            return replace(trial_table(view, (), (), has_files=False), is_site=True)
        table = replace(trial_table(view, rows, (), has_files=False), is_site=True)
        if run is self.experiment.latest:
            self._trials[name] = table
        if run in self._history_runs and self._row_count <= _MOST_ROWS:
            arms = {arm.arm for arm in view.arms[:_MOST_ARMS]}
            followed = tuple(row for row in rows if row.arm in arms)
            self._followed[name] = followed
            self._row_count += len(followed)
        return table

    def _history(self) -> "History | None":
        """Return the pass rates over the readable runs, with changes of level if there are enough runs."""
        runs = self._history_runs[-self._options.last :]
        all_reports = [(name, run.report) for name, run in _named(runs) if run.report is not None]
        reports = reports_of_same_github(all_reports)
        if len(reports) < 2:  # noqa: PLR2004 a line needs two points
            return None
        from scylla_gha.analysis.history import SHORT, Pin, ResultSet, history

        shown = history_of_reports(reports)
        sets = [
            ResultSet(name, name, "", self._followed[str(run.entry.name)])
            for name, run in _named(runs)
            if name in dict(reports) and str(run.entry.name) in self._followed
        ]
        if len(reports) < SHORT:
            few = f"{len(reports)} runs are too few to find changes of level; {SHORT} are needed"
            return shown.model_copy(update={"notes": (few,)})
        if len(sets) < len(reports) or self._row_count > _MOST_ROWS:
            why = (
                "no search for changes of level: rows of some runs cannot be read, or there are more than "
                f"{counted(_MOST_ROWS, 'row')}; `scylla-gha history` searches"
            )
            return shown.model_copy(update={"notes": (why,)})
        arms = [series.arm for series in shown.series][:_MOST_ARMS]
        followed = history(sets, arms, Pin(sets[0].name, MARGIN))
        shifts = {series.arm: series for series in followed.series}
        return shown.model_copy(
            update={
                "series": tuple(
                    series.model_copy(update={"shifts": shifts[series.arm].shifts}) if series.arm in shifts else series
                    for series in shown.series
                ),
                "notes": followed.notes,
            }
        )


def _named(runs: Sequence[SiteRun]) -> list[tuple[str, SiteRun]]:
    """Return the runs with unique names: the time, with a number if several were published in the same minute."""
    names: dict[str, int] = {}
    unique_names = []
    for run in runs:
        names[run.label] = names.get(run.label, 0) + 1
        unique_names.append((run.label if names[run.label] == 1 else f"{run.label} #{names[run.label]}", run))
    return unique_names


def _main_branch(entries: Sequence[RunIndexEntry]) -> str | None:
    """Return the branch with most runs; of several such branches, the one with the newest run."""
    branches = [entry.origin.branch for entry in entries if entry.origin.branch is not None]
    newest_first = list(reversed(branches))
    return max(dict.fromkeys(newest_first), key=branches.count, default=None)


def _workflow_run(entry: RunIndexEntry, server: str) -> str:
    """Return the address of a run of GitHub Actions, made of checked parts; empty if the entry names no such run."""
    name, repository = entry.name, entry.origin.repository
    if not name.run.isdecimal() or repository is None:
        return ""
    try:
        return RunPage(server=server, repository=repository, run=int(name.run), attempt=name.attempt).url
    except ValidationError:
        return ""


class SiteFileList(Record):
    """Files that a build wrote, with their digests; a later build removes those that it does not write."""

    schema_version: int = 1
    files: Annotated[dict[str, Sha256], Field(description="Digests of the files, by path inside the site")]


def write_site(folder: Path, files: Iterable[SiteFile]) -> SiteFileList:
    """Write a site; the same files give the same folder, whichever build wrote to it before.

    A build waits for another build that writes to the same folder. A build that fails leaves a list of its files, so
    that the next build can replace them.

    Args:
        folder: folder of the site, which an earlier build may have written.
        files: all files of the site, each path once.

    Raises:
        ConfigError: a file of the site would replace a file that no build wrote.
    """
    with _only_writer(folder), contextlib.ExitStack() as failed:
        old = _known_files(folder)
        digests: dict[str, str] = {}
        failed.callback(lambda: _store_list(folder, old | digests) if digests else None)
        for file in files:
            _write(folder, file, old)
            digests[file.path] = hashlib.sha256(file.content).hexdigest()
        failed.pop_all()
        for path in sorted(old.keys() - digests.keys()):
            _remove(folder, path, old[path])
        return _store_list(folder, digests)


def _store_list(folder: Path, digests: dict[str, str]) -> SiteFileList:
    known = SiteFileList(files=dict(sorted(digests.items())))
    write_record(folder / _LIST, known)
    return known


@contextlib.contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Wait until no other build writes to the folder; other builds then wait."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _known_files(folder: Path) -> dict[str, str]:
    record = read_record(folder / _LIST, SiteFileList)
    files = dict(record.files) if record else {}
    strange = [path for path in files if path.startswith("/") or ".." in PurePosixPath(path).parts]
    if strange:
        raise ConfigError(
            f"{folder / _LIST}: lists {strange[0]}, which is outside of the site; remove the file, and "
            "build into an empty folder"
        )
    return files


def _write(folder: Path, file: SiteFile, old: dict[str, str]) -> None:
    target = folder / file.path
    if target.is_file() and target.read_bytes() == file.content:
        return
    if target.exists() and file.path not in old:
        raise ConfigError(
            f"{target}: was not written by an earlier build, so it is not overwritten; name an empty folder with --into"
        )
    write_bytes(target, file.content)


def _remove(folder: Path, path: str, digest: str) -> None:
    """Remove a file of an earlier build unless somebody changed it, and folders that become empty."""
    target = folder / path
    if not target.is_file() or hashlib.sha256(target.read_bytes()).hexdigest() != digest:
        return
    target.unlink()
    for parent in target.parents:
        if parent == folder or any(parent.iterdir()):
            return
        parent.rmdir()
