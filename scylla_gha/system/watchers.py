"""Two processes beside the harness that watch the processes which the harness starts.

The reaper ends them if the harness is killed. The exit watcher records when they ended, for a harness that was stopped
meanwhile: the kernel stores no time of an exit. Both watchers end when the harness ends, and they have no secrets:
their environment is PATH alone. The exit watcher runs this file with only Python's standard library.
"""

import contextlib
import os
import select
import socket
import sys
import threading
import time

TYPE_CHECKING = False  # the exit watcher starts sooner without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, Literal

    # KILL is for what is not trusted; the harness's own tools get TERM, so that they can tidy up after themselves.
    Signal = Literal["KILL", "TERM"]

_ANSWER_SECONDS: "Final" = 2.0  # the watcher answers at once, but it may have been stopped with the harness
_REAP: "Final" = """\
all=' '
while read -r what how number; do
  case $what in
    begin) all="$all$how:$number " ;;
    finish) all="${all%%" $how:$number "*} ${all#*" $how:$number "}" ;;
  esac
done
for process in $all; do kill -s "${process%%:*}" -- "${process#*:}"; done
"""


class _SideProcess:
    """Process that reads a socket; it is started at the first use, and again if it has ended."""

    def __init__(self, argv: tuple[str, ...], kind: socket.SocketKind) -> None:
        self._argv, self._kind = argv, kind
        self._lock = threading.Lock()
        self._socket: int | None = None  # stays open until this process ends

    def _send(self, data: bytes, descriptors: "Sequence[int]" = ()) -> bool:
        """Send data; return False if the process does not run."""
        if self._socket is None:
            return False
        connection = socket.socket(fileno=self._socket)
        try:
            if descriptors:
                socket.send_fds(connection, [data], descriptors)
            else:
                connection.sendall(data)
        except OSError:
            connection.close()
            self._socket = None
            return False
        connection.detach()
        return True

    def _start(self) -> None:
        near, far = socket.socketpair(socket.AF_UNIX, self._kind)
        quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
        with far:
            os.posix_spawn(
                self._argv[0],
                self._argv,
                {"PATH": os.defpath},
                setsid=True,
                file_actions=[(os.POSIX_SPAWN_DUP2, far.fileno(), 0), *quiet],
            )
        self._socket = near.detach()


class _Reaper(_SideProcess):
    """Shell with a list of running processes, as arguments of `kill`: a process id, or minus a group id."""

    def __init__(self) -> None:
        super().__init__(("/bin/sh", "-c", _REAP, "scylla-gha-reaper"), socket.SOCK_STREAM)
        self._running: set[tuple[Signal, int]] = set()

    def register(self, how: "Signal", number: int) -> None:
        """Register a process or group to be ended if the harness is killed."""
        with self._lock:
            self._running.add((how, number))
            if not self._send(f"begin {how} {number}\n".encode()):
                self._start()
                self._send("".join(f"begin {how} {number}\n" for how, number in self._running).encode())

    def unregister(self, how: "Signal", number: int) -> None:
        """Remove a process or group, if possible before it is reaped: its id may be reused afterwards."""
        with self._lock:
            self._running.discard((how, number))
            self._send(f"finish {how} {number}\n".encode())


class ExitTime:
    """Time at which a process ends, as the exit watcher records it."""

    def __init__(self, answer: int) -> None:
        self._answer = answer

    def read(self) -> float | None:
        """Return the monotonic time at which the process ended; None if the watcher did not see it."""
        if not select.select([self._answer], [], [], _ANSWER_SECONDS)[0]:
            return None
        text = os.read(self._answer, 64)
        return float(text) if text else None

    def close(self) -> None:
        """Close the pipe to the watcher."""
        os.close(self._answer)


class _ExitWatcher(_SideProcess):
    def __init__(self) -> None:
        super().__init__((sys.executable, "-I", "-S", __file__), socket.SOCK_SEQPACKET)

    def watch(self, handle: int) -> ExitTime:
        """Watch a process for its end, by its pidfd, which no later process can have."""
        answer, writer = os.pipe()
        with self._lock:
            if not self._send(b"1", (handle, writer)):
                self._start()
                self._send(b"1", (handle, writer))
        os.close(writer)
        return ExitTime(answer)


def _record_exits(connection: socket.socket) -> None:
    """Write the time of each end to the pipe that came with the process, until the harness has ended."""
    waiting: dict[int, int] = {}
    ready = select.poll()
    ready.register(connection, select.POLLIN)
    while True:
        for descriptor, _ in ready.poll():
            if descriptor == connection.fileno():
                data, received, _, _ = socket.recv_fds(connection, 1, 2)
                if not data:
                    return
                waiting[received[0]] = received[1]
                ready.register(received[0], select.POLLIN)
                continue
            writer = waiting.pop(descriptor)
            with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
                os.write(writer, repr(time.monotonic()).encode())
            ready.unregister(descriptor)
            os.close(writer)
            os.close(descriptor)


_REAPER: "Final" = _Reaper()
register: "Final" = _REAPER.register
unregister: "Final" = _REAPER.unregister
watch_exit: "Final" = _ExitWatcher().watch

if __name__ == "__main__":
    _record_exits(socket.socket(fileno=0))
