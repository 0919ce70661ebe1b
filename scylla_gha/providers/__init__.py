"""Model providers and their credentials. To add one, write its class in a folder and add a line to `PROVIDERS`.

Credentials are removed from the environment when a command starts, and passed to the gateway only: no process that a
command starts (npm, uv, git, an agent CLI) inherits them.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from scylla_gha.providers.anthropic import Anthropic
from scylla_gha.providers.base import Provider

PROVIDERS: Final[Mapping[str, Provider]] = {"anthropic": Anthropic()}
DEFAULT_PROVIDER: Final = "anthropic"
NAMES: Final = (
    *(name for provider in PROVIDERS.values() for name in provider.secret_variables),
    "ACTIONS_RUNTIME_TOKEN",  # with it a process could act as the job
)
FIXTURE_TOKENS: Final = "SCYLLA_FIXTURE_TOKEN"  # begins the names of tokens for repositories on github.com
_SET_DUMPABLE: Final = 4  # PR_SET_DUMPABLE of <linux/prctl.h>
_HIDDEN: Final[dict[str, str]] = {}


@contextmanager
def hide_credentials() -> Iterator[None]:
    """Hide the credentials from other processes of this user while a command runs; see `provider_environment`.

    It also closes this process's memory and `/proc/PID/environ`, which shows the environment that it was started with.
    Root can read both.
    """
    names = [name for name in os.environ if name in NAMES or name.startswith(FIXTURE_TOKENS)]
    hidden = {name: os.environ.pop(name) for name in names}
    _HIDDEN.update(hidden)
    if hidden:
        close_memory()
    try:
        yield
    finally:
        for name in hidden:
            del _HIDDEN[name]
        os.environ.update(hidden)


def provider_environment() -> Mapping[str, str]:
    """Return the environment that the command was started with, with credentials; never pass it to a process."""
    return {**os.environ, **_HIDDEN}


def has_access(environ: Mapping[str, str]) -> bool:
    """Tell if an environment gives access to a provider: by a key, a token, or an identity to exchange for one."""
    return any(provider.credentials(environ) for provider in PROVIDERS.values())


def close_memory() -> None:
    """Prevent other processes of this user, except root's, from tracing this one and reading its memory.

    Processes that it starts are not protected. There is no core dump either.
    """
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
