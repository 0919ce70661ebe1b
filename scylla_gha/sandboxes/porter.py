"""The first process of a bubblewrap box: opens the way to the gateway, starts a program, and ends with it.

It runs inside, with nothing but Python's library. Its first argument tells as JSON which ports of loopback lead to
which sockets; the others are the program. As the first process of its namespace it gets no signal from inside, so
nothing in the box ends or stops the way to the gateway; nor is its memory open there.
"""

import ctypes
import json
import os
import runpy
import signal
import sys
import threading
from pathlib import Path

_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of <linux/prctl.h>
_LAST_CODE = 128  # a process that a signal ended is told as 128 and its number


def _beside(name: str) -> "dict[str, object]":
    """What another file of this folder defines; there is no package in the box."""
    return runpy.run_path(str(Path(__file__).with_name(name)))


def _start(argv: "list[str]", heard: int) -> int:
    """Start the program, which waits until something is heard."""
    child = os.fork()
    if child == 0:
        if os.read(heard, 1):
            _beside("confine.py")["become"](argv)  # type: ignore[operator]
        os._exit(_LAST_CODE)
    os.close(heard)
    return child


def _let_go_of_streams() -> None:
    """They are the program's."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)


def _open_ways(ports: "list[list[object]]") -> None:
    """Forward from now on, until the box ends."""
    listening = threading.Event()
    forward = _beside("keeper.py")["_forward"]
    threading.Thread(target=forward, args=(ports, listening.set), daemon=True).start()  # type: ignore[arg-type]
    listening.wait()


def _await(child: int) -> int:
    """Reap what ends in the box until the program does; its exit code as a shell tells it."""
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _LAST_CODE - code


def _main() -> None:
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    ports = json.loads(sys.argv[1])
    heard, go = os.pipe()
    child = _start(sys.argv[2:], heard)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, it is the program's; TERM is ignored already
    _let_go_of_streams()
    if ports:
        _open_ways(ports)
    os.write(go, b"1")
    os.close(go)
    os._exit(_await(child))


if __name__ == "__main__":
    _main()
