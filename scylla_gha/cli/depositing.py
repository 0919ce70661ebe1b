"""Putting a run on the results branch: what it is called there, and what it is said to come from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import click
from pydantic import ValidationError

from scylla_gha import publish
from scylla_gha.cli import remotes
from scylla_gha.errors import ConfigError
from scylla_gha.model.published import Entry, Origin, RunName
from scylla_gha.model.shards import Packing
from scylla_gha.shelves import Shelves
from scylla_gha.store import RunFolder, read_record


@dataclass(frozen=True, slots=True)
class Deposit:
    """Where a run is put: a branch of a remote (None: as found), under the id of a workflow run (None: its content)."""

    branch: str
    remote: str | None = None
    run: str | None = None
    attempt: int = 1


def deposit(folder: RunFolder, where: Deposit, told: Origin) -> Entry:
    """Put the rows and the report of a run on the results branch, and say so on standard error.

    Args:
        folder: of the run.
        where: to put it.
        told: what was evaluated. Repository, branch, campaign and wave are filled in where they are not told.

    Raises:
        ConfigError: something is not there to be published, or the run is there with other content.
        GitHubError: the branch cannot be pushed to.
    """
    name = _name(folder.root.name, where.run, where.attempt) if where.run else None
    to = publish.Branch(remotes.chosen_remote(where.remote), where.branch)
    made = publish.to_branch(folder, to, name, origin_of(folder, told, os.environ))
    said = "published" if made.new else "was there already"
    click.echo(f"{made.entry.name}: {said} on {where.branch}: {made.entry.folder}", err=True)
    return made.entry


def _name(experiment: str, run: str, attempt: int) -> RunName:
    try:
        return RunName(experiment=experiment, run=run, attempt=attempt)
    except ValidationError:
        raise ConfigError(f"--run {run}: {experiment!r} and {run!r} become names of folders: letters and digits, with "
                          "single dots, dashes or underscores in between") from None  # fmt: skip


def origin_of(folder: RunFolder, told: Origin, environ: Mapping[str, str]) -> Origin:
    """With what the workflow run and the wave's plan say beside."""
    packing = read_record(Shelves(folder.root).packing, Packing)
    branch = told.branch or (None if told.pull else _ref(environ))
    known = {"repository": told.repository or environ.get("GITHUB_REPOSITORY") or None, "branch": branch}
    if packing is not None:
        known |= {"campaign": told.campaign or packing.campaign}
        return told.model_copy(update={**known, "wave": told.wave or packing.wave})
    return told.model_copy(update=known)


def _ref(environ: Mapping[str, str]) -> str | None:
    """The branch that a workflow run is of; that of a pull request is none, since a fork may call it `main`."""
    is_branch = environ.get("GITHUB_REF_TYPE", "branch") == "branch" and not environ.get("GITHUB_HEAD_REF")
    return environ.get("GITHUB_REF_NAME") or None if is_branch else None
