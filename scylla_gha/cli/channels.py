"""The channel to GitHub that commands write through, by the variables of Actions."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from scylla_gha.errors import ConfigError
from scylla_gha.github.access import access_from
from scylla_gha.github.channel import Channel
from scylla_gha.github.patience import Patience


@contextmanager
def open_channel() -> Iterator[Channel]:
    """A channel to GITHUB_REPOSITORY; how many requests it took is said in the end.

    Raises:
        ConfigError: no repository or no token is given.
    """
    repository, access = os.environ.get("GITHUB_REPOSITORY", ""), access_from(os.environ)
    if not repository:
        raise ConfigError("GITHUB_REPOSITORY is not set; set it to OWNER/REPO")
    if access.token is None:
        raise ConfigError(
            "GITHUB_TOKEN is not set; a step of Actions gets it by `env: GITHUB_TOKEN: ${{ github.token }}`"
        )
    channel = Channel(access, repository, Patience(lambda text: click.echo(text, err=True)))
    try:
        yield channel
    finally:
        click.echo(f"{channel.calls} API calls", err=True)
