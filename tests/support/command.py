"""The real command line, as a person starts it."""

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.support import cli_fork_server

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
    *args: str, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 800, stdin: int | None = None
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
    with _forked([COMMAND, *args], cwd, whole, seconds, [] if stdin is None else [stdin]) as command:
        return command.wait()


@dataclass(frozen=True)
class ForkedCommand:
    """A command line that runs as a fork of one that is loaded already."""

    pid: int
    reply: IO[str]
    out: IO[bytes]
    err: IO[bytes]

    def wait(self) -> Said:
        """Wait for its end; the code of one that a signal ended is negative."""
        code = int(self.reply.readline())
        self.out.seek(0)
        self.err.seek(0)
        return Said(code, self.out.read().decode(), self.err.read().decode())

    def kill(self) -> Said:
        """Kill it, and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()


@contextlib.contextmanager
def forked(*args: str, cwd: Path, env: Mapping[str, str]) -> Iterator[ForkedCommand]:
    """`scylla-gha` as a process that the block ends; an engine is only found where `env` tells it."""
    whole = {**os.environ, "DOCKER_HOST": NO_ENGINE, **env}
    with _forked([COMMAND, *args], cwd, whole, 300, []) as command:
        yield command


@contextlib.contextmanager
def _forked(
    argv: list[str], cwd: Path, env: Mapping[str, str], seconds: float, stdin: list[int]
) -> Iterator[ForkedCommand]:
    request = json.dumps({"argv": argv, "cwd": str(cwd), "env": dict(env)}).encode()
    near, far = socket.socketpair()
    with near, far, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        socket.send_fds(_fork_server(), [request], [out.fileno(), err.fileno(), far.fileno(), *stdin])
        far.close()
        near.settimeout(seconds)
        with near.makefile("r") as reply:
            command = ForkedCommand(int(reply.readline()), reply, out, err)
            try:
                yield command
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(command.pid, signal.SIGKILL)
                raise


@functools.cache
def _fork_server() -> socket.socket:
    """The socket of this test process's own one, which ends with it; the runner's fork if there is one."""
    if cli_fork_server.RUNNING:
        return cli_fork_server.RUNNING[0]
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    with far:
        FORK_SERVERS.append(
            subprocess.Popen([sys.executable, str(FORK_SERVER)], stdin=far.fileno(), stdout=subprocess.DEVNULL)
        )
    return near
