"""Bytes between a terminal and what is on it, both ways at once; neither way waits for the other."""

import os
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_CHUNK: Final = 1 << 16
_LOOK_SECONDS: Final = 0.1


@dataclass(slots=True)
class Way:
    """From a descriptor to another, and what is still to be written there."""

    source: int
    sink: int
    pending: bytes = b""

    def move(self, readable: list[int], writable: list[int]) -> bool:
        """Move what can be moved; False at the end of the source, or where nobody is at the sink any more."""
        try:
            if self.source in readable and not self.pending:
                self.pending = os.read(self.source, _CHUNK)
                if not self.pending:
                    return False
            if self.pending and (self.sink in writable or self.source in readable):
                self.pending = self.pending[os.write(self.sink, self.pending) :]
        except BlockingIOError:
            return True
        except OSError:  # EIO: whoever was on the terminal has gone
            return False
        return True


def relay(ways: tuple[Way, Way], done: Callable[[bool], bool]) -> None:
    """Move bytes until one of the ways ends, or `done` is true. It is asked again and again: all was quiet?"""
    while True:
        reading = [way.source for way in ways if not way.pending]
        writing = [way.sink for way in ways if way.pending]
        readable, writable, _ = select.select(reading, writing, [], _LOOK_SECONDS)
        first, second = (way.move(readable, writable) for way in ways)
        if not (first and second):
            return
        if done(not readable and not writable):
            return
