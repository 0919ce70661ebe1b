"""The real command line, as a person starts it."""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NO_ENGINE = "unix:///nowhere/docker.sock"
COMMAND = str(Path(sys.executable).with_name("scylla-gha"))
FORK_SERVER = Path(__file__).with_name("cli_fork_server.py")
FORK_SERVERS: list[subprocess.Popen[bytes]] = []  # they end with this process


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


def scylla(
    *args: str, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 300, stdin: int | None = None
) -> Said:
    """Run `scylla-gha` to its end with `env` added to the environment; an engine is only found where `env` tells it.

    `stdin` is a file descriptor to read from; None: standard input is empty.

    It is a process of its own: a fork of one that is loaded already, unless `env` configures the interpreter itself or
    the test asks for a real start.
    """
    whole = {**os.environ, "DOCKER_HOST": NO_ENGINE, **(env or {})}
    if any(name.startswith("PYTHON") for name in env or ()) or "SCYLLA_TEST_REAL_START" in os.environ:
        done = subprocess.run(
            [COMMAND, *args], cwd=cwd, env=whole, stdin=subprocess.DEVNULL if stdin is None else stdin,
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)
    return _forked([COMMAND, *args], cwd, whole, seconds, [] if stdin is None else [stdin])


def _forked(argv: list[str], cwd: Path, env: Mapping[str, str], seconds: float, stdin: list[int]) -> Said:
    request = json.dumps({"argv": argv, "cwd": str(cwd), "env": dict(env)}).encode()
    near, far = socket.socketpair()
    with near, far, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        socket.send_fds(_fork_server(), [request], [out.fileno(), err.fileno(), far.fileno(), *stdin])
        far.close()
        near.settimeout(seconds)
        with near.makefile("r") as told:
            child = int(told.readline())
            try:
                code = int(told.readline())
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                raise
        out.seek(0)
        err.seek(0)
        return Said(code, out.read().decode(), err.read().decode())


@functools.cache
def _fork_server() -> socket.socket:
    """The socket of this test process's own one, which ends with it."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    with far:
        FORK_SERVERS.append(
            subprocess.Popen([sys.executable, str(FORK_SERVER)], stdin=far.fileno(), stdout=subprocess.DEVNULL)
        )
    return near
