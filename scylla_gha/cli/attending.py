"""A user and a process in a box: at a terminal, or as one who only reads what it says."""

import contextlib
import os
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Final

from scylla_gha.proc import Cancel, Finished, Streams
from scylla_gha.sandboxes.relay import Way, relay

_LOOK_SECONDS: Final = 0.1
_LAST_WORDS_SECONDS: Final = 1.0
_CHUNK: Final = 1 << 16
Run = Callable[[Streams], Finished]


def at_terminal(run: Run, folder: Path, cancel: Cancel) -> Finished:
    """Give what is run a terminal of its own, which this user's keys and screen are joined with until it ends.

    The user's terminal is as it was afterwards, whatever happens.
    """
    with _terminal() as (master, slave), ThreadPoolExecutor(1) as lane:
        _fit(slave)
        streams = Streams(folder / "stdout", folder / "stderr", terminal=Path(os.ttyname(slave)))
        running = lane.submit(run, streams)
        look = _Look(running, slave)
        with _ended_with(cancel), raw(sys.stdin.fileno()):
            ways = (Way(sys.stdin.fileno(), master), Way(master, sys.stdout.fileno()))
            relay(ways, look.over)
        cancel.set()  # where the user has gone
        return running.result()


def aside(run: Run, folder: Path, cancel: Cancel, *, script: bool) -> Finished:
    """Pass on what it says while it runs; its input is the `script` that comes on this process's, or nothing."""
    stdin = folder / "stdin"
    stdin.write_bytes(sys.stdin.buffer.read() if script else b"")
    streams = Streams(folder / "stdout", folder / "stderr", stdin)
    for path in (streams.stdout, streams.stderr):
        path.touch()
    with (
        ThreadPoolExecutor(1) as lane,
        _ended_with(cancel),
        streams.stdout.open("rb") as out,
        streams.stderr.open("rb") as err,
    ):
        running = lane.submit(run, streams)
        while not running.done():
            _pass_on(out, err)
            wait([running], _LOOK_SECONDS)
        _pass_on(out, err)
        return running.result()


@contextlib.contextmanager
def raw(terminal: int) -> Iterator[None]:
    """Let a terminal pass on each key as it is; it is put back as it was."""
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Where this process is asked to end, or its terminal is closed, leave through all that has to be put back."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    kinds = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(kind, leave) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


class _Look:
    """Looks after a process on a terminal while bytes are moved."""

    def __init__(self, running: "Future[Finished]", slave: int) -> None:
        self._running, self._slave = running, slave
        self._ended: float | None = None

    def over(self, quiet: bool) -> bool:
        """Whether it has ended and its last words were passed on."""
        if not self._running.done():
            _fit(self._slave)
            return False
        self._ended = self._ended or time.monotonic()
        return quiet or time.monotonic() > self._ended + _LAST_WORDS_SECONDS


@contextlib.contextmanager
def _terminal() -> Iterator[tuple[int, int]]:
    master, slave = os.openpty()
    try:
        os.set_blocking(master, False)
        yield master, slave
    finally:
        os.close(slave)
        os.close(master)


@contextlib.contextmanager
def _ended_with(cancel: Cancel) -> Iterator[None]:
    """End what is run where its user leaves."""
    try:
        yield
    except BaseException:
        cancel.set()
        raise


def _fit(slave: int) -> None:
    """Give a terminal the size of the user's; what runs on it is told by the kernel."""
    size = termios.tcgetwinsize(sys.stdin.fileno())
    if size != termios.tcgetwinsize(slave):
        termios.tcsetwinsize(slave, size)


def _pass_on(out: BinaryIO, err: BinaryIO) -> None:
    for source, sink in ((out, sys.stdout.fileno()), (err, sys.stderr.fileno())):
        while chunk := source.read(_CHUNK):
            while chunk:
                chunk = chunk[os.write(sink, chunk) :]
