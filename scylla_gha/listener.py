"""Listening sockets of the harness's servers, with a limit of connections, so that no client takes them all.

Each session or cell in a sandbox has its own socket; the harness has one that is not passed to anyone else.
"""

import asyncio
import contextlib
import resource
import socket
from pathlib import Path
from typing import Final, cast

from aiohttp import web

_BACKLOG: Final = 512
_SESSION_CONNECTIONS: Final = 256
_PAUSE_SECONDS: Final = 0.1  # before accepting again, after an error


def raise_file_limit() -> int:
    """Raise this process's limit of open files to the hard limit; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Listener:
    """Listening socket with at most `most` connections; further ones are closed immediately."""

    def __init__(self, listening: socket.socket, server: web.Server | None, most: int) -> None:
        """Start listening, in the running event loop, for the server of a runner that is set up."""
        listening.setblocking(False)
        listening.listen(_BACKLOG)
        self._listening = listening
        self._server = cast("web.Server", server)
        self._most = most
        self._open: set[asyncio.Transport] = set()
        self._task = asyncio.create_task(self._accept())

    @classmethod
    def on_loopback(cls, server: web.Server | None, most: int) -> "Listener":
        """Listen on a free port of loopback."""
        listening = socket.socket(socket.AF_INET)
        listening.bind(("127.0.0.1", 0))
        return cls(listening, server, most)

    @classmethod
    def at(cls, path: Path, server: web.Server | None) -> "Listener":
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
        # 16 sessions can have as many
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
