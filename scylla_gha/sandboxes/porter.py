"""The first program in a bubblewrap box: opens the way to the gateway, then becomes the agent.

It runs inside, with nothing but Python's library. Its first argument tells as JSON which ports of loopback lead to
which sockets; the others are the agent. Forwarding goes on in a process of its own, whose parent is the box's first.
"""

import json
import os
import runpy
import signal
import sys
from pathlib import Path

_KEEPER = Path(__file__).with_name("keeper.py")


def _forward(ports: list[list[object]], ready: int) -> None:
    """Forward until the box ends; TERM is for the agent, which may still ask while it tidies up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    forward = runpy.run_path(str(_KEEPER))["_forward"]  # there is no package of the toolkit in the box
    forward(ports, lambda: os.write(ready, b"1"))


def _open_ways(ports: list[list[object]]) -> None:
    """Start the forwarding, and wait until it listens."""
    heard, ready = os.pipe()
    first = os.fork()
    if first == 0:
        if os.fork() == 0:
            os.close(heard)
            _forward(ports, ready)
        os._exit(0)
    os.close(ready)
    os.waitpid(first, 0)
    if not os.read(heard, 1):
        sys.exit("scylla-gha: the way to the gateway cannot be opened in the box")
    os.close(heard)


def _main() -> None:
    ports = json.loads(sys.argv[1])
    if ports:
        _open_ways(ports)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ignored until here, so that bubblewrap outlives it
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 it becomes the agent, without a shell
    except OSError as error:
        sys.stderr.write(f"{sys.argv[2]}: {error.strerror}\n")
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    _main()
