"""A command at a terminal of its own, and what is typed there."""

import contextlib
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.command import COMMAND, NO_ENGINE

SIZE = (33, 99)
ATTEMPT_SECONDS = 120


@dataclass
class Terminal:
    """`scylla-gha` with its standard input and output at a terminal; what it showed, and what it said on the side."""

    args: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    command: str = COMMAND
    shown: str = ""
    err: str = ""
    code: int | None = None
    restored: bool = False
    _master: int = -1
    _typed: list[str] = field(default_factory=list)

    def converse(self, *turns: tuple[str, str], then: Callable[[subprocess.Popen[bytes]], None] | None = None) -> None:
        """In each turn wait until the first is shown, then type the second; then wait for the end."""
        self._master, slave = os.openpty()
        termios.tcsetwinsize(slave, SIZE)
        before = termios.tcgetattr(slave)
        whole = {**os.environ, "DOCKER_HOST": NO_ENGINE, "TERM": "xterm", **self.env}
        argv = [self.command, *self.args]
        with subprocess.Popen(argv, cwd=self.cwd, env=whole, stdin=slave, stdout=slave, stderr=subprocess.PIPE) as run:
            try:
                self._talk(run, list(turns))
                if then:
                    then(run)
                self._read(lambda: run.poll() is not None)
                self.code = run.wait(10)
                self.err = run.stderr.read().decode() if run.stderr else ""
                self.restored = termios.tcgetattr(slave) == before
            finally:
                with contextlib.suppress(ProcessLookupError):
                    run.send_signal(signal.SIGKILL)
                os.close(slave)
                os.close(self._master)

    def _talk(self, run: subprocess.Popen[bytes], turns: list[tuple[str, str]]) -> None:
        for awaited, typed in turns:
            start = len(self.shown)
            self._read(lambda: awaited in self.shown[start:] or run.poll() is not None)  # noqa: B023 it ends in this turn
            os.write(self._master, typed.encode())

    def _read(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + ATTEMPT_SECONDS
        while not until():
            assert time.monotonic() < deadline, self.shown
            self._take(0.1)
        while self._take(0.0):
            continue

    def _take(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        self.shown += os.read(self._master, 65536).decode(errors="replace")
        return True
