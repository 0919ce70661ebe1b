"""The harness's end of the talk with a keeper: a line to it, a line of JSON from it, in the engine's frames."""

import contextlib
import json
import select
import socket
import time
from dataclasses import dataclass
from typing import Any, Final

_HEADER: Final = 8  # of a frame: stream and length
_SECONDS: Final = 20.0  # to wait for an answer


@dataclass(frozen=True, slots=True)
class Keeper:
    """A container's keeper, at the stream of its input and output."""

    stream: socket.socket

    def tell(self, line: str) -> None:
        """Send a line; that the keeper has ended is seen where its answer is awaited."""
        with contextlib.suppress(OSError):
            self.stream.sendall(line.encode() + b"\n")

    def listen(self) -> dict[str, Any] | None:
        """Its next answer, or None where it ends or says nothing in time."""
        until = time.monotonic() + _SECONDS
        received = b""
        try:
            while (left := until - time.monotonic()) > 0 and select.select([self.stream], [], [], left)[0]:
                data = self.stream.recv(1 << 16)
                received += data
                if received.endswith(b"\n"):
                    return _answer(received)
                if not data:
                    return None
        except OSError:
            return None
        return None


def _answer(received: bytes) -> dict[str, Any]:
    """The line in the engine's frames."""
    said = b""
    while received:
        end = _HEADER + int.from_bytes(received[4:_HEADER], "big")
        said += received[_HEADER:end]
        received = received[end:]
    answer: dict[str, Any] = json.loads(said)
    return answer
