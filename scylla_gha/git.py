"""git as the harness runs it: it trusts no configuration, neither the user's nor one that an agent could write.

Hooks, fsmonitor, external diff and text conversion are off, and nothing asks for a password.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scylla_gha import process

_OFF: Final = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null",
               "core.excludesFile=/dev/null", "core.autocrlf=false", "core.fileMode=true", "core.symlinks=true",
               "core.quotePath=false", "core.protectNTFS=false", "core.protectHFS=false", "protocol.ext.allow=never",
               "gc.auto=0")  # fmt: skip
_ENV: Final[Mapping[str, str]] = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


def run_git(
    git_dir: Path,
    *args: str,
    work_tree: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float | None = None,
) -> process.CapturedOutput:
    """Run git on a git directory; `env` is added to an environment that holds nothing of the caller's but PATH.

    Raises:
        ToolError: there is no git, or it did not end within `seconds`.
    """
    options = [part for setting in _OFF for part in ("-c", setting)]
    place = [f"--git-dir={git_dir}", *([f"--work-tree={work_tree}"] if work_tree else [])]
    whole = {**_ENV, **(env or {})}
    return process.capture(["git", *options, *place, *args], cwd=work_tree or git_dir, env=whole, stdin=stdin,
                        seconds=seconds)  # fmt: skip
