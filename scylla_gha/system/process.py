"""Start of processes; no other module starts any.

`capture` is for the harness's own short tools (git, uv). `run` is for untrusted programs (agents and checks): each has
a new session, outputs through pipes into files of limited size, and a time limit; at the limit, or when the caller's
`Cancel` is set, its process group ends (TERM, then KILL). A `Service` is a server of the harness, which ends when its
standard input ends. None of them outlives a harness that is killed.

An untrusted program's standard streams are pipes, so that it has no file of the harness open: through `/proc/self/fd`
it could open its descriptors again, and truncate and overwrite files.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from scylla_gha.errors import ToolError
from scylla_gha.system import watchers

_CHUNK_BYTES: Final = 1 << 16
_PIPE: Final = subprocess.PIPE
_BLOCK_BYTES: Final = 512  # the unit of `ulimit -f` in POSIX
# The first line of input is sent when its group is registered with the reaper; without one it ends. A shell reads a
# line of a pipe byte by byte, so what follows is the program's. `-u` limits a user's processes in bash, `-p` in dash.
_LIMITED: Final = (
    'read -r go || exit; ulimit -c 0; ulimit -f "$1"; '
    'ulimit -u "$2" 2>/dev/null || ulimit -p "$2" 2>/dev/null; shift 2; unset go; exec "$@"'
)
# The leader of a session gets a controlling terminal by opening it.
_ON_TERMINAL: Final = ("/bin/sh", "-c", 'exec <>"$1" >&0 2>&1; shift; exec "$@"', "sh")


@dataclass(slots=True)
class OutputPipe:
    """Pipe from the process, and the file that keeps its first `left` bytes; the others are dropped."""

    pipe: IO[bytes]
    file: IO[bytes]
    left: int
    cut: bool = False
    ended: bool = False

    def take(self, most: int = _CHUNK_BYTES) -> None:
        """Read once and keep the data; the pipe must have data, or have ended."""
        data = os.read(self.pipe.fileno(), most)
        self.ended = not data
        stored = memoryview(data)[: self.left]
        self.cut = self.cut or len(stored) < len(data)
        self.left -= len(stored)
        while stored:
            stored = stored[self.file.write(stored) :]

    def take_rest(self) -> None:
        """Keep the data that is in the pipe now; data written later is dropped."""
        remaining: int = struct.unpack("i", fcntl.ioctl(self.pipe, termios.FIONREAD, bytes(4)))[0]
        while remaining > 0 and not self.ended:
            size = min(remaining, _CHUNK_BYTES)
            self.take(size)
            remaining -= size


class InputPipe:
    """Pipe to the process, through which a first line and then a file are sent."""

    def __init__(self, pipe: IO[bytes], first: bytes, source: IO[bytes] | None) -> None:
        self.pipe = pipe
        self._pending = first
        self._source = source
        os.set_blocking(pipe.fileno(), False)

    @property
    def ended(self) -> bool:
        """True if all input is sent, or the process has closed it."""
        return self.pipe.closed

    def send(self) -> None:
        """Send as much input as the pipe can hold; close it after the last byte."""
        try:
            self._pending = self._pending[os.write(self.pipe.fileno(), self._pending) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending, self._source = b"", None
        self._pending = self._pending or (self._source.read(_CHUNK_BYTES) if self._source else b"")
        if not self._pending:
            self.close()

    def close(self) -> None:
        """Send the end of the input."""
        with contextlib.suppress(BrokenPipeError):
            self.pipe.close()


@dataclass(frozen=True, slots=True)
class ProcessPipes:
    """Three standard streams of a process."""

    stdin: InputPipe
    outputs: tuple[OutputPipe, OutputPipe]

    @property
    def cut(self) -> bool:
        """True if more output came than is kept."""
        return any(output.cut for output in self.outputs)

    def move(self, watched: Sequence[int], seconds: float) -> list[int]:
        """Move bytes once, or wait for one of the watched descriptors; return those that are ready."""
        sinks = [] if self.stdin.ended else [self.stdin.pipe.fileno()]
        sources = {output.pipe.fileno(): output for output in self.outputs if not output.ended}
        readable, writable, _ = select.select([*watched, *sources], sinks, [], max(seconds, 0))
        for descriptor in readable:
            if descriptor in sources:
                sources[descriptor].take()
        if writable:
            self.stdin.send()
        return [descriptor for descriptor in readable if descriptor in watched]

    def close(self) -> None:
        """Keep the data that is in the output pipes now, and close all pipes."""
        self.stdin.close()
        for output in self.outputs:
            output.take_rest()
            output.pipe.close()


class Cancel:
    """Flag that a thread sets to end all processes that wait on it."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def set(self) -> None:
        """Ask every process started with this flag to end; may be called more than once."""
        os.write(self._write, b"x")

    @property
    def is_set(self) -> bool:
        """True if `set` was called."""
        return self.wait(0)

    def fileno(self) -> int:
        """Return a descriptor that is readable once the flag is set."""
        return self._read

    def close(self) -> None:
        """Close its descriptors; nothing may use the flag afterwards."""
        for descriptor in (self._read, self._write):
            os.close(descriptor)

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`, or less if the flag is set; return True if it is."""
        return bool(select.select([self.fileno()], [], [], seconds)[0])


class LinkedCancel(Cancel):
    """Flag that is also set when one of the given descriptors is readable; close it before them."""

    def __init__(self, *descriptors: int) -> None:
        super().__init__()
        self._any = select.epoll()
        for descriptor in (self._read, *descriptors):
            self._any.register(descriptor, select.EPOLLIN)

    def fileno(self) -> int:
        """Return a descriptor that is readable once the flag is set."""
        return self._any.fileno()

    def close(self) -> None:
        """Close the flag's descriptors; linked descriptors stay open."""
        self._any.close()
        super().close()


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits: wall time in seconds, bytes of a file, processes of the user; `grace_seconds` between TERM and KILL."""

    seconds: float
    file_bytes: int = 256 * 1024 * 1024
    processes: int = 4096
    grace_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class ProcessStreams:
    """Files of a process's input and outputs, which the process reaches by pipes. A `terminal` replaces all three."""

    stdout: Path
    stderr: Path
    stdin: Path | None = None
    terminal: Path | None = None


class LimitHit(StrEnum):
    """Limit that a program in a sandbox reached, or loss of the sandbox; an observation, not yet a cause."""

    OUTPUT = "output"
    MEMORY = "memory"
    DISK = "disk"
    PROCESSES = "processes"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class FinishedProcess:
    """End of a process: exit code (negative: minus the signal), wall seconds, and the reason if it was ended.

    `hits` are the limits that the sandbox saw reached, as far as it can see them; `note` describes them in words.
    """

    code: int
    seconds: float
    timed_out: bool = False
    cancelled: bool = False
    hits: frozenset[LimitHit] = frozenset()
    note: str = ""


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """Exit code and output of a short tool."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def message(self) -> str:
        """End of its output, for an error message."""
        return (self.stderr or self.stdout).decode(errors="replace").strip()[-2000:]


def capture(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float | None = None,
) -> CapturedOutput:
    """Run a trusted tool and return its output.

    Raises:
        ToolError: the program is missing, or did not end within `seconds`.
    """
    try:
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE)
    except (FileNotFoundError, PermissionError) as error:
        raise ToolError(f"{argv[0]}: not found; install it, or put it on PATH ({error})") from None
    watchers.register("TERM", process.pid)
    with process:
        try:
            stdout, stderr = process.communicate(stdin, seconds)
        except subprocess.TimeoutExpired:
            raise ToolError(f"{' '.join(argv[:4])}: did not end within {seconds:g} s") from None
        finally:
            process.kill()  # does nothing to one that has ended
            watchers.unregister("TERM", process.pid)
    return CapturedOutput(process.returncode, stdout, stderr)


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    streams: ProcessStreams,
    limits: ProcessLimits,
    cancel: Cancel | None = None,
) -> FinishedProcess:
    """Run an untrusted program to its end and leave no process of its group behind.

    Raises:
        ToolError: the program cannot be started.
    """
    blocks = max(1, limits.file_bytes // _BLOCK_BYTES)
    terminal = (*_ON_TERMINAL, str(streams.terminal)) if streams.terminal else ()
    wrapped = ["/bin/sh", "-c", _LIMITED, "sh", str(blocks), str(limits.processes), *terminal, *argv]
    started = time.monotonic()
    with contextlib.ExitStack() as files:
        source = files.enter_context(streams.stdin.open("rb")) if streams.stdin else None
        outputs = [files.enter_context(path.open("wb", buffering=0)) for path in (streams.stdout, streams.stderr)]
        try:
            process = subprocess.Popen(
                wrapped,
                cwd=cwd,
                env=dict(env),
                stdin=_PIPE,
                stdout=_PIPE,
                stderr=_PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(f"{argv[0]}: cannot be started in {cwd}: {error}") from None
        watchers.register("KILL", -process.pid)
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 they are pipes
        ends = zip((process.stdout, process.stderr), outputs, strict=True)
        first, second = (OutputPipe(pipe, file, blocks * _BLOCK_BYTES) for pipe, file in ends)
        pipes = ProcessPipes(InputPipe(process.stdin, b"\n", source), (first, second))
        return _wait(process, pipes, started, limits, cancel)


class Service:
    """Server of the harness in a new session, which answers one line and must end when its input ends."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            ToolError: the program cannot be started.
        """
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the process
        self._last_stderr = b""
        try:
            self._process = subprocess.Popen(
                argv, env=dict(env), stdin=_PIPE, stdout=_PIPE, stderr=self._stderr, start_new_session=True
            )
        except OSError as error:
            self._stderr.close()
            raise ToolError(f"{argv[0]}: cannot be started: {error}") from None

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True if it runs."""
        return self._process.poll() is None

    @property
    def message(self) -> str:
        """End of its standard error."""
        if not self._stderr.closed:
            self._stderr.seek(0)
            self._last_stderr = self._stderr.read()
        return self._last_stderr.decode(errors="replace").strip()[-2000:]

    def converse(self, line: bytes, seconds: float) -> str:
        """Send a line and return the answer; empty if it ends, or prints nothing within `seconds`."""
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018 they are pipes
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        ready = select.select([self._process.stdout], [], [], seconds)[0]
        return self._process.stdout.readline().decode(errors="replace").strip() if ready else ""

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
                with contextlib.suppress(BrokenPipeError):  # a line that it did not read
                    pipe.close()


def _wait(
    process: subprocess.Popen[bytes], pipes: ProcessPipes, started: float, limits: ProcessLimits, cancel: Cancel | None
) -> FinishedProcess:
    """Wait for the end, a limit or the cancel flag; then end all processes of the group."""
    handle, seconds = os.pidfd_open(process.pid), limits.seconds
    exit_time = watchers.watch_exit(handle)
    try:
        watched = [handle] if cancel is None else [handle, cancel.fileno()]
        woken = _watch(watched, pipes, started + seconds)
        ended, timed_out = handle in woken, not woken and not pipes.cut
        elapsed = time.monotonic() - started
        if ended and elapsed > seconds:  # this process may have been stopped meanwhile
            elapsed = (exit_time.read() or started + seconds) - started
            timed_out = elapsed > seconds
        elif not ended:
            _signal_group(process.pid, signal.SIGTERM)
            grace = time.monotonic() + limits.grace_seconds
            while not pipes.move([handle], left := grace - time.monotonic()) and left > 0:
                pass
            elapsed = time.monotonic() - started
        pipes.close()
    finally:
        # The leader is not reaped yet, so its group id cannot belong to anybody else.
        _signal_group(process.pid, signal.SIGKILL)
        watchers.unregister("KILL", -process.pid)
        exit_time.close()
        os.close(handle)
        code = process.wait()
    hits = frozenset({LimitHit.OUTPUT} if pipes.cut else ())
    return FinishedProcess(code, elapsed, timed_out, not ended and bool(woken), hits)


def _watch(watched: list[int], pipes: ProcessPipes, until: float) -> list[int]:
    """Return the descriptors that became ready; none at the time limit, or if an output is full before it.

    It checks once more at the limit: the program may have ended while this process was stopped.
    """
    while not pipes.cut:
        left = until - time.monotonic()
        if (woken := pipes.move(watched, left)) or left <= 0:
            return woken
    return []


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # all of the group has ended
        os.killpg(group, number)
