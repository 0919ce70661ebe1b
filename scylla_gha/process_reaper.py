"""Ends what the harness started when the harness is killed, and nobody else is left to end it.

A shell of its own, one for each harness, is told which processes are running. Its input ends when the harness does,
however it does; then it ends them. It holds no secret: its environment is empty but for PATH.

A process is named as `kill` names it: by its number, or, with all of its group, by the number with a minus.
"""

import os
import threading
from typing import Final, Literal

# KILL is for what is not trusted; the harness's own tools get TERM, so that they can tidy up after themselves.
How = Literal["KILL", "TERM"]
_WATCH: Final = """\
all=' '
while read -r what how number; do
  case $what in
    begin) all="$all$how:$number " ;;
    finish) all="${all%%" $how:$number "*} ${all#*" $how:$number "}" ;;
  esac
done
for each in $all; do kill -s "${each%%:*}" -- "${each#*:}"; done
"""


class _Watcher:
    """The shell, which is started with the first process, and again where somebody ended it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[tuple[How, int]] = set()
        self._input: int | None = None

    def begin(self, how: How, number: int) -> None:
        """Have the process ended, should the harness be killed from now on."""
        with self._lock:
            self._running.add((how, number))
            if not self._tell(f"begin {how} {number}\n"):
                self._start()

    def finish(self, how: How, number: int) -> None:
        """Forget it; before it is waited for, where that can be, since its number may be another's afterwards."""
        with self._lock:
            self._running.discard((how, number))
            self._tell(f"finish {how} {number}\n")

    def _tell(self, lines: str) -> bool:
        if self._input is None:
            return False
        try:
            os.write(self._input, lines.encode())
        except BrokenPipeError:
            os.close(self._input)
            self._input = None
            return False
        return True

    def _start(self) -> None:
        heard, self._input = os.pipe()
        quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
        argv = ["/bin/sh", "-c", _WATCH, "scylla-gha-orphans"]
        os.posix_spawn(argv[0], argv, {"PATH": os.defpath}, setsid=True,
                       file_actions=[(os.POSIX_SPAWN_DUP2, heard, 0), *quiet])  # fmt: skip
        os.close(heard)
        self._tell("".join(f"begin {how} {number}\n" for how, number in self._running))


_WATCHER: Final = _Watcher()
begin: Final = _WATCHER.begin
finish: Final = _WATCHER.finish
