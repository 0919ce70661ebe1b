"""Classes of all expected failures, and their exit codes.

| code | meaning |
|---|---|
| 0 | done |
| 1 | a defect of the toolkit itself: please report it |
| 2 | wrong use of the command line |
| 3 | a configuration, scenario or record file is wrong |
| 4 | a fixture or repository cannot become the pinned start state |
| 5 | a tool is missing, too old, or not the pinned version |
| 6 | refused: the estimate is above the budget, or nobody confirmed |
| 7 | `validate --execute` found a scenario that does not hold |
| 8 | the run ended early; what was done is kept |
| 9 | the run ended since its budget is spent; what was done is kept and reported |
| 10 | a gate did not hold: `compare --fail-on`, or the experiment's |
| 11 | GitHub could not be asked, or refused: no access, no such repository, its rate limit, the network |
| 12 | `doctor` found something that is still to be set up |
| 130 | interrupted; what was done is kept |

A message names the file, key or cell, says what is wrong and what to do. What an agent does wrong is never an
exception: it is an Outcome.
"""

import errno
import os
import shutil
from pathlib import Path
from typing import Final

_LACKS: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EROFS, errno.EIO, errno.ENOMEM}
)
_FULL: Final = os.strerror(errno.ENOSPC)
_FREED_BYTES: Final = 512 * 1024 * 1024


def is_lack_of_the_host(error: OSError) -> bool:
    """Return True if the machine ran out of disk, descriptors or memory, whatever file was read or written."""
    return error.errno in _LACKS


def is_full_disk(message: str, folder: Path) -> bool:
    """Return True if a program's message says that the disk is full, and little space is free in the folder.

    The message alone is no evidence, since it may quote names that an agent chose. Little space is up to 512 MiB, which
    a program may have freed when it gave up.
    """
    return _FULL in message and shutil.disk_usage(folder).free < _FREED_BYTES


class ScyllaError(Exception):
    """Base of all expected failures; the command line prints the message and exits with `exit_code`."""

    exit_code = 1


class ConfigError(ScyllaError):
    """A YAML file or a stored record is not valid."""

    exit_code = 3


class FixtureError(ScyllaError):
    """The start state cannot be made, or is not the pinned one."""

    exit_code = 4


class ToolError(ScyllaError):
    """A program that is needed is missing, too old, or of another version than pinned."""

    exit_code = 5


class SandboxError(ToolError):
    """A sandbox is not available or was lost; its work can be repeated in another sandbox."""


class RefusedError(ScyllaError):
    """The run was refused before anything was paid for."""

    exit_code = 6


class ScenarioInvalidError(ScyllaError):
    """A scenario (no-op fails, solution passes, wrong ones fail) or an MCP server failed its validation."""

    exit_code = 7


class IncompleteError(ScyllaError):
    """The run stopped before all planned cells were done; the report says which are missing."""

    exit_code = 8


class BudgetError(ScyllaError):
    """The budget of the experiment or of a role was spent before all planned cells were done."""

    exit_code = 9


class GateError(ScyllaError):
    """A verdict does not meet the gate; the report is written nevertheless."""

    exit_code = 10


class GitHubError(ScyllaError):
    """GitHub gave no answer, or refused the request."""

    exit_code = 11


class SetupError(ScyllaError):
    """`doctor` found a part of the setup that is missing or wrong."""

    exit_code = 12
