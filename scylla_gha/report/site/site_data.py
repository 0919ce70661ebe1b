"""Data of the site: experiments with their runs, and the check of reports for contradictions."""

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
        entry: entry of the results branch's index.
        report: the run's report; None: it cannot be read, or the run is too old to have a page.
        fault: why the report or its results cannot be read; empty: they can.
        readiness: the run's readiness report; None: the run does not measure readiness.
    """

    entry: RunIndexEntry
    report: Report | None = None
    fault: str = ""
    readiness: ReadinessReport | None = None

    @property
    def is_measured(self) -> bool:
        """True if the run has a report and is not a replay, which measures nothing."""
        return self.report is not None and not self.report.replayed

    @property
    def label(self) -> str:
        """Time (UTC) when the run was published."""
        return f"{self.entry.published_at:%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class SiteExperiment:
    """An experiment with all its runs, newest first.

    Attributes:
        name: name of the experiment.
        branch: branch of the code whose runs are the history; None: runs without a branch.
        runs: runs without a pull request.
        pulls: runs of pull requests.
        followed: runs of the branch; only the last wave of each campaign.
        history: pass rates over the runs in `followed`; None: there are fewer than two complete runs.
    """

    name: str
    branch: str | None
    runs: tuple[SiteRun, ...]
    pulls: tuple[SiteRun, ...]
    followed: tuple[SiteRun, ...]
    history: History | None = None

    @property
    def paths(self) -> ExperimentPaths:
        """Paths of the experiment's pages."""
        return ExperimentPaths(self.name)

    @property
    def latest(self) -> SiteRun | None:
        """The newest complete run in `followed` that is no replay, else the newest incomplete one, or None."""
        measured = [run for run in self.followed if run.is_measured]
        return next((run for run in measured if run.entry.complete), next(iter(measured), None))

    @property
    def readiness(self) -> list[SiteRun]:
        """Runs in `followed` that measured readiness, newest first."""
        return [run for run in self.followed if run.readiness is not None and run.is_measured]

    @property
    def source(self) -> str:
        """The runs that are the history, in words."""
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
    """Return the table of the newest runs, with links to their pages; `source` names the place of all other runs."""
    rows = [_row(run, page) for run in runs[:most]]
    return Table(RUN_HEADINGS, rows, len(runs) - most, "run", source)


def readiness_table(experiment: SiteExperiment, page: str, most: int) -> Table:
    """Return the table of the newest readiness scores of the branch, with links to their pages."""
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
    """Return the first contradiction in a report; empty if there is none."""
    return next(_faults(report), "")


def _faults(report: Report) -> Iterator[str]:
    arms = [arm.arm for arm in report.arms]
    if len(set(arms)) < len(arms):
        yield "the report has an arm twice"
    if len({row.scenario for row in report.scenarios}) < len(report.scenarios):
        yield "the report has a scenario twice"
    for row in report.scenarios:
        if set(row.passed) != set(arms):
            yield "a scenario of the report has other arms than the report"
        if any(not 0 <= passed <= judged for passed, judged in row.passed.values()):
            yield "a scenario of the report has more passed than judged trials"
    if any(not {comparison.arm, comparison.baseline} <= set(arms) for comparison in report.comparisons):
        yield "the report compares arms that it does not have"
    if any(not failure.cells for failure in report.failures):
        yield "a failure in the report has no trial"
