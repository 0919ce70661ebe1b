"""Credentials of a provider: taken out of the environment when a command starts, and given to the gateway alone.

Nothing that a command starts (npm, uv, git, an agent CLI that is asked for its version) inherits them.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from scylla_gha.gateway.federation import ASK, Federation

KEY: Final = "ANTHROPIC_API_KEY"
BEARERS: Final = ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")  # the second is of a subscription
NAMES: Final = (KEY, *BEARERS, *ASK, "ACTIONS_RUNTIME_TOKEN")  # by the last ones a process could act as the job
_SET_DUMPABLE: Final = 4  # PR_SET_DUMPABLE of <linux/prctl.h>
_TAKEN: Final[dict[str, str]] = {}


@contextmanager
def withheld() -> Iterator[None]:
    """Keep the credentials from every other process of this user while a command runs; `environment` has them.

    This process closes its memory and its first environment (`/proc/PID/environ` shows for ever what it was started
    with). To root all is open.
    """
    taken = {name: os.environ.pop(name) for name in NAMES if name in os.environ}
    _TAKEN.update(taken)
    if taken:
        _close_memory()
    try:
        yield
    finally:
        for name in taken:
            del _TAKEN[name]
        os.environ.update(taken)


def environment() -> Mapping[str, str]:
    """The environment that the command was started with, credentials included; never for a process that is started."""
    return {**os.environ, **_TAKEN}


def has_access(environ: Mapping[str, str]) -> bool:
    """Tell if an environment gives access to a provider: by a key, a token, or an identity to exchange for one."""
    return any(environ.get(name) for name in (KEY, *BEARERS)) or Federation.of(environ) is not None


def _close_memory() -> None:
    """Let no other process of this user, unless it is root's, trace this one, or read its memory and environment.

    It holds for this process alone: what it starts can be read. There is no core dump of it either.
    """
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
