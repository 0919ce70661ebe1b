"""Connects the user to a process in a sandbox, by a terminal or by pipes."""

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Final

from scylla_gha.system.future_wait import wait_for_any
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessStreams

_POLL_SECONDS: Final = 0.1
_LAST_OUTPUT_SECONDS: Final = 1.0
_CHUNK_BYTES: Final = 1 << 16
Run = Callable[[ProcessStreams], FinishedProcess]


def attach_tty(run: Run, folder: Path, cancel: Cancel) -> FinishedProcess:
    """Run a process on a new terminal that is connected with the user's terminal until the process ends.

    The user's terminal is always restored.
    """
    with _terminal() as (master, slave), ThreadPoolExecutor(1) as pool:
        _copy_size(slave)
        streams = ProcessStreams(folder / "stdout", folder / "stderr", terminal=Path(os.ttyname(slave)))
        running = pool.submit(run, streams)
        watcher = _TerminalWatcher(running, slave)
        with _cancel_on_error(cancel), raw(sys.stdin.fileno()):
            copies = (FdCopy(sys.stdin.fileno(), master), FdCopy(master, sys.stdout.fileno()))
            copy_fds(copies, watcher.is_over)
        cancel.set()  # the user may have closed the terminal
        return running.result()


def attach_pipes(run: Run, folder: Path, cancel: Cancel, *, script: bool) -> FinishedProcess:
    """Copy the outputs of a process while it runs. It gets this process's input if `script` is True, else none."""
    stdin = folder / "stdin"
    stdin.write_bytes(sys.stdin.buffer.read() if script else b"")
    streams = ProcessStreams(folder / "stdout", folder / "stderr", stdin)
    for path in (streams.stdout, streams.stderr):
        path.touch()
    with (
        ThreadPoolExecutor(1) as pool,
        _cancel_on_error(cancel),
        streams.stdout.open("rb") as out,
        streams.stderr.open("rb") as err,
    ):
        running = pool.submit(run, streams)
        while not _has_ended(running, _POLL_SECONDS):
            _print_new_output(out, err)
        _print_new_output(out, err)
        return running.result()


@contextlib.contextmanager
def raw(terminal: int) -> Iterator[None]:
    """Make a terminal pass each key on unchanged in the block, and restore it afterwards."""
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """Turn TERM and HUP into SystemExit in the block, so that `finally` blocks restore everything."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    kinds = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(kind, leave) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


@dataclass(slots=True)
class FdCopy:
    """One direction of a copy between file descriptors; `pending` are bytes that were read but not yet written."""

    source: int
    sink: int
    pending: bytes = b""

    def move(self, readable: list[int], writable: list[int]) -> bool:
        """Copy bytes if that is possible without waiting; return False after the end of the source or of the sink."""
        try:
            if self.source in readable and not self.pending:
                self.pending = os.read(self.source, _CHUNK_BYTES)
                if not self.pending:
                    return False
            if self.pending and (self.sink in writable or self.source in readable):
                self.pending = self.pending[os.write(self.sink, self.pending) :]
        except BlockingIOError:
            return True
        except OSError:  # EIO: no process is on the terminal any more
            return False
        return True


def copy_fds(copies: tuple[FdCopy, FdCopy], is_done: Callable[[bool], bool]) -> None:
    """Copy in both directions until one ends, or until `is_done` returns True.

    Its argument is True if no byte could be copied.
    """
    while True:
        reading = [copy.source for copy in copies if not copy.pending]
        writing = [copy.sink for copy in copies if copy.pending]
        readable, writable, _ = select.select(reading, writing, [], _POLL_SECONDS)
        first, second = (copy.move(readable, writable) for copy in copies)
        if not (first and second):
            return
        if is_done(not readable and not writable):
            return


class _TerminalWatcher:
    """Watcher of a process on a terminal while bytes are copied."""

    def __init__(self, running: "Future[FinishedProcess]", slave: int) -> None:
        self._running, self._slave = running, slave
        self._ended: float | None = None

    def is_over(self, quiet: bool) -> bool:
        """Return True when the process has ended and its last output was copied."""
        if not _has_ended(self._running, 0):
            _copy_size(self._slave)
            return False
        self._ended = self._ended or time.monotonic()
        return quiet or time.monotonic() > self._ended + _LAST_OUTPUT_SECONDS


@contextlib.contextmanager
def _terminal() -> Iterator[tuple[int, int]]:
    master, slave = os.openpty()
    try:
        os.set_blocking(master, False)
        yield master, slave
    finally:
        os.close(slave)
        os.close(master)


def _has_ended(running: Future[FinishedProcess], seconds: float) -> bool:
    return bool(wait_for_any([running], seconds)[0])


@contextlib.contextmanager
def _cancel_on_error(cancel: Cancel) -> Iterator[None]:
    """Cancel the process if an error or a signal ends the block."""
    try:
        yield
    except BaseException:
        cancel.set()
        raise


def _copy_size(slave: int) -> None:
    """Give a terminal the size of the user's terminal; the kernel notifies its processes."""
    size = termios.tcgetwinsize(sys.stdin.fileno())
    if size != termios.tcgetwinsize(slave):
        termios.tcsetwinsize(slave, size)


def _print_new_output(out: BinaryIO, err: BinaryIO) -> None:
    for source, sink in ((out, sys.stdout.fileno()), (err, sys.stderr.fileno())):
        while chunk := source.read(_CHUNK_BYTES):
            while chunk:
                chunk = chunk[os.write(sink, chunk) :]
