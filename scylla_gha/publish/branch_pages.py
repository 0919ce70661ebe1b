"""Files of the results branch for people: README.md, badges, and a trend chart for each experiment.

They are computed anew from the branch's tip at each try of a push, so that they always fit the runs beside them.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.model.publication import RunIndexEntry
from scylla_gha.model.readiness_report import REPORT_FILE
from scylla_gha.model.report import Report
from scylla_gha.publish.post import run_page_from
from scylla_gha.publish.readiness_posts import badge_files, readiness_badges, readiness_pages
from scylla_gha.report.badges import badge_path, badges
from scylla_gha.report.branch_readme import branch_readme, trend_path
from scylla_gha.report.markdown import Picture, SummaryLinks, step_summary
from scylla_gha.report.readiness_badge import badge_text
from scylla_gha.report.run_history import history_of_reports
from scylla_gha.results_branch.clone import BranchClone
from scylla_gha.results_branch.publish_run import RunToPublish
from scylla_gha.results_branch.stored_runs import StoredRun, last_waves
from scylla_gha.store.rows import reports_of_same_github
from scylla_gha.store.run_folder import RunFolder

_MOST_POINTS: Final = 15  # runs of a trend


def run_pages(folder: RunFolder, report: Report, branch: str, environ: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files for people of one run: its chart, and a page if it is of a workflow run, to which it links."""
    pages = {folder.forest.name: folder.forest.read_bytes()} if folder.forest.is_file() else {}
    pages |= readiness_pages(folder)
    try:
        links = SummaryLinks(run_page_from(environ), "", branch)
    except ConfigError:  # not a job of Actions, so there is no run to link to
        return pages
    title = "Change of the pass rate, with its 95 % interval"
    picture = Picture(folder.forest.name, title) if folder.forest.is_file() else None
    measured = pages.get("readiness.md", b"")  # before the tables of its sessions
    return {**pages, "readme.md": measured + b"\n" * bool(measured) + step_summary(report, links, picture).encode()}


def branch_pages(
    copy: BranchClone, run: RunToPublish, entry: RunIndexEntry, earlier: Sequence[RunIndexEntry]
) -> dict[str, bytes]:
    """Return the files by path; a run of a pull request changes neither badges nor trends.

    A measurement of readiness has a badge of its own, and none of verdicts and pass rates, which say nothing of it.

    Args:
        copy: a clone of the branch.
        run: the run that is published.
        entry: its entry in the index.
        earlier: entries of the latest runs on the branch.

    Raises:
        GitHubError: the remote is out of reach.
    """
    pictures: dict[str, bytes] = {}
    is_newest = entry.origin.pull is None
    if is_newest and REPORT_FILE not in run.packed.files:
        experiment = entry.name.experiment
        pictures = {badge_path(experiment, kind): svg.encode() for kind, svg in badges(run.report).items()}
        if trend := _trend(copy, run.report, entry, earlier):
            pictures[trend_path(experiment)] = trend.encode()
    shown = readiness_badges(copy, entry.name.experiment, run.packed.files, is_newest=is_newest)
    pictures |= badge_files(shown)
    stored = {*copy.files("badges"), *copy.files("charts"), *pictures}
    scores = {name: badge_text(badge) for name, badge in shown.items()}
    return {"README.md": branch_readme([*earlier, entry], stored, copy.branch, scores).encode(), **pictures}


def _trend(copy: BranchClone, report: Report, entry: RunIndexEntry, earlier: Sequence[RunIndexEntry]) -> str:
    """Return the chart of pass rates over the latest runs of a branch; empty without the extra `report`."""
    if not (importlib.util.find_spec("altair") and importlib.util.find_spec("vl_convert")):
        return ""
    from scylla_gha.report.charts.history import history

    same = [other for other in earlier if other.name.experiment == entry.name.experiment and other.complete
            and other.origin.pull is None and other.origin.branch == entry.origin.branch]  # fmt: skip
    runs = sorted(last_waves(same), key=lambda other: other.published_at)[1 - _MOST_POINTS :]
    reports = reports_of_same_github([*_stored_reports(copy, runs), (_label(entry), report)])
    chart = history(history_of_reports(reports))
    return chart.file if chart else ""


def _label(entry: RunIndexEntry) -> str:
    return f"{entry.published_at:%Y-%m-%d %H:%M}"


def _stored_reports(copy: BranchClone, runs: Sequence[RunIndexEntry]) -> list[tuple[str, Report]]:
    """Read reports of stored runs, with labels; those of another version, or that were changed, are left out."""
    files = [copy.files(run.folder) for run in runs]
    copy.download(oid for paths in files for path, oid in paths.items() if path.endswith(".json"))
    reports = []
    for run in runs:
        try:
            reports.append((_label(run), StoredRun(copy, run).report()))
        except ConfigError:
            continue
    return reports
