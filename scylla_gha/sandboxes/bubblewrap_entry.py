"""First process of a bubblewrap sandbox: it forwards the gateway's port, starts the program, and ends with it.

It runs inside with only Python's standard library. Its first argument is JSON with pairs of a loopback port and a
socket; the other arguments are the program. As the first process of its namespace, it gets no signals from inside, so
no process inside can stop the forwarding. Nor can they read its memory.
"""

import contextlib
import ctypes
import json
import os
import runpy
import signal
import sys
import threading
from pathlib import Path

_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of <linux/prctl.h>
_SIGNAL_BASE = 128  # a shell reports the signal that ended a process as 128 plus its number


def _load(name: str) -> "dict[str, object]":
    """Return the definitions of another file in this folder, which is not a package inside the sandbox."""
    return runpy.run_path(str(Path(__file__).with_name(name)))


def _start(argv: "list[str]", go: int) -> int:
    """Start the program's process, which waits for a byte on the descriptor `go`; return its number."""
    child = os.fork()
    if child == 0:
        if os.read(go, 1):
            _prefer_for_oom()
            _load("confine.py")["become"](argv)  # type: ignore[operator]
        os._exit(_SIGNAL_BASE)
    os.close(go)
    return child


def _prefer_for_oom() -> None:
    """Make the kernel end this process and its children first if memory runs out."""
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1, 0, 0, 0)  # otherwise the file belongs to root
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def _close_streams() -> None:
    """Leave the standard streams to the program."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)


def _forward_ports(ports: "list[list[object]]") -> None:
    """Forward the ports from now on, until the sandbox ends."""
    listening = threading.Event()
    forward = _load("supervisor.py")["forward"]
    threading.Thread(target=forward, args=(ports, listening.set), daemon=True).start()  # type: ignore[arg-type]
    listening.wait()


def _wait_for(child: int) -> int:
    """Reap processes until the program ends; return its exit code as a shell reports it."""
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _SIGNAL_BASE - code


def _main() -> None:
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    ports = json.loads(sys.argv[1])
    reader, writer = os.pipe()
    child = _start(sys.argv[2:], reader)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the program; TERM is already ignored
    _close_streams()
    if ports:
        _forward_ports(ports)
    os.write(writer, b"1")
    os.close(writer)
    os._exit(_wait_for(child))


if __name__ == "__main__":
    _main()
