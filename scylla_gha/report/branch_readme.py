"""The page that people see when they open the results branch on GitHub: latest verdicts, badges, trends, links to runs.

Links are relative to the branch's root, so they hold on every server and in every fork.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.analysis import Verdict
from scylla_gha.model.comparison import History, Point, Series
from scylla_gha.model.publication import RunIndexEntry
from scylla_gha.model.report import Report
from scylla_gha.report.badges import badge_path
from scylla_gha.report.document import Markdown, Table, code, escape, link
from scylla_gha.report.numbers import UNDEFINED
from scylla_gha.report.summary import marked
from scylla_gha.report.templates import render
from scylla_gha.report.view import PASS, ReportView, report_view

_MOST_EXPERIMENTS: Final = 50
_MOST_RUNS: Final = 10
_BADGES: Final = {
    "verdict": "verdict",
    "pass-rate": "pass rate",
    "cost-of-pass": "cost of a pass",
    "readiness": "readiness",
}


@dataclass(frozen=True, slots=True)
class ExperimentSection:
    """One experiment's part of the page; `badges` are names and paths, `readiness` is a score in words."""

    name: str
    badges: Sequence[tuple[str, str]]
    readiness: str
    chart: str
    runs: Table


def trend_path(experiment: str) -> str:
    """Return the path of an experiment's trend chart on the branch."""
    return f"charts/{experiment}.svg"


def branch_readme(
    entries: Iterable[RunIndexEntry], files: Collection[str], branch: str, readiness: Mapping[str, str] | None = None
) -> str:
    """Return README.md of a results branch.

    Args:
        entries: the runs, in any order.
        files: paths of the badges and charts that the branch has.
        branch: its name.
        readiness: newest scores of readiness in words, by experiment.
    """
    scores = readiness or {}
    root = "../" * (2 + branch.count("/"))  # GitHub resolves links against OWNER/REPO/blob/BRANCH
    newest_first = sorted(entries, key=lambda entry: (entry.published_at, str(entry.name)), reverse=True)
    pulls = [entry for entry in newest_first if entry.origin.pull is not None]
    runs: dict[str, list[RunIndexEntry]] = {}
    for entry in newest_first:
        if entry.origin.pull is None:
            runs.setdefault(entry.name.experiment, []).append(entry)
    shown = dict(list(runs.items())[:_MOST_EXPERIMENTS])
    latest = [_row(experiment_runs[0], root) for experiment_runs in shown.values()]
    return render(
        "branch_readme.md.j2",
        {
            "latest": Table(_HEADINGS, latest, len(runs) - len(shown), "experiment", "v1/index"),
            "experiments": [
                _section(name, _table(of_name, root), files, scores.get(name, "")) for name, of_name in shown.items()
            ],
            "pulls": _table(pulls, root),
        },
    )


_HEADINGS: Final = ("experiment", "verdict", "passed", "USD ↓", "evaluated", "published", "run")


def _section(name: str, runs: Table, files: Collection[str], readiness: str) -> ExperimentSection:
    badges = [(title, badge_path(name, kind)) for kind, title in _BADGES.items()]
    chart = trend_path(name)
    return ExperimentSection(
        name,
        [(title, path) for title, path in badges if path in files],
        readiness,
        chart if chart in files else "",
        runs,
    )


def _table(runs: Sequence[RunIndexEntry], root: str) -> Table:
    return Table(
        _HEADINGS, [_row(entry, root) for entry in runs[:_MOST_RUNS]], len(runs) - _MOST_RUNS, "run", "v1/index"
    )


def _row(entry: RunIndexEntry, root: str) -> tuple[str, ...]:
    counts, name = entry.counts, entry.name
    part = "" if entry.complete else f" of {counted(counts.planned, 'planned cell')}"
    costs = f"{dollars(entry.usd)} + judges {dollars(entry.judge_usd)}"
    page = Markdown(f"[{name.run}]({root}actions/runs/{name.run})") if name.run.isdecimal() else escape(name.run)
    return (
        link(name.experiment, entry.folder),
        verdict_words(entry.verdicts),
        f"{entry.passed}/{counts.judged}{part}",
        costs,
        _evaluated(entry, root),
        f"{entry.published_at:%Y-%m-%d %H:%M} UTC",
        page,
    )


def verdict_words(verdicts: Mapping[Verdict, int]) -> str:
    """Return the verdict; of several arms, the number of each."""
    if not verdicts:
        return UNDEFINED
    if sum(verdicts.values()) > 1:
        return ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in verdicts.items())
    (verdict,) = verdicts
    return marked(verdict, verdict.replace("_", " "))


def _evaluated(entry: RunIndexEntry, root: str) -> Markdown:
    """Return the commit, and the branch or pull request that it is of."""
    origin = entry.origin
    pull = f"[pull request {origin.pull}]({root}pull/{origin.pull})" if origin.pull is not None else ""
    where = pull or (escape(origin.branch) if origin.branch else "")
    return Markdown(" ".join(filter(None, (where, code(origin.head[:7]) if origin.head else ""))) or UNDEFINED)


def history_of_reports(reports: Sequence[tuple[str, Report]]) -> History:
    """Return the pass rates of the newest report's arms over all reports, oldest first; no changes are searched.

    Args:
        reports: unique names of the runs, and their reports.
    """
    views = [(name, report_view(report)) for name, report in reports]
    arms = [arm.arm for arm in reports[-1][1].arms]
    series = [Series(arm=arm, points=tuple(_point(name, view, arm) for name, view in views), shifts=()) for arm in arms]
    return History(baseline=reports[0][0], margin=0.0, series=tuple(series))


def _point(name: str, view: ReportView, arm: str) -> Point:
    summary = next((summary for summary in view.report.arms if summary.arm == arm), None)
    if summary is None:
        return Point(run=name, epoch="", trials=0, scenarios=0, rate=None, usd=None, seconds=None)
    judged = sum(row.passed.get(arm, (0, 0))[1] > 0 for row in view.report.scenarios)
    rate = view.measure(arm, PASS)
    value, low, high = (
        (rate.value, rate.low, rate.high) if rate else (summary.pass_rate, summary.pass_low, summary.pass_high)
    )
    return Point(
        run=name,
        epoch="",
        trials=summary.counts.judged,
        scenarios=judged,
        rate=value,
        rate_low=low,
        rate_high=high,
        usd=None,
        seconds=summary.mean_seconds,
    )
