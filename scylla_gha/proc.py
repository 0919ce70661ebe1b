"""The only place that starts processes; `orphans` has one more, which ends them when the harness is killed.

Three ways: `capture` for the harness's own short tools (git, uv); `run` for what is not trusted (agents, and checks
that execute what an agent wrote): own session, output to files with a size limit set by the kernel, a time limit that
ends the whole process group (TERM, then KILL), and an end when the caller's `Cancel` is set; `start` for the harness's
own servers, which end when their standard input does. Nothing of the three outlives a harness that is killed.
"""

import contextlib
import functools
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from scylla_gha import orphans
from scylla_gha.errors import ToolError

_GRACE_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.5
_PIPE: Final = subprocess.PIPE
_BLOCK_BYTES: Final = 512  # the unit of `ulimit -f` in POSIX
# It begins with a line of input, which is sent when its group is known to `orphans`; where that is never sent, it ends.
# `-u` is bash's name of the limit on a user's processes, `-p` is dash's.
_LIMITED: Final = (
    'read -r go || exit; exec <"$1"; ulimit -c 0; ulimit -f "$2"; '
    'ulimit -u "$3" 2>/dev/null || ulimit -p "$3" 2>/dev/null; shift 3; unset go; exec "$@"'
)
# The first of a session becomes the master of a terminal by opening it.
_ON_TERMINAL: Final = ("/bin/sh", "-c", 'exec <>"$1" >&0 2>&1; shift; exec "$@"', "sh")


class Cancel:
    """A flag that ends all processes that wait on it, from any thread."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def set(self) -> None:
        """Ask every process started with this flag to end; may be called more than once."""
        os.write(self._write, b"x")

    @property
    def is_set(self) -> bool:
        """Whether `set` was called."""
        return bool(select.select([self._read], [], [], 0)[0])

    def fileno(self) -> int:
        """A descriptor that is readable once the flag is set."""
        return self._read

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`, or less when the flag is set; True when it is."""
        return bool(select.select([self._read], [], [], seconds)[0])


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may use: wall time in seconds, bytes of any one file it writes, processes of its user."""

    seconds: float
    file_bytes: int = 256 * 1024 * 1024
    processes: int = 4096


@dataclass(frozen=True, slots=True)
class Streams:
    """Where a process reads and writes; both outputs are files, so no reader can be blocked by a leftover child.

    Where there is a `terminal`, a device that nobody else has, that is all three, and the files stay empty.
    """

    stdout: Path
    stderr: Path
    stdin: Path | None = None
    terminal: Path | None = None


class Hit(StrEnum):
    """A limit that something in a sandbox ran into, or that the sandbox itself was lost; facts, not yet causes."""

    OUTPUT = "output"
    MEMORY = "memory"
    DISK = "disk"
    PROCESSES = "processes"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Finished:
    """How a process ended: exit code (negative: minus the signal), wall seconds, and why it was ended, if it was.

    `hits` are what the sandbox saw beside that, as far as it can see it; `note` tells more of them in words.
    """

    code: int
    seconds: float
    timed_out: bool = False
    cancelled: bool = False
    hits: frozenset[Hit] = frozenset()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Captured:
    """Exit code and output of a short tool."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def message(self) -> str:
        """The end of what the tool said, for an error message."""
        return (self.stderr or self.stdout).decode(errors="replace").strip()[-2000:]


def capture(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float | None = None,
) -> Captured:
    """Run a trusted tool and return its output.

    Raises:
        ToolError: the program is missing, or did not end within `seconds`.
    """
    try:
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE)
    except (FileNotFoundError, PermissionError) as error:
        raise ToolError(f"{argv[0]}: not found; install it, or put it on PATH ({error})") from None
    orphans.begin("TERM", process.pid)
    with process:
        try:
            stdout, stderr = process.communicate(stdin, seconds)
        except subprocess.TimeoutExpired:
            raise ToolError(f"{' '.join(argv[:4])}: no end after {seconds:g} s") from None
        finally:
            process.kill()  # does nothing to one that has ended
            orphans.finish("TERM", process.pid)
    return Captured(process.returncode, stdout, stderr)


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    streams: Streams,
    limits: Limits,
    cancel: Cancel | None = None,
) -> Finished:
    """Run an untrusted program to its end and leave no process of its group behind.

    Raises:
        ToolError: the program cannot be started.
    """
    blocks = max(1, limits.file_bytes // _BLOCK_BYTES)
    source = str((streams.stdin or Path(os.devnull)).absolute())
    on = (*_ON_TERMINAL, str(streams.terminal)) if streams.terminal else ()
    wrapped = ["/bin/sh", "-c", _LIMITED, "sh", source, str(blocks), str(limits.processes), *on, *argv]
    started = time.monotonic()
    with streams.stdout.open("wb") as out, streams.stderr.open("wb") as err:
        try:
            process = subprocess.Popen(wrapped, cwd=cwd, env=dict(env), stdin=_PIPE, stdout=out, stderr=err,
                                       start_new_session=True)  # fmt: skip
        except OSError as error:
            raise ToolError(f"{argv[0]}: cannot be started in {cwd}: {error}") from None
        orphans.begin("KILL", -process.pid)
        _let_go(process)
        full = functools.partial(_is_full, (out.fileno(), err.fileno()), blocks * _BLOCK_BYTES)
        return _wait(process, started, limits.seconds, cancel, full)


class Service:
    """A process that `start` started. It is told one line, answers with one line, and then runs until it is stopped."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
        self._process = process
        self._stderr = stderr
        self._said = b""

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def message(self) -> str:
        """The end of what it said on standard error."""
        if not self._stderr.closed:
            self._stderr.seek(0)
            self._said = self._stderr.read()
        return self._said.decode(errors="replace").strip()[-2000:]

    def converse(self, line: bytes, seconds: float) -> str:
        """Tell it a line and return its answer; empty where it ends, or says nothing within `seconds`."""
        told, answers = self._process.stdin, self._process.stdout
        if told is None or answers is None:
            return ""
        with contextlib.suppress(BrokenPipeError):
            told.write(line + b"\n")
            told.flush()
        ready = select.select([answers], [], [], seconds)[0]
        return answers.readline().decode(errors="replace").strip() if ready else ""

    def stop(self, grace_seconds: float) -> None:
        """End its whole group: TERM, and KILL after the grace. May be called more than once, from any thread."""
        if self.alive:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_seconds)
        if self.alive:
            _signal_group(self.pid, signal.SIGKILL)
            self._process.wait()
        self.message  # noqa: B018 kept before its file is closed
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            if pipe is not None:
                pipe.close()


def start(argv: Sequence[str], *, env: Mapping[str, str]) -> Service:
    """Start a server of the harness in a session of its own; it has to end when its standard input ends.

    Raises:
        ToolError: the program cannot be started.
    """
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the process
    try:
        process = subprocess.Popen(argv, env=dict(env), stdin=_PIPE, stdout=_PIPE, stderr=stderr,
                                   start_new_session=True)  # fmt: skip
    except OSError as error:
        stderr.close()
        raise ToolError(f"{argv[0]}: cannot be started: {error}") from None
    return Service(process, stderr)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Send the line of input that a program waits for."""
    assert process.stdin is not None  # noqa: S101 it is a pipe
    with contextlib.suppress(BrokenPipeError), process.stdin as gate:
        gate.write(b"\n")


def _is_full(outputs: Sequence[int], most: int) -> bool:
    """Whether an output is at the kernel's limit of a file, so that what the process says further is lost."""
    return any(os.fstat(output).st_size >= most for output in outputs)


def _wait(
    process: subprocess.Popen[bytes], started: float, seconds: float, cancel: Cancel | None, full: Callable[[], bool]
) -> Finished:
    """Wait for the end, a limit or the cancel; then end what is left of the group."""
    handle = os.pidfd_open(process.pid)
    try:
        watched = [handle] if cancel is None else [handle, cancel.fileno()]
        woken, timed_out = _watch(watched, started + seconds, full)
        ended = handle in woken
        if not ended:
            _signal_group(process.pid, signal.SIGTERM)
            select.select([handle], [], [], _GRACE_SECONDS)
        # The leader is not reaped yet, so its group id cannot belong to anybody else.
        _signal_group(process.pid, signal.SIGKILL)
    finally:
        orphans.finish("KILL", -process.pid)
        os.close(handle)
    code = process.wait()
    hits = {Hit.OUTPUT} if full() else set()
    cancelled = not ended and bool(woken)
    return Finished(code, time.monotonic() - started, timed_out, cancelled, frozenset(hits))


def _watch(watched: list[int], until: float, full: Callable[[], bool]) -> tuple[list[int], bool]:
    """What woke it, and whether nothing did until the time limit; neither where an output is full before."""
    while (left := until - time.monotonic()) > 0:
        if woken := select.select(watched, [], [], min(left, _LOOK_SECONDS))[0]:
            return woken, False
        if full():
            return [], False
    return [], True


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # all of the group is gone already, which is what we want
        os.killpg(group, number)
