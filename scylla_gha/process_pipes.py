"""Standard streams of a process that is not trusted: pipes, so that it has no file of the harness open.

Through `/proc/self/fd` a process can open its descriptors again, so it could truncate and overwrite files.
"""

import contextlib
import fcntl
import os
import select
import struct
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final

_CHUNK: Final = 1 << 16


@dataclass(slots=True)
class OutputPipe:
    """Pipe from the process, and the file that keeps its first `left` bytes; the others are dropped."""

    pipe: IO[bytes]
    file: IO[bytes]
    left: int
    cut: bool = False
    ended: bool = False

    def take(self, most: int = _CHUNK) -> None:
        """Read once and keep it; there must be data, or the end."""
        data = os.read(self.pipe.fileno(), most)
        self.ended = not data
        stored = memoryview(data)[: self.left]
        self.cut = self.cut or len(stored) < len(data)
        self.left -= len(stored)
        while stored:
            stored = stored[self.file.write(stored) :]

    def take_rest(self) -> None:
        """Keep what is in the pipe now, and nothing that is written later."""
        remaining: int = struct.unpack("i", fcntl.ioctl(self.pipe, termios.FIONREAD, bytes(4)))[0]
        while remaining > 0 and not self.ended:
            size = min(remaining, _CHUNK)
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
        """Send what the pipe can hold, and its end after the last byte."""
        try:
            self._pending = self._pending[os.write(self.pipe.fileno(), self._pending) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending, self._source = b"", None
        self._pending = self._pending or (self._source.read(_CHUNK) if self._source else b"")
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
        """Keep what the outputs hold at this moment, and close all pipes."""
        self.stdin.close()
        for output in self.outputs:
            output.take_rest()
            output.pipe.close()
