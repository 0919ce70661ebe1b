"""Fixtures on github.com: a repository is seeded from `github.yaml`, reset after a trial, and verified by a digest.

The wanted state is read from a hub that is built from the fixture, with the query and the canonical form that are also
used for the repository, so `github.yaml` has one interpretation. This module reads the users' tokens from environment
variables.
"""

import re
from collections.abc import Mapping
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.providers import FIXTURE_VARIABLE_PREFIX

TOKEN_LIST: Final = f"{FIXTURE_VARIABLE_PREFIX}S"


def token_variable(user: str) -> str:
    """Return the name of the environment variable with a user's token."""
    return f"{FIXTURE_VARIABLE_PREFIX}_{re.sub(r'[^A-Z0-9]', '_', user.upper())}"


def fixture_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with one more variable for each token of the list SCYLLA_FIXTURE_TOKENS.

    A line of the list is USER=TOKEN, so a workflow needs only one secret for all users.

    Raises:
        ConfigError: a line is malformed; the message does not show the line.
    """
    tokens: dict[str, str] = {}
    for number, line in enumerate(environ.get(TOKEN_LIST, "").splitlines(), 1):
        user, mark, token = line.strip().partition("=")
        if line.strip() and not (mark and user.strip() and re.fullmatch(r"[!-~]+", token.strip())):
            raise ConfigError(f"{TOKEN_LIST}: line {number}: is not USER=TOKEN; correct the secret")
        tokens |= {token_variable(user.strip()): token.strip()} if line.strip() else {}
    return {**environ, **tokens}


def tokens_of(environ: Mapping[str, str]) -> list[str]:
    """Return all fixture tokens in an environment, including the tokens in SCYLLA_FIXTURE_TOKENS."""
    prefix = f"{FIXTURE_VARIABLE_PREFIX}_"
    return [
        text.strip() for name, text in fixture_environment(environ).items() if name.startswith(prefix) and text.strip()
    ]
