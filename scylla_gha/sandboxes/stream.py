"""A process inside a container, as the engine streams it: input to it, both outputs into files up to a size."""

import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal

from scylla_gha.proc import Cancel

_CHUNK: Final = 1 << 18
_HEADER: Final = 8
_STDERR: Final = 2
_ASK_SECONDS: Final = 0.5
_QUIET_SECONDS: Final = 0.3  # after its end: what is on its way from the engine comes in less
_REST_SECONDS: Final = 2.0  # and a child that goes on talking is not listened to for longer

End = Literal["ended", "timed_out", "cancelled", "output"]


class Outputs:
    """The two output files; what is beyond `most` bytes of either is dropped, and `cut` says so."""

    def __init__(self, stdout: IO[bytes], stderr: IO[bytes], most: int) -> None:
        self._files = (stdout, stderr)
        self._left = [most, most]
        self._frame = b""
        self._rest = 0
        self._to = 0
        self.cut = False

    def take(self, data: bytes) -> None:
        """Take the engine's bytes: frames, each with a header of stream and length, in any pieces."""
        view = memoryview(data)
        while view:
            if not self._rest:
                view = self._head(view)
                continue
            part = view[: self._rest]
            self._rest -= len(part)
            self._write(part)
            view = view[len(part) :]

    def _head(self, view: memoryview) -> memoryview:
        wanted = _HEADER - len(self._frame)
        self._frame += bytes(view[:wanted])
        if len(self._frame) == _HEADER:
            self._to = 1 if self._frame[0] == _STDERR else 0
            self._rest = int.from_bytes(self._frame[4:], "big")
            self._frame = b""
        return view[wanted:]

    def _write(self, part: memoryview) -> None:
        kept = part[: self._left[self._to]]
        self.cut = self.cut or len(kept) < len(part)
        self._left[self._to] -= len(kept)
        self._files[self._to].write(kept)


@dataclass(frozen=True, slots=True)
class Pump:
    """Moves bytes until the process ends, a time comes, or it is cancelled. `running` asks the engine whether it runs.

    A child that outlives the process may hold its outputs open, so their end alone does not tell.
    """

    stream: socket.socket
    outputs: Outputs
    running: Callable[[], bool]
    cancel: Cancel | None

    def run(self, stdin: Path | None, until: float) -> End:
        """Send the first line, which starts the process, and all of `stdin`; return at `until` (monotonic) at last."""
        self.stream.setblocking(False)
        with (stdin or Path("/dev/null")).open("rb") as source:
            pending: bytes | None = b"\n"
            while True:
                writable = self._wait(until, writing=pending is not None)
                if isinstance(writable, str):
                    if writable == "ended":
                        self._take_rest()
                    return "output" if self.outputs.cut else writable
                if writable and pending is not None:
                    pending = self._send(pending, source)
                if not self._receive():
                    return "ended"
                if self.outputs.cut:
                    return "output"

    def drain(self, until: float) -> bool:
        """Go on receiving until the process ends; False where it did not until then."""
        while (left := until - time.monotonic()) > 0:
            if select.select([self.stream], [], [], min(left, _ASK_SECONDS))[0]:
                if not self._receive():
                    return True
            elif not self.running():
                self._take_rest()
                return True
        return False

    def _take_rest(self) -> None:
        """Take what the process said while the engine was asked whether it runs, which it may have ended with."""
        until = time.monotonic() + _REST_SECONDS
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.stream], [], [], min(left, _QUIET_SECONDS))[0] or not self._receive():
                return

    def _wait(self, until: float, *, writing: bool) -> End | bool:
        """Wait for something to do; True when the stream takes bytes."""
        stream = self.stream.fileno()
        reading = [stream] if self.cancel is None else [stream, self.cancel.fileno()]
        while True:
            left = until - time.monotonic()
            if left <= 0:  # this process may have been stopped, and the other have ended meanwhile
                return "timed_out" if self.running() else "ended"
            ready, writable, _ = select.select(reading, [stream] if writing else [], [], min(left, _ASK_SECONDS))
            if self.cancel is not None and self.cancel.fileno() in ready:
                return "cancelled"
            if ready or writable:
                return bool(writable)
            if not self.running():
                return "ended"

    def _send(self, pending: bytes, source: IO[bytes]) -> bytes | None:
        """Send some; what is left to send, or None after the end of the input, which the process then sees."""
        try:
            pending = pending[self.stream.send(pending) :] or source.read(_CHUNK)
            if not pending:
                self.stream.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return pending
        except OSError:
            return None  # it has closed its input, which it may
        return pending or None

    def _receive(self) -> bool:
        """Take what is there; False at the end of the outputs."""
        try:
            data = self.stream.recv(_CHUNK)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        self.outputs.take(data)
        return bool(data)
