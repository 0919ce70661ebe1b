"""When processes ended, by the clock of one that goes on where the harness itself is stopped.

A harness that was stopped finds its programs ended, and cannot tell when: the kernel keeps no time of an exit. So one
process of its own, in a session of its own, waits beside it and writes down the monotonic time. It is handed each
program's descriptor, so that no number of a process is confused with a later one, and ends when the harness does.
"""

import contextlib
import os
import select
import socket
import sys
import threading
import time

TYPE_CHECKING = False  # the watcher runs this file alone, and starts sooner without `typing`
if TYPE_CHECKING:
    from typing import Final

_ANSWER_SECONDS: "Final" = 2.0  # it has the time at hand, or soon: it may have been stopped for as long
_CHUNK: "Final" = 64


class ExitTime:
    """The time at which a process ends, as the watcher tells it."""

    def __init__(self, told: int) -> None:
        self._told = told

    def read(self) -> float | None:
        """The monotonic time of an end that has been; None where nobody saw it."""
        if not select.select([self._told], [], [], _ANSWER_SECONDS)[0]:
            return None
        said = os.read(self._told, _CHUNK)
        return float(said) if said else None

    def close(self) -> None:
        """Ask no more."""
        os.close(self._told)


class _Watcher:
    """The process that waits, which is started with the first program, and again where somebody ended it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: int | None = None

    def watch(self, handle: int) -> ExitTime:
        """Note the end of a process from now on, by a descriptor of it."""
        told, telling = os.pipe()
        with self._lock:
            if not self._send(handle, telling):
                self._start()
                self._send(handle, telling)
        os.close(telling)
        return ExitTime(told)

    def _send(self, *descriptors: int) -> bool:
        if self._line is None:
            return False
        line = socket.socket(fileno=self._line)
        try:
            socket.send_fds(line, [b"1"], descriptors)
        except OSError:
            line.close()
            self._line = None
            return False
        line.detach()  # it stays open until this process ends
        return True

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
        with theirs:
            os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", __file__], {"PATH": os.defpath}, setsid=True,
                           file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), *quiet])  # fmt: skip
        self._line = ours.detach()


def _serve(line: socket.socket) -> None:
    """Tell the time of each end until the harness has ended."""
    waiting: dict[int, int] = {}
    ready = select.poll()
    ready.register(line, select.POLLIN)
    while True:
        for descriptor, _ in ready.poll():
            if descriptor != line.fileno():
                _tell(waiting.pop(descriptor), time.monotonic())
                ready.unregister(descriptor)
                os.close(descriptor)
                continue
            said, handed, _, _ = socket.recv_fds(line, 1, 2)
            if not said:
                return
            waiting[handed[0]] = handed[1]
            ready.register(handed[0], select.POLLIN)


def _tell(telling: int, ended: float) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody asks any more
        os.write(telling, repr(ended).encode())
    os.close(telling)


watch = _Watcher().watch

if __name__ == "__main__":
    _serve(socket.socket(fileno=0))
