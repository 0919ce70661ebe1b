"""A process in a container on a terminal of this machine: the engine's stream is joined with the device."""

import os
import socket
import termios
import time
import tty
from pathlib import Path

from scylla_gha.proc import Cancel
from scylla_gha.sandboxes.container import Process
from scylla_gha.sandboxes.relay import Way, relay
from scylla_gha.sandboxes.stream import End


def join(stream: socket.socket, device: Path, process: Process, until: float, cancel: Cancel | None) -> End:
    """Move bytes both ways until the process ends, `until` (monotonic) comes, or it is cancelled.

    The device passes on whatever comes: what a key means is for the terminal in the container to say, whose size
    follows the device's.
    """
    terminal = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    stream.setblocking(False)
    watch = _Watch(terminal, process, until, cancel)
    try:
        tty.setraw(terminal, termios.TCSANOW)  # what was typed already stays
        relay((Way(stream.fileno(), terminal), Way(terminal, stream.fileno())), watch.look)
    finally:
        os.close(terminal)
    return watch.end


class _Watch:
    """Looks after a process while bytes are moved."""

    def __init__(self, terminal: int, process: Process, until: float, cancel: Cancel | None) -> None:
        self._terminal, self._process, self._until, self._cancel = terminal, process, until, cancel
        self._size: tuple[int, int] | None = None
        self._asked = time.monotonic()
        self._gone = False
        self.end: End = "ended"

    def look(self, quiet: bool) -> bool:
        """Whether it is over; also where a child that outlives the process holds its terminal."""
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
            self._gone = not self._process.running()  # what it said meanwhile is still to be passed on
        return False
