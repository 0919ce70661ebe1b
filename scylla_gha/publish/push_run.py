"""Publish a run or a readiness measurement on the results branch, with pages and badges, and as a comment.

Pages and badges are computed from the branch's tip at each attempt to push, so they always match the published runs.
"""

import datetime
import importlib.util
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from pydantic import ValidationError

from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.github_api.client import open_repository
from scylla_gha.github_api.pulls import create_comment, edit_comment, find_marked, token_login
from scylla_gha.model.plan import Plan, WavePacking
from scylla_gha.model.publication import Origin, RunIndexEntry, RunName
from scylla_gha.model.readiness import REPORT_FILE, ReadinessReport
from scylla_gha.model.report import Report
from scylla_gha.model.skill_measurement import REPORT_FILE as SKILLS_FILE
from scylla_gha.model.skill_measurement import SkillMeasurement
from scylla_gha.publish.post import run_page_from
from scylla_gha.report import Picture, SummaryLinks, step_summary
from scylla_gha.report.branch_readme import (
    ReadinessBadge,
    badge_path,
    badge_svg,
    badge_text,
    badges,
    branch_readme,
    history_of_reports,
    readiness_badge,
    trend_path,
)
from scylla_gha.report.readiness_text import MARKER, readiness_comment
from scylla_gha.report.skills_comment import MARKER as SKILLS_MARKER
from scylla_gha.report.skills_comment import skills_comment
from scylla_gha.results_branch.clone import BranchClone, GitRemote
from scylla_gha.results_branch.publish_run import PublishedRun, PushBackoff, RunToPublish, pack_run, publish_run
from scylla_gha.results_branch.stored_runs import StoredRun, last_waves
from scylla_gha.store import read_record
from scylla_gha.store.rows import reports_of_same_github
from scylla_gha.store.run_folder import RunFolder, WavePaths

_MOST_POINTS: Final = 15  # runs of a trend
_PAGES: Final = (REPORT_FILE, "readiness.md")
_KIND: Final = "readiness"


def stored_report(folder: RunFolder) -> tuple[Plan, Report]:
    """Read the plan and the report of a run folder.

    Raises:
        ConfigError: one of them is missing.
    """
    plan, report = read_record(folder.plan, Plan), read_record(folder.report("json"), Report)
    if plan is None or report is None:
        raise ConfigError(
            f"{folder.root}: plan.json or report.json is missing; run `scylla-gha collect "
            f"{folder.root.name}` and `scylla-gha aggregate {folder.root.name}` first"
        )
    return plan, report


def push_run(
    folder: RunFolder,
    branch: str,
    origin: Origin,
    *,
    remote: GitRemote,
    name: RunName | None = None,
    backoff: PushBackoff = PushBackoff(),
) -> PublishedRun:
    """Publish rows and report of a run on the results branch once; print the result to standard error.

    Args:
        folder: folder of the run.
        branch: the results branch.
        origin: what was evaluated; missing repository, branch, campaign and wave are filled in.
        remote: the repository of the branch.
        name: name of the run on the branch; None: a local run, named after a digest of its content.
        backoff: number of attempts, and the pauses between them.

    Raises:
        ConfigError: plan or report is missing, or the branch has the run with other content.
        GitHubError: the branch cannot be pushed to.
        RefusedError: the run is a replay.
    """
    plan, report = stored_report(folder)
    if report.replayed:
        raise RefusedError(
            f"{folder.root}: is a replay, which measures nothing, so it is not published on {branch}: "
            "later runs would be compared with it; publish a run without --replay"
        )
    packed = pack_run(folder.results, folder.report("json"), run_pages(folder, report, branch, os.environ))
    unique_name = name or RunName(experiment=folder.root.name, run=f"local-{packed.content[:12]}")
    run = RunToPublish(unique_name, origin_of(folder, origin, os.environ), plan, report, packed)
    with tempfile.TemporaryDirectory(prefix="scylla-gha-") as root:
        published = publish_run(BranchClone(Path(root), remote, branch), run, backoff, branch_pages)
    state = "published" if published.new else "already published"
    click.echo(f"{published.entry.name}: {state} on {branch}: {published.entry.folder}", err=True)
    return published


def run_name(experiment: str, run: str | None, attempt: int) -> RunName | None:
    """Return the name of a workflow run on the results branch, or None if `run` is empty.

    Raises:
        ConfigError: experiment or run cannot be the name of a folder.
    """
    try:
        return RunName(experiment=experiment, run=run, attempt=attempt) if run else None
    except ValidationError:
        raise ConfigError(
            f"--run {run}: {experiment!r} and {run!r} become folder names, so they must consist of "
            "letters and digits, separated by single dots, dashes or underscores"
        ) from None


def origin_of(folder: RunFolder, origin: Origin, environ: Mapping[str, str]) -> Origin:
    """Fill in repository, branch, campaign and wave from the workflow run and the wave's plan."""
    packing = read_record(WavePaths(folder.root).packing, WavePacking)
    branch = origin.branch or (None if origin.pull else _branch(environ))
    changes = {"repository": origin.repository or environ.get("GITHUB_REPOSITORY") or None, "branch": branch}
    if packing is not None:
        changes |= {"campaign": origin.campaign or packing.campaign}
        return origin.model_copy(update={**changes, "wave": origin.wave or packing.wave})
    return origin.model_copy(update=changes)


def _branch(environ: Mapping[str, str]) -> str | None:
    """Return the branch of a workflow run; None for a pull request, since a fork may call its branch `main`."""
    is_branch = environ.get("GITHUB_REF_TYPE", "branch") == "branch" and not environ.get("GITHUB_HEAD_REF")
    return environ.get("GITHUB_REF_NAME") or None if is_branch else None


def run_pages(folder: RunFolder, report: Report, branch: str, environ: Mapping[str, str]) -> dict[str, bytes]:
    """Return a run's pages: chart, readiness measurement, and for a workflow run a summary that links to it."""
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
    """Return the branch's pages by path; a run of a pull request changes neither badges nor trends.

    A readiness measurement has its own badge, and no badges of verdicts and pass rates.

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

    same = [
        other
        for other in earlier
        if other.name.experiment == entry.name.experiment
        and other.complete
        and other.origin.pull is None
        and other.origin.branch == entry.origin.branch
    ]
    runs = sorted(last_waves(same), key=lambda other: other.published_at)[1 - _MOST_POINTS :]
    reports = reports_of_same_github([*_stored_reports(copy, runs), (_label(entry), report)])
    chart = history(history_of_reports(reports))
    return chart.file if chart else ""


def _label(entry: RunIndexEntry) -> str:
    return f"{entry.published_at:%Y-%m-%d %H:%M}"


def _stored_reports(copy: BranchClone, runs: Sequence[RunIndexEntry]) -> list[tuple[str, Report]]:
    """Read reports of stored runs, with labels; leave out reports of another version and changed reports."""
    files = [copy.files(run.folder) for run in runs]
    copy.download(oid for paths in files for path, oid in paths.items() if path.endswith(".json"))
    reports = []
    for run in runs:
        try:
            reports.append((_label(run), StoredRun(copy, run).report()))
        except ConfigError:
            continue
    return reports


def stored_measurement(folder: RunFolder) -> tuple[str, str] | None:
    """Return the comment on a `readiness` or `skill` run, and the mark at its beginning; None for other runs.

    Raises:
        ConfigError: its record cannot be read.
    """
    try:
        url = run_page_from(os.environ).url
    except ConfigError:  # not a job of Actions, so there is no run to link to
        url = ""
    if (readiness := read_record(folder.root / REPORT_FILE, ReadinessReport)) is not None:
        return readiness_comment(readiness, url), MARKER
    if (skills := read_record(folder.root / SKILLS_FILE, SkillMeasurement)) is not None:
        return skills_comment(skills, url), SKILLS_MARKER
    return None


def post_marked(body: str, mark: str, pull: int | None, author: str | None) -> None:
    """Post a comment on a pull request, or edit the existing comment with the mark; `pull` None: only print it.

    Raises:
        GitHubError: GitHub refused.
    """
    if pull is None:
        click.echo(body)
        return
    with open_repository() as repository:
        login = author or token_login(repository)
        ours = find_marked(repository, pull, login, mark)
        posted = edit_comment(repository, ours[-1].id, body) if ours else None
        how = "edited" if posted else "posted"
        posted = posted or create_comment(repository, pull, body, login)
        click.echo(f"comment {how}: {posted.html_url}", err=True)


def readiness_pages(folder: RunFolder) -> dict[str, bytes]:
    """Return the files of a readiness measurement for the run's folder on the branch; empty for other runs."""
    paths = [folder.root / name for name in _PAGES]
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def readiness_badges(
    copy: BranchClone, experiment: str, files: Mapping[str, bytes], *, is_newest: bool
) -> dict[str, ReadinessBadge]:
    """Return today's readiness badges by experiment: the stored badges, and a new one.

    Args:
        copy: a clone of the branch.
        experiment: experiment of the run that is published.
        files: files of that run.
        is_newest: the run evaluated a branch, not a pull request.
    """
    today = datetime.datetime.now(datetime.UTC).date()
    shown: dict[str, ReadinessBadge] = {}
    for path, content in _stored_badges(copy):
        name = Path(path).name.removesuffix(f"-{_KIND}.json")
        try:
            badge = ReadinessBadge.model_validate_json(content)
        except ValidationError:  # somebody changed it; the next measurement replaces it
            continue
        shown[name] = badge.model_copy(update={"is_grey": badge.is_grey or today >= badge.stale_on})
    if is_newest and REPORT_FILE in files:
        shown[experiment] = readiness_badge(ReadinessReport.model_validate_json(files[REPORT_FILE]), today)
    return shown


def _stored_badges(copy: BranchClone) -> list[tuple[str, bytes]]:
    stored = {path: oid for path, oid in copy.files("badges").items() if path.endswith(f"-{_KIND}.json")}
    contents = copy.fetch(stored.values()) if stored else {}
    return [(path, contents[oid]) for path, oid in stored.items()]


def badge_files(shown: Mapping[str, ReadinessBadge]) -> dict[str, bytes]:
    """Return the badges as files by path: the picture, and its facts as JSON."""
    files: dict[str, bytes] = {}
    for experiment, badge in shown.items():
        svg = badge_path(experiment, _KIND)
        files[svg] = badge_svg(badge).encode()
        files[svg.replace(".svg", ".json")] = badge.model_dump_json(indent=1).encode() + b"\n"
    return files
