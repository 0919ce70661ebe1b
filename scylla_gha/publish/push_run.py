"""Publication of a run on the results branch, and the name and origin under which it is stored there."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from pydantic import ValidationError

from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.plan import Plan, WavePacking
from scylla_gha.model.publication import Origin, RunIndexEntry, RunName
from scylla_gha.model.report import Report
from scylla_gha.results_branch.clone import BranchClone, GitRemote, chosen_remote
from scylla_gha.results_branch.publish_run import PublishedRun, PushBackoff, RunToPublish, pack_run, publish_run
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder, WavePaths


@dataclass(frozen=True, slots=True)
class ResultsBranch:
    """A results branch of a remote."""

    remote: GitRemote
    name: str


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


def publish_to_branch(
    folder: RunFolder, branch: ResultsBranch, name: RunName | None, origin: Origin, backoff: PushBackoff = PushBackoff()
) -> PublishedRun:
    """Put rows and report of a run on the results branch, once.

    Args:
        folder: of the run.
        branch: the results branch.
        name: of the run there; None: a local run, named after a digest of its content.
        origin: the repository, commit and pull request that were evaluated.
        backoff: number of attempts, and the pauses between them.

    Raises:
        ConfigError: plan or report is missing, or the branch has the run with other content.
        GitHubError: the branch cannot be pushed to.
        RefusedError: the run is a replay.
    """
    plan, report = stored_report(folder)
    if report.replayed:
        raise RefusedError(f"{folder.root}: a replay measures nothing, so it is not published on {branch.name}, where "
                           "later runs would be compared with it; publish a run without --replay")  # fmt: skip
    packed = pack_run(folder.results, folder.report("json"))
    run_name = name or RunName(experiment=folder.root.name, run=f"local-{packed.content[:12]}")
    with tempfile.TemporaryDirectory(prefix="scylla-gha-") as root:
        clone = BranchClone(Path(root), branch.remote, branch.name)
        return publish_run(clone, RunToPublish(run_name, origin, plan, report, packed), backoff)


@dataclass(frozen=True, slots=True)
class BranchTarget:
    """A branch of a remote (None: the default one), and the workflow run's id (None: a digest of the content)."""

    branch: str
    remote: str | None = None
    run: str | None = None
    attempt: int = 1


def push_run(folder: RunFolder, target: BranchTarget, origin: Origin) -> RunIndexEntry:
    """Push rows and report of a run to the results branch, and report it on standard error.

    Args:
        folder: of the run.
        target: branch and name.
        origin: what was evaluated; missing repository, branch, campaign and wave are filled in.

    Raises:
        ConfigError: plan or report is missing, or the branch has the run with other content.
        GitHubError: the branch cannot be pushed to.
    """
    name = _name(folder.root.name, target.run, target.attempt) if target.run else None
    branch = ResultsBranch(chosen_remote(target.remote), target.branch)
    published = publish_to_branch(folder, branch, name, origin_of(folder, origin, os.environ))
    state = "published" if published.new else "already published"
    click.echo(f"{published.entry.name}: {state} on {target.branch}: {published.entry.folder}", err=True)
    return published.entry


def _name(experiment: str, run: str, attempt: int) -> RunName:
    try:
        return RunName(experiment=experiment, run=run, attempt=attempt)
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
