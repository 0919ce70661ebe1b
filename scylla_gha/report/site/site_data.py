"""Data of the site: experiments with their runs, and contradictions in reports that cannot be shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.publication import RunIndexEntry
from scylla_gha.model.readiness import ReadinessReport
from scylla_gha.model.report import History, Report
from scylla_gha.report.branch_readme import verdict_words
from scylla_gha.report.document import UNDEFINED, Table, clipped, code
from scylla_gha.report.readiness_text import headline, subject_line
from scylla_gha.report.site import ExperimentPaths, page_link

RUN_HEADINGS: Final = ("published", "verdict", "passed", "USD ↓", "evaluated", "note")
_MOST_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class SiteRun:
    """A published run.

    Attributes:
        entry: entry of the index.
        report: None if it cannot be read, or if the run is too old to have a page.
        fault: why the report or its rows cannot be read; empty: they can.
        readiness: the measurement that the run is of; None: of none.
    """

    entry: RunIndexEntry
    report: Report | None = None
    fault: str = ""
    readiness: ReadinessReport | None = None

    @property
    def is_measured(self) -> bool:
        """True if its numbers may stand for the experiment: a replay measures nothing."""
        return self.report is not None and not self.report.replayed

    @property
    def label(self) -> str:
        """Time when it was published."""
        return f"{self.entry.published_at:%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class SiteExperiment:
    """One experiment with all its runs, newest first.

    Attributes:
        name: name of the experiment.
        branch: the code's branch whose runs are the history; None: they name none.
        runs: runs without a pull request.
        pulls: runs of pull requests.
        followed: those of the branch, of which later waves stand for their campaign.
        history: pass rates over these runs; None: there are fewer than two runs.
    """

    name: str
    branch: str | None
    runs: tuple[SiteRun, ...]
    pulls: tuple[SiteRun, ...]
    followed: tuple[SiteRun, ...]
    history: History | None = None

    @property
    def paths(self) -> ExperimentPaths:
        """Paths of its pages."""
        return ExperimentPaths(self.name)

    @property
    def latest(self) -> SiteRun | None:
        """The newest complete run of the branch that measured something; else the newest that is incomplete."""
        measured = [run for run in self.followed if run.is_measured]
        return next((run for run in measured if run.entry.complete), next(iter(measured), None))

    @property
    def readiness(self) -> list[SiteRun]:
        """Measurements of readiness of the branch, newest first."""
        return [run for run in self.followed if run.readiness is not None and run.is_measured]

    @property
    def source(self) -> str:
        """Whose runs are the history, in words."""
        return f"runs of {self.branch}" if self.branch else "runs without a branch"


def run_facts(run: SiteRun) -> str:
    """Return a run's name, date, branch or pull request, and commit in one line of plain text."""
    origin = run.entry.origin
    where = [
        f"pull request {origin.pull}, not part of the history" if origin.pull is not None else origin.branch,
        origin.head[:9] if origin.head else None,
    ]
    return ", ".join([f"run {run.entry.name}", f"published {run.label} UTC", *filter(None, where), *_notes(run)])


def run_table(runs: Sequence[SiteRun], page: str, most: int, source: str) -> Table:
    """Return the newest runs, with links to those that have a page; `source` is where the others are."""
    rows = [_row(run, page) for run in runs[:most]]
    return Table(RUN_HEADINGS, rows, len(runs) - most, "run", source)


def readiness_table(experiment: SiteExperiment, page: str, most: int) -> Table:
    """Return the scores of the newest measurements of the branch, with links to their pages."""
    paths = experiment.paths
    rows = [
        (page_link(run.label, paths.run(run.entry.name), page), headline(run.readiness), subject_line(run.readiness))
        for run in experiment.readiness[:most]
        if run.readiness
    ]
    return Table(
        ("published", "score of 100 with its 95 % interval", "of"), rows, len(experiment.readiness) - most, "run"
    )


def _row(run: SiteRun, page: str) -> tuple[str, ...]:
    entry = run.entry
    paths = ExperimentPaths(entry.name.experiment)
    published = page_link(run.label, paths.run(entry.name), page) if run.report else run.label
    verdict = UNDEFINED if run.fault else verdict_words(entry.verdicts)
    costs = f"{dollars(entry.usd)} + judges {dollars(entry.judge_usd)}"
    passed = f"{entry.passed}/{entry.counts.judged}"
    return published, verdict, passed, costs, _evaluated(entry), "; ".join(_notes(run))


def _evaluated(entry: RunIndexEntry) -> str:
    origin = entry.origin
    where = f"pull request {origin.pull}" if origin.pull is not None else origin.branch or ""
    return code(" ".join(filter(None, (where, (origin.head or "")[:9]))) or UNDEFINED)


def _notes(run: SiteRun) -> Iterator[str]:
    counts = run.entry.counts
    if not run.entry.complete:
        yield f"incomplete: {counts.ran} of {counted(counts.planned, 'planned cell')} ran"
    if run.report and run.report.replayed:
        yield "replay: nothing was measured"
    if run.report and run.report.imported:
        yield "imported rows"
    if run.report and run.report.github == "github.com":
        yield "on github.com"
    if run.fault:
        yield clipped(f"not shown in full: {run.fault}", _MOST_REASON)


def report_fault(report: Report) -> str:
    """Return the first contradiction of a report; empty: there is none."""
    return next(_faults(report), "")


def _faults(report: Report) -> Iterator[str]:
    arms = [arm.arm for arm in report.arms]
    if len(set(arms)) < len(arms):
        yield "its report has an arm twice"
    if len({row.scenario for row in report.scenarios}) < len(report.scenarios):
        yield "its report has a scenario twice"
    for row in report.scenarios:
        if set(row.passed) != set(arms):
            yield "a scenario of its report has other arms than the report"
        if any(not 0 <= passed <= judged for passed, judged in row.passed.values()):
            yield "a scenario of its report passed more often than it was judged"
    if any(not {comparison.arm, comparison.baseline} <= set(arms) for comparison in report.comparisons):
        yield "its report compares arms that it does not have"
    if any(not failure.cells for failure in report.failures):
        yield "a failure of its report has no trial"
