"""Process in a container: its streams through the engine, its outputs in files of limited size, and its terminal."""

import contextlib
import os
import socket
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

from scylla_gha.sandboxes.attach import FdCopy, copy_fds
from scylla_gha.system.process import Cancel

if TYPE_CHECKING:
    from docker import APIClient

_STDERR: Final = 2
_CANCEL_SECONDS: Final = 0.1  # between two checks of the cancel flag
_RUNNING_SECONDS: Final = 0.5  # between two questions to the engine whether the process runs
_QUIET_SECONDS: Final = 0.3  # after the process's end; the engine delivers the remaining output in less
_REST_SECONDS: Final = 2.0  # for which the output of a child that continues to write is read

End = Literal["ended", "timed_out", "cancelled", "output"]


@contextlib.contextmanager
def raw_socket(stream: Any) -> Iterator[socket.socket]:  # noqa: ANN401 the client's stubs give it no type
    """Return the socket of a stream of the engine's client, so that the caller can wait on it or close one side."""
    try:
        with socket.socket(fileno=os.dup(stream.fileno())) as connection:
            connection.setblocking(True)
            yield connection
    finally:
        stream._response.close()  # closes the connection as well


@dataclass(frozen=True, slots=True)
class ContainerProcess:
    """Process that the engine starts in a container when its stream is opened."""

    api: "APIClient"
    id: str
    on_terminal: bool = False

    @contextlib.contextmanager
    def stream(self) -> Iterator[socket.socket]:
        """Start the process; yield the socket of its input and outputs."""
        with raw_socket(self.api.exec_start(self.id, socket=True, tty=self.on_terminal)) as stream:
            yield stream

    def resize(self, rows: int, columns: int) -> bool:
        """Set the size of its terminal; return False if the terminal does not exist yet or no longer exists."""
        from docker.errors import APIError

        try:
            self.api.exec_resize(self.id, height=rows, width=columns)
        except APIError:
            return False
        return True

    def running(self) -> bool:
        """Ask the engine whether it runs."""
        return bool(self.api.exec_inspect(self.id)["Running"])

    def code(self) -> int | None:
        """Return its exit code as a shell reports it; None if it has not ended."""
        code: int | None = self.api.exec_inspect(self.id)["ExitCode"]
        return code


class StreamPump:
    """Transfer of a process's input and outputs by two threads, during the block of `started`.

    Bytes of an output beyond `limit` are dropped. `running` asks the engine whether the process runs, since a child
    that outlives the process may keep its outputs open.
    """

    def __init__(
        self, stream: socket.socket, outputs: tuple[IO[bytes], IO[bytes]], limit: int, running: Callable[[], bool]
    ) -> None:
        self._stream, self._outputs, self._running = stream, outputs, running
        self._left = [limit, limit]
        self._received = 0
        self._cut = False
        self._ended = threading.Event()  # the end of the outputs
        self._changed = threading.Event()  # their end, or the cut

    @contextlib.contextmanager
    def started(self, stdin: Path | None) -> Iterator[None]:
        """Send the first line, which starts the program, and all of `stdin`; receive the outputs.

        Raises:
            OSError: an output file cannot be written.
        """
        with ThreadPoolExecutor(2) as pool:
            threads = [pool.submit(self._send, stdin), pool.submit(self._receive)]
            try:
                yield
            finally:
                with contextlib.suppress(OSError):  # the engine has closed it
                    self._stream.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.result()

    def wait(self, until: float, cancel: Cancel | None) -> End:
        """Wait for the process's end, `until` (monotonic), a cancel, or an output that is too long."""
        asked = time.monotonic()
        while not self._changed.wait(min(max(until - time.monotonic(), 0), _CANCEL_SECONDS)):
            if cancel is not None and cancel.is_set:
                return "cancelled"
            now = time.monotonic()
            if now >= until or now >= asked + _RUNNING_SECONDS:
                asked = now
                if not self._running():  # it may have ended while the harness was stopped
                    self._await_rest()
                    break
                if now >= until:
                    return "timed_out"
        return "output" if self._cut else "ended"

    def drain(self, until: float) -> None:
        """Receive outputs until the process ends, or `until` (monotonic)."""
        while time.monotonic() < until and not self._ended.wait(_CANCEL_SECONDS):
            if not self._running():
                self._await_rest()
                return

    def _await_rest(self) -> None:
        """Wait for output that the process wrote while the engine was asked whether it runs."""
        until, before = time.monotonic() + _REST_SECONDS, -1
        while before < self._received and time.monotonic() < until:
            before = self._received
            if self._ended.wait(_QUIET_SECONDS):
                return

    def _send(self, stdin: Path | None) -> None:
        with (stdin or Path(os.devnull)).open("rb") as source, contextlib.suppress(ConnectionError):
            self._stream.sendall(b"\n")
            self._stream.sendfile(source)
            with contextlib.suppress(OSError):  # it has ended
                self._stream.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        from docker.utils.socket import frames_iter

        try:
            for number, data in frames_iter(self._stream, tty=False):  # type: ignore[no-untyped-call]
                index = 1 if number == _STDERR else 0
                stored = data[: self._left[index]]
                self._left[index] -= len(stored)
                self._received += len(data)
                self._outputs[index].write(stored)
                if len(stored) < len(data) and not self._cut:
                    self._cut = True
                    self._changed.set()
        except ConnectionError:
            pass  # it is the end of the outputs
        finally:
            self._ended.set()
            self._changed.set()


def attach_terminal(
    stream: socket.socket, device: Path, process: ContainerProcess, until: float, cancel: Cancel | None
) -> End:
    """Connect a process's stream with a terminal of this machine until it ends, `until` (monotonic), or a cancel.

    The device passes keys on unchanged, since the terminal in the container interprets them. That terminal gets the
    size of the device.
    """
    terminal = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    stream.setblocking(False)
    watcher = _TerminalWatcher(terminal, process, until, cancel)
    try:
        tty.setraw(terminal, termios.TCSANOW)  # keeps what was typed already
        copy_fds((FdCopy(stream.fileno(), terminal), FdCopy(terminal, stream.fileno())), watcher.is_over)
    finally:
        os.close(terminal)
    return watcher.end


class _TerminalWatcher:
    """Watcher of a process on a terminal while bytes are copied."""

    def __init__(self, terminal: int, process: ContainerProcess, until: float, cancel: Cancel | None) -> None:
        self._terminal, self._process, self._until, self._cancel = terminal, process, until, cancel
        self._size: tuple[int, int] | None = None
        self._asked = time.monotonic()
        self._gone = False
        self.end: End = "ended"

    def is_over(self, quiet: bool) -> bool:
        """Return True after the end, also if a child that outlives the process keeps the terminal open."""
        size = termios.tcgetwinsize(self._terminal)
        if size != self._size and self._process.resize(*size):
            self._size = size
        now = time.monotonic()
        if self._cancel is not None and self._cancel.is_set:
            self.end = "cancelled"
        elif now >= self._until:
            self.end = "timed_out"
        if self.end != "ended" or (quiet and self._gone):
            return True
        if quiet and now >= self._asked + 1:
            self._asked = now
            self._gone = not self._process.running()  # output that it wrote meanwhile has to be copied first
        return False
