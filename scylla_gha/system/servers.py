"""Servers of the harness, such as gateway and hub: their processes, and their listening sockets.

Clients start the process, replace it and end it. A socket has a limit of connections, so that no client takes them all.
Each session or cell in a sandbox has its own socket; the harness has one that is not passed to anyone else.
"""

import asyncio
import contextlib
import os
import resource
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, cast

from scylla_gha.errors import ToolError
from scylla_gha.system import process

if TYPE_CHECKING:
    from aiohttp import web

_START_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 5.0
# Without garbage collection, a start takes a sixth less time; `main` enables it when all modules are imported.
_PROGRAM: Final = "import gc, importlib, sys; gc.disable(); importlib.import_module(sys.argv[1]).main()"
_BACKLOG: Final = 512
_SESSION_CONNECTIONS: Final = 256
_PAUSE_SECONDS: Final = 0.1  # before accepting again, after an error


class ServerProcess:
    """A server's process. All methods may be called from any thread."""

    def __init__(self, name: str, module: str, passed_on: Sequence[str]) -> None:
        """Prepare to run a module with only some variables of the harness's environment.

        Args:
            name: name of the server in messages, such as "the hub".
            module: module whose `main` runs.
            passed_on: names of the variables that the server gets.
        """
        self._name, self._module, self._passed_on = name, module, passed_on
        self._lock = threading.Lock()
        self._service: process.Service | None = None

    @property
    def alive(self) -> bool:
        """True if its process runs."""
        service = self._service
        return service is not None and service.alive

    @property
    def pid(self) -> int | None:
        """Id of the running process; None: it does not run."""
        service = self._service
        return service.pid if service and service.alive else None

    def stop(self) -> None:
        """End the process after its open requests, or after 5 s; its state in memory is lost."""
        with self._lock:
            self._end(_GRACE_SECONDS)

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the process."""
        self.stop()

    def _end(self, grace_seconds: float) -> None:
        if self._service is not None:
            self._service.stop(grace_seconds)

    def _start(self, line: str) -> list[int]:
        """Start a new process, send it a line, and return the ports that it prints."""
        self._end(0.0)
        env = {name: os.environ[name] for name in self._passed_on if name in os.environ}
        # -P: no modules of the current folder, which may be a stranger's checkout, in a process that may have a key
        self._service = process.Service([sys.executable, "-P", "-c", _PROGRAM, self._module], env=env)
        answer = self._service.converse(line.encode(), _START_SECONDS)
        if not answer.replace(" ", "").isdigit():
            self._end(0.0)
            raise ToolError(f"{self._name} does not start: {self._service.message or 'it prints nothing'}")
        return list(map(int, answer.split()))


def raise_file_limit() -> int:
    """Raise this process's limit of open files to the hard limit; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Listener:
    """Listening socket with at most `most` connections; further connections are closed at once."""

    def __init__(self, listening: socket.socket, server: "web.Server | None", most: int) -> None:
        """Start listening, in the running event loop; `server` is the server of a runner that is set up."""
        listening.setblocking(False)
        listening.listen(_BACKLOG)
        self._listening = listening
        self._server = cast("web.Server", server)
        self._most = most
        self._open: set[asyncio.Transport] = set()
        self._task = asyncio.create_task(self._accept())

    @classmethod
    def on_loopback(cls, server: "web.Server | None", most: int) -> "Listener":
        """Listen on a free port of loopback."""
        listening = socket.socket(socket.AF_INET)
        listening.bind(("127.0.0.1", 0))
        return cls(listening, server, most)

    @classmethod
    def at(cls, path: Path, server: "web.Server | None") -> "Listener":
        """Listen on a Unix socket that every user may use: a container's users have other ids.

        Raises:
            OSError: a socket cannot be created at this path.
        """
        path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(str(path))
            path.chmod(0o666)
        except OSError as error:
            listening.close()
            raise OSError(f"{path}: a socket cannot be created here: {error}") from None
        # so that 16 sessions can have their maximum
        return cls(listening, server, min(_SESSION_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 16))

    @property
    def port(self) -> int:
        """The port on loopback."""
        port: int = self._listening.getsockname()[1]
        return port

    async def stop(self) -> None:
        """Accept no more connections; open ones stay open."""
        self._task.cancel()
        await asyncio.wait([self._task])
        self._listening.close()

    async def close(self) -> None:
        """Accept no more connections, and abort open ones."""
        await self.stop()
        for transport in self._open:
            transport.abort()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listening)
            except OSError:  # out of descriptors or memory, or the client has disconnected
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            self._open = {connection for connection in self._open if not connection.is_closing()}
            if len(self._open) >= self._most:
                accepted.close()
                continue
            with contextlib.suppress(OSError):
                transport, _ = await loop.connect_accepted_socket(self._server, accepted)
                self._open.add(transport)
