"""Publication of a readiness measurement: comment on a pull request, files and badge on the results branch."""

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.github.client import open_repository
from scylla_gha.github.pulls import create_comment, edit_comment, find_marked, own_login
from scylla_gha.model.readiness_score import REPORT_FILE, ReadinessReport
from scylla_gha.publish.post import run_page_from
from scylla_gha.report.badges import badge_path
from scylla_gha.report.readiness_badge import ReadinessBadge, badge_svg, readiness_badge
from scylla_gha.report.readiness_markdown import MARKER, readiness_comment
from scylla_gha.results_branch.clone import BranchClone
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder

_PAGES: Final = (REPORT_FILE, "readiness.md")
_KIND: Final = "readiness"


def stored_readiness(folder: RunFolder) -> ReadinessReport | None:
    """Read the report of a run's folder; None if the run is no readiness measurement.

    Raises:
        ConfigError: it cannot be read.
    """
    return read_record(folder.root / REPORT_FILE, ReadinessReport)


def post_readiness(report: ReadinessReport, pull: int | None, author: str | None) -> None:
    """Post the comment of a measurement on a pull request, or edit the existing comment; None: only print it.

    Raises:
        GitHubError: GitHub refused.
    """
    try:
        url = run_page_from(os.environ).url
    except ConfigError:  # not a job of Actions, so there is no run to link to
        url = ""
    body = readiness_comment(report, url)
    if pull is None:
        click.echo(body)
        return
    with open_repository() as repository:
        login = author or own_login(repository)
        ours = find_marked(repository, pull, login, MARKER)
        posted = edit_comment(repository, ours[-1].id, body) if ours else None
        how = "edited" if posted else "posted"
        posted = posted or create_comment(repository, pull, body, login)
        click.echo(f"comment {how}: {posted.html_url}", err=True)


def readiness_pages(folder: RunFolder) -> dict[str, bytes]:
    """Return the files of a measurement for the run's folder on the results branch; none for other runs."""
    paths = [folder.root / name for name in _PAGES]
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def readiness_badges(
    copy: BranchClone, experiment: str, files: Mapping[str, bytes], *, is_newest: bool
) -> dict[str, ReadinessBadge]:
    """Return the badges of readiness by experiment as they are to be shown today: stored ones, and a new one.

    Args:
        copy: a clone of the branch.
        experiment: of the run that is published.
        files: files of that run.
        is_newest: the run is of a branch, and not of a pull request.
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
