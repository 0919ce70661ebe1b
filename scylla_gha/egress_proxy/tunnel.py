"""A CONNECT tunnel: bytes are passed between client and host, unread."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from scylla_gha.egress_proxy.addresses import Address
from scylla_gha.egress_proxy.connections import Connection, ConnectionLimitError

_CHUNK: Final = 1 << 18
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass(frozen=True, slots=True)
class TunnelEnd:
    """One side of a tunnel."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def connect(addresses: list[Address], seconds: float) -> TunnelEnd:
    """Connect to the first address that answers.

    Raises:
        OSError: none answers.
    """
    failure: OSError = OSError("it has no address")
    for host, port in addresses:
        try:
            async with asyncio.timeout(seconds):
                return TunnelEnd(*await asyncio.open_connection(host, port, limit=_CHUNK))
        except OSError as error:
            failure = error
    raise failure


async def join(connection: Connection, request: web.Request, remote: TunnelEnd) -> None:
    """Confirm the tunnel, and pass bytes until both sides have ended or one of them fails."""
    client, is_complete = _take_over(request), False
    try:
        client.writer.write(_ESTABLISHED)
        async with connection.idle_timeout(), asyncio.TaskGroup() as group:
            group.create_task(_pass_on(client, remote, lambda size: connection.count_bytes(up=size)))
            group.create_task(_pass_on(remote, client, lambda size: connection.count_bytes(down=size)))
        is_complete = True
    except* ConnectionLimitError:
        connection.error = "too_much"
    except* TimeoutError:
        connection.error = "idle"
    except* OSError:
        connection.error = connection.error or "cut"
    finally:
        connection.timeout = None
        for end in (client, remote):
            if not is_complete:
                end.writer.transport.abort()
            end.writer.close()


async def _pass_on(source: TunnelEnd, target: TunnelEnd, count: Callable[[int], None]) -> None:
    while chunk := await source.reader.read(_CHUNK):
        count(len(chunk))
        target.writer.write(chunk)
        await target.writer.drain()
    with contextlib.suppress(OSError):  # the other side may have gone already
        target.writer.write_eof()


class _EarlyData:
    """Keeps bytes that followed the request before the tunnel stood; aiohttp passes them to a parser of this form."""

    def __init__(self) -> None:
        self.data = b""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Keep bytes."""
        self.data += data
        return False, b""

    def feed_eof(self) -> None:
        """Do nothing: the connection gets another protocol."""


class _Protocol(asyncio.StreamReaderProtocol):
    """A byte stream in place of HTTP, on a connection whose end aiohttp has to know."""

    def __init__(self, reader: asyncio.StreamReader, previous: asyncio.BaseProtocol) -> None:
        super().__init__(reader)
        self._previous = previous

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell both protocols."""
        super().connection_lost(exc)
        self._previous.connection_lost(exc)


def _take_over(request: web.Request) -> TunnelEnd:
    """Turn the request's connection into a byte stream."""
    transport = request.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("the client has disconnected")
    early = _EarlyData()
    request.protocol.set_parser(early)  # type: ignore[arg-type] # written for WebSockets
    reader = asyncio.StreamReader(limit=_CHUNK)
    protocol = _Protocol(reader, request.protocol)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if early.data:
        reader.feed_data(early.data)
    return TunnelEnd(reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop()))
