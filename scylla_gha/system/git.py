"""Runs git without trusting any configuration, neither the user's nor one that an agent could write.

Hooks, fsmonitor, external diff and text conversion are off, and nothing asks for a password.
"""

import os
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import ToolError
from scylla_gha.system import process

_SAFE_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.quotePath=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "protocol.ext.allow=never",
    "gc.auto=0",
)
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

# A shell sets the limit of address space in KiB. With one thread, and large files streamed, git needs little of it.
_LIMITED: Final = ("/bin/sh", "-c", 'ulimit -v "$1"; shift; exec "$@"', "sh")
_BOUNDED: Final = ("/bin/sh", "-c", 'ulimit -v "$1"; ulimit -f "$2"; exec >"$3"; shift 3; exec "$@"', "sh")
_BLOCK_BYTES: Final = 512  # the unit of `ulimit -f` in POSIX
_LOW_MEMORY: Final = ("-c", "pack.threads=1", "-c", "core.bigFileThreshold=1m", "-c", "pack.windowMemory=64m")
_MEMORY_KIB: Final = 2 * 1024 * 1024


class GitOutputError(ToolError):
    """The output of git is larger than its limit."""


def run_git(
    git_dir: Path,
    *args: str,
    work_tree: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float | None = None,
    most_bytes: int | None = None,
) -> process.CapturedOutput:
    """Run git on a git directory, with fixed environment variables, the caller's PATH, and `env`.

    `most_bytes` limits its output and every file that it writes; then its memory is limited too.

    Raises:
        GitOutputError: its output exceeds `most_bytes`.
        ToolError: there is no git, or it did not end within `seconds`.
    """
    options = [part for setting in _SAFE_SETTINGS for part in ("-c", setting)]
    folders = [f"--git-dir={git_dir}", *([f"--work-tree={work_tree}"] if work_tree else [])]
    variables = {**_ENV, **(env or {})}
    argv, folder = ["git", *options, *folders, *args], work_tree or git_dir
    if most_bytes is None:
        return process.capture(argv, cwd=folder, env=variables, stdin=stdin, seconds=seconds)
    with tempfile.NamedTemporaryFile(prefix="scylla-git-") as file:
        limits = [str(_MEMORY_KIB), str(most_bytes // _BLOCK_BYTES), file.name]
        done = process.capture([*_BOUNDED, *limits, *argv], cwd=folder, env=variables, stdin=stdin, seconds=seconds)
        if done.code == -signal.SIGXFSZ:
            raise GitOutputError(f"git {args[0]}: its output is larger than {counted(most_bytes, 'byte')}")
        return replace(done, stdout=file.read())


def run_git_limited(
    git_dir: Path, *args: str, stdin: bytes, limits: process.ProcessLimits, env: Mapping[str, str] | None = None
) -> bytes:
    """Run git on untrusted input and return its output; git and its child processes share the limits.

    Raises:
        ToolError: it failed, or reached a limit.
    """
    options = [*_LOW_MEMORY, *(part for setting in _SAFE_SETTINGS for part in ("-c", setting))]
    with tempfile.TemporaryDirectory(prefix="scylla-git-") as folder:
        files = process.ProcessStreams(*(Path(folder) / name for name in ("stdout", "stderr", "stdin")))
        assert files.stdin is not None  # noqa: S101 the third one
        files.stdin.write_bytes(stdin)
        argv = [*_LIMITED, str(_MEMORY_KIB), "git", *options, f"--git-dir={git_dir}", *args]
        ended = process.run(argv, cwd=git_dir, env={**_ENV, **(env or {})}, streams=files, limits=limits)
        if ended.timed_out:
            raise ToolError(f"git {args[0]}: did not end within {limits.seconds:g} s")
        if ended.code or ended.hits:
            message = files.stderr.read_bytes()[-1000:].decode(errors="replace").strip()
            raise ToolError(message or f"git {args[0]}: ended with exit code {ended.code}")
        return files.stdout.read_bytes()
