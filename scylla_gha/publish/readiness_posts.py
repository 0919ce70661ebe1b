"""Publication of a readiness measurement: comment on a pull request, files and badge on the results branch."""

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from scylla_gha.errors import ConfigError
from scylla_gha.github.client import open_repository
from scylla_gha.github.issues import create_comment, edit_comment, find_marked, own_login
from scylla_gha.model.readiness_report import REPORT_FILE, ReadinessReport
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


def post_readiness(report: ReadinessReport, pull: int, author: str | None) -> None:
    """Post the comment of a measurement on a pull request, or edit the one that is there.

    Raises:
        GitHubError: GitHub refused.
    """
    try:
        url = run_page_from(os.environ).url
    except ConfigError:  # not a job of Actions, so there is no run to link to
        url = ""
    body = readiness_comment(report, url)
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
) -> dict[str, bytes]:
    """Return the badges of readiness by path: a new one, and stored ones that have become too old for their colour.

    Args:
        copy: a clone of the branch.
        experiment: of the run that is published.
        files: files of that run.
        is_newest: the run is of a branch, and not of a pull request.
    """
    today = datetime.datetime.now(datetime.UTC).date()
    pictures: dict[str, bytes] = {}
    if is_newest and REPORT_FILE in files:
        report = ReadinessReport.model_validate_json(files[REPORT_FILE])
        pictures |= _badge_files(experiment, readiness_badge(report, today))
    stored = {path: oid for path, oid in copy.files("badges").items() if path.endswith(f"-{_KIND}.json")}
    contents = copy.fetch(stored.values()) if stored else {}
    for path, oid in stored.items():
        if path not in pictures:
            shown = ReadinessBadge.model_validate_json(contents[oid])
            if today >= shown.stale_on and not shown.is_grey:
                name = Path(path).name.removesuffix(f"-{_KIND}.json")
                pictures |= _badge_files(name, shown.model_copy(update={"is_grey": True}))
    return pictures


def _badge_files(experiment: str, shown: ReadinessBadge) -> dict[str, bytes]:
    svg = badge_path(experiment, _KIND)
    return {svg: badge_svg(shown).encode(),
            svg.replace(".svg", ".json"): shown.model_dump_json(indent=1).encode() + b"\n"}  # fmt: skip
