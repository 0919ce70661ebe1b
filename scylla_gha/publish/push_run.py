"""Publication of a run on the results branch, and the name and origin under which it is stored there."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click
from pydantic import ValidationError

from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.plan import Plan, WavePacking
from scylla_gha.model.publication import Origin, RunName
from scylla_gha.model.report import Report
from scylla_gha.publish.branch_pages import branch_pages, run_pages
from scylla_gha.results_branch.clone import BranchClone, GitRemote
from scylla_gha.results_branch.publish_run import PublishedRun, PushBackoff, RunToPublish, pack_run, publish_run
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder, WavePaths


def stored_report(folder: RunFolder) -> tuple[Plan, Report]:
    """Read the plan and the report of a run folder.

    Raises:
        ConfigError: one of them is missing.
    """
    plan, report = read_record(folder.plan, Plan), read_record(folder.report("json"), Report)
    if plan is None or report is None:
        raise ConfigError(f"{folder.root}: plan.json or report.json is missing; run `scylla-gha collect "
                          f"{folder.root.name}` and `scylla-gha aggregate {folder.root.name}` first")  # fmt: skip
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
    """Put rows and report of a run on the results branch once, and report it on standard error.

    Args:
        folder: of the run.
        branch: the results branch.
        origin: what was evaluated; missing repository, branch, campaign and wave are filled in.
        remote: the repository of the branch.
        name: of the run there; None: a local run, named after a digest of its content.
        backoff: number of attempts, and the pauses between them.

    Raises:
        ConfigError: plan or report is missing, or the branch has the run with other content.
        GitHubError: the branch cannot be pushed to.
        RefusedError: the run is a replay.
    """
    plan, report = stored_report(folder)
    if report.replayed:
        raise RefusedError(f"{folder.root}: a replay measures nothing, so it is not published on {branch}, where "
                           "later runs would be compared with it; publish a run without --replay")  # fmt: skip
    packed = pack_run(folder.results, folder.report("json"), run_pages(folder, report, branch, os.environ))
    unique_name = name or RunName(experiment=folder.root.name, run=f"local-{packed.content[:12]}")
    run = RunToPublish(unique_name, origin_of(folder, origin, os.environ), plan, report, packed)
    with tempfile.TemporaryDirectory(prefix="scylla-gha-") as root:
        published = publish_run(BranchClone(Path(root), remote, branch), run, backoff, branch_pages)
    state = "published" if published.new else "already published"
    click.echo(f"{published.entry.name}: {state} on {branch}: {published.entry.folder}", err=True)
    return published


def run_name(experiment: str, run: str | None, attempt: int) -> RunName | None:
    """Return the name of a workflow run on the results branch; None without a run's id.

    Raises:
        ConfigError: experiment or run cannot be the name of a folder.
    """
    try:
        return RunName(experiment=experiment, run=run, attempt=attempt) if run else None
    except ValidationError:
        raise ConfigError(f"--run {run}: {experiment!r} and {run!r} become folder names, so they must consist of "
                          "letters and digits, separated by single dots, dashes or underscores") from None  # fmt: skip


def origin_of(folder: RunFolder, origin: Origin, environ: Mapping[str, str]) -> Origin:
    """Fill in repository, branch, campaign and wave from the workflow run and the wave's plan."""
    packing = read_record(WavePaths(folder.root).packing, WavePacking)
    branch = origin.branch or (None if origin.pull else _branch(environ))
    known = {"repository": origin.repository or environ.get("GITHUB_REPOSITORY") or None, "branch": branch}
    if packing is not None:
        known |= {"campaign": origin.campaign or packing.campaign}
        return origin.model_copy(update={**known, "wave": origin.wave or packing.wave})
    return origin.model_copy(update=known)


def _branch(environ: Mapping[str, str]) -> str | None:
    """Return the branch of a workflow run; None for a pull request, since a fork may call its branch `main`."""
    is_branch = environ.get("GITHUB_REF_TYPE", "branch") == "branch" and not environ.get("GITHUB_HEAD_REF")
    return environ.get("GITHUB_REF_NAME") or None if is_branch else None
