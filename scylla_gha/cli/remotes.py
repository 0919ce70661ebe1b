"""The options that say where the results branch is, and a copy of it."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from scylla_gha import proc
from scylla_gha.errors import ConfigError
from scylla_gha.history.copy import Copy
from scylla_gha.history.remote import Remote, own_remote, remote_from

BRANCH = "scylla-results"
remote = click.option("--remote", metavar="URL-OR-PATH",
                      help="Repository of the results branch; else that of the workflow run, or `origin`.")  # fmt: skip
branch = click.option("--branch", default=BRANCH, show_default=True, metavar="NAME", help="The results branch.")


def chosen_remote(named: str | None) -> Remote:
    """The remote that is meant: as named, else of the workflow run, else `origin` of the current repository.

    Raises:
        ConfigError: there is none, or its address may not be used.
    """
    return remote_from(named or own_remote(os.environ) or _origin(), os.environ)


def _origin() -> str:
    done = proc.capture(["git", "config", "--get", "remote.origin.url"])
    found = done.stdout.decode(errors="replace").strip()
    if done.code or not found:
        raise ConfigError("--remote: say where the results branch is; this folder is in no repository with an `origin`")
    return found


@contextlib.contextmanager
def copy_of(named: str | None, branch: str) -> Iterator[Copy]:
    """A copy of the results branch, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="scylla-gha-") as root:
        yield Copy(Path(root), chosen_remote(named), branch)
