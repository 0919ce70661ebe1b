"""Process inside a container: its streams through the engine, its outputs into files up to a size, its terminal."""

import contextlib
import os
import select
import socket
import termios
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

from scylla_gha.process import Cancel
from scylla_gha.sandboxes.attach import FdCopy, copy_fds

if TYPE_CHECKING:
    from docker import APIClient

_CHUNK: Final = 1 << 18
FRAME_HEADER: Final = 8  # bytes of stream number and length before each piece of output
_STDERR: Final = 2
_POLL_SECONDS: Final = 0.5
_QUIET_SECONDS: Final = 0.3  # after the process's end; the engine delivers the rest in less
_REST_SECONDS: Final = 2.0  # a child that goes on writing is not read for longer

End = Literal["ended", "timed_out", "cancelled", "output"]


@contextlib.contextmanager
def raw_socket(stream: Any) -> Iterator[socket.socket]:  # noqa: ANN401 the client's stubs give it no type
    """Return the socket below a stream of the engine's client, to wait on it and close one side of it."""
    try:
        with socket.socket(fileno=os.dup(stream.fileno())) as own:
            yield own
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
        """Start the process; return the socket of its input and outputs."""
        with raw_socket(self.api.exec_start(self.id, socket=True, tty=self.on_terminal)) as stream:
            yield stream

    def resize(self, rows: int, columns: int) -> bool:
        """Set its terminal's size; return False if the terminal does not exist yet or any more."""
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
        """Return its exit code as a shell reports it, or None if it has not ended."""
        code: int | None = self.api.exec_inspect(self.id)["ExitCode"]
        return code


class OutputFiles:
    """Two output files. Bytes beyond `limit` of either are dropped, and `cut` becomes True."""

    def __init__(self, stdout: IO[bytes], stderr: IO[bytes], limit: int) -> None:
        self._files = (stdout, stderr)
        self._left = [limit, limit]
        self._header = b""
        self._frame_left = 0
        self._index = 0
        self.cut = False

    def write(self, data: bytes) -> None:
        """Write the engine's bytes: frames with a header of stream and length, split anywhere."""
        view = memoryview(data)
        while view:
            if not self._frame_left:
                view = self._read_header(view)
                continue
            part = view[: self._frame_left]
            self._frame_left -= len(part)
            self._write(part)
            view = view[len(part) :]

    def _read_header(self, view: memoryview) -> memoryview:
        missing = FRAME_HEADER - len(self._header)
        self._header += bytes(view[:missing])
        if len(self._header) == FRAME_HEADER:
            self._index = 1 if self._header[0] == _STDERR else 0
            self._frame_left = int.from_bytes(self._header[4:], "big")
            self._header = b""
        return view[missing:]

    def _write(self, part: memoryview) -> None:
        stored = part[: self._left[self._index]]
        self.cut = self.cut or len(stored) < len(part)
        self._left[self._index] -= len(stored)
        self._files[self._index].write(stored)


@dataclass(frozen=True, slots=True)
class StreamPump:
    """Transfer of bytes until the process ends, a time limit, or a cancel. `running` asks the engine whether it runs.

    A child that outlives the process may hold its outputs open, so the end of the stream is not enough.
    """

    stream: socket.socket
    outputs: OutputFiles
    running: Callable[[], bool]
    cancel: Cancel | None

    def run(self, stdin: Path | None, until: float) -> End:
        """Send the first line, which starts the program, and all of `stdin`; return by `until` (monotonic)."""
        self.stream.setblocking(False)
        with (stdin or Path("/dev/null")).open("rb") as source:
            pending: bytes | None = b"\n"
            while True:
                writable = self._wait(until, writing=pending is not None)
                if isinstance(writable, str):
                    if writable == "ended":
                        self._receive_rest()
                    return "output" if self.outputs.cut else writable
                if writable and pending is not None:
                    pending = self._send(pending, source)
                if not self._receive():
                    return "ended"
                if self.outputs.cut:
                    return "output"

    def drain(self, until: float) -> bool:
        """Receive until the process ends; return False if it has not ended at `until`."""
        while (left := until - time.monotonic()) > 0:
            if select.select([self.stream], [], [], min(left, _POLL_SECONDS))[0]:
                if not self._receive():
                    return True
            elif not self.running():
                self._receive_rest()
                return True
        return False

    def _receive_rest(self) -> None:
        """Receive what the process wrote, perhaps as its last act, while the engine was asked whether it runs."""
        until = time.monotonic() + _REST_SECONDS
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.stream], [], [], min(left, _QUIET_SECONDS))[0] or not self._receive():
                return

    def _wait(self, until: float, *, writing: bool) -> End | bool:
        """Wait until the stream is readable or writable; return True if it is writable."""
        stream = self.stream.fileno()
        reading = [stream] if self.cancel is None else [stream, self.cancel.fileno()]
        while True:
            left = until - time.monotonic()
            if left <= 0:  # this process may have been stopped, and the other may have ended meanwhile
                return "timed_out" if self.running() else "ended"
            ready, writable, _ = select.select(reading, [stream] if writing else [], [], min(left, _POLL_SECONDS))
            if self.cancel is not None and self.cancel.fileno() in ready:
                return "cancelled"
            if ready or writable:
                return bool(writable)
            if not self.running():
                return "ended"

    def _send(self, pending: bytes, source: IO[bytes]) -> bytes | None:
        """Send a piece; return what is left to send, or None after the end of the input."""
        try:
            pending = pending[self.stream.send(pending) :] or source.read(_CHUNK)
            if not pending:
                self.stream.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return pending
        except OSError:
            return None  # it has closed its input
        return pending or None

    def _receive(self) -> bool:
        """Receive what has arrived; return False at the end of the outputs."""
        try:
            data = self.stream.recv(_CHUNK)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        self.outputs.write(data)
        return bool(data)


def attach_terminal(
    stream: socket.socket, device: Path, process: ContainerProcess, until: float, cancel: Cancel | None
) -> End:
    """Join a process's stream with a terminal of this machine until it ends, `until` (monotonic), or a cancel.

    The device passes keys on unchanged, since the terminal in the container interprets them. That terminal's size
    follows the device's.
    """
    terminal = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    stream.setblocking(False)
    watcher = _TerminalWatcher(terminal, process, until, cancel)
    try:
        tty.setraw(terminal, termios.TCSANOW)  # what was typed already stays
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
        """Return True after the end, also if a child that outlives the process holds its terminal."""
        size = termios.tcgetwinsize(self._terminal)
        if size != self._size and self._process.resize(*size):
            self._size = size
        if self._cancel is not None and self._cancel.is_set:
            self.end = "cancelled"
            return True
        now = time.monotonic()
        if now >= self._until:
            self.end = "timed_out"
            return True
        if quiet and self._gone:
            return True
        if quiet and now >= self._asked + 1:
            self._asked = now
            self._gone = not self._process.running()  # what it wrote meanwhile still has to be copied
        return False
