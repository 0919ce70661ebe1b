"""Connections of clients: limited in number, so that no client takes them all, and writing to slow or lost clients.

Each session in a sandbox has its own socket; the harness has one that is not passed to anyone else.
"""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final, cast

from aiohttp import web
from multidict import CIMultiDict

from scylla_gha.egress_proxy.forward import HOP_BY_HOP, without_headers
from scylla_gha.providers.base import Provider

_BACKLOG: Final = 512
_SESSION_CONNECTIONS: Final = 256
_PAUSE_SECONDS: Final = 0.1  # before accepting again, after an error
# The gateway has waited already; a client's SDK would wait again, for hours if the header says so.
_WAITS: Final = frozenset({"retry-after", "retry-after-ms"})
_UNREAD_SECONDS: Final = 30.0  # after which a client that does not read counts as disconnected
_UNAWAITED: Final = 16 * 1024  # bytes that an empty buffer takes at once: asyncio has a writer wait from 64 KB on


def raise_file_limit() -> int:
    """Raise this process's limit of open files to the hard limit; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def _session_connections() -> int:
    """Return the number of connections that one session may have open: 16 sessions can have as many."""
    return min(_SESSION_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 16)


class Listener:
    """Accepts connections; one beyond `most` is closed at once."""

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
        return cls(listening, server, _session_connections())

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


def to_client(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the provider's headers that are passed on to the client."""
    return without_headers(headers, HOP_BY_HOP | _WAITS | {"set-cookie"})


def failure(provider: Provider, status: HTTPStatus, kind: str, message: str) -> web.Response:
    """Return an error response of the gateway itself, in the provider's form."""
    return web.Response(status=status, body=provider.error_body(kind, message), content_type="application/json")


def has_left(request: web.Request) -> bool:
    """Tell if the client has disconnected."""
    return request.transport is None or request.transport.is_closing()


class ClientResponse:
    """A response to the client, started with its first bytes. A client that has disconnected is not an error.

    A client that does not read counts as disconnected; the provider's response is read to its end anyway, to know its
    cost.
    """

    def __init__(self, request: web.Request, status: int, headers: Mapping[str, str]) -> None:
        self._request = request
        self._response = web.StreamResponse(status=status, headers=headers)
        self._is_gone = False

    async def write(self, chunk: bytes) -> None:
        """Pass bytes on, as fast as the client reads them."""
        if self._is_gone:
            return
        try:
            if not self._response.prepared:
                await self._response.prepare(self._request)
            if self._cannot_block(chunk):
                await self._response.write(chunk)
            else:
                async with asyncio.timeout(_UNREAD_SECONDS):
                    await self._response.write(chunk)
        except (ConnectionError, TimeoutError):
            self._is_gone = True

    def _cannot_block(self, chunk: bytes) -> bool:
        """Tell if writing cannot block, so that it needs no timeout, which would cost more than the write."""
        transport = self._request.transport
        return transport is not None and len(chunk) <= _UNAWAITED and transport.get_write_buffer_size() == 0

    async def end(self) -> web.StreamResponse:
        """End the response."""
        await self.write(b"")
        if not self._is_gone:
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(_UNREAD_SECONDS):
                    await self._response.write_eof()
        return self._response

    def cut(self) -> web.StreamResponse:
        """Close the connection without an end, so that the client knows that the response is incomplete."""
        if self._request.transport is not None:
            self._request.transport.close()
        return self._response
