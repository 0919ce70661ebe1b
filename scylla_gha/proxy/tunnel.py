"""A tunnel: bytes between the box and a host, which nobody here reads."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from scylla_gha.proxy.addresses import Address
from scylla_gha.proxy.visits import TooMuchError, Visit

_CHUNK: Final = 1 << 18
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass(frozen=True, slots=True)
class End:
    """One side of a tunnel."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def dial(addresses: list[Address], seconds: float) -> End:
    """Connect to the first address that answers.

    Raises:
        OSError: none does.
    """
    fault: OSError = OSError("it has no address")
    for host, port in addresses:
        try:
            async with asyncio.timeout(seconds):
                return End(*await asyncio.open_connection(host, port, limit=_CHUNK))
        except OSError as error:
            fault = error
    raise fault


async def join(visit: Visit, request: web.Request, far: End) -> None:
    """Say that the tunnel is there, and pass bytes until both sides are done, or one of them fails."""
    near, is_whole = _taken_over(request), False
    try:
        near.writer.write(_ESTABLISHED)
        async with visit.patience(), asyncio.TaskGroup() as group:
            group.create_task(_pass_on(near, far, lambda size: visit.moved(up=size)))
            group.create_task(_pass_on(far, near, lambda size: visit.moved(down=size)))
        is_whole = True
    except* TooMuchError:
        visit.error = "too_much"
    except* TimeoutError:
        visit.error = "idle"
    except* OSError:
        visit.error = visit.error or "cut"
    finally:
        visit.clock = None
        for end in (near, far):
            if not is_whole:
                end.writer.transport.abort()
            end.writer.close()


async def _pass_on(source: End, target: End, moved: Callable[[int], None]) -> None:
    while chunk := await source.reader.read(_CHUNK):
        moved(len(chunk))
        target.writer.write(chunk)
        await target.writer.drain()
    with contextlib.suppress(OSError):  # it may be gone already, and then needs no end
        target.writer.write_eof()


class _Early:
    """Takes what came behind the request, before there was a tunnel; aiohttp gives it to a parser of that form."""

    def __init__(self) -> None:
        self.data = b""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Keep it."""
        self.data += data
        return False, b""

    def feed_eof(self) -> None:
        """There is none: the connection gets another protocol."""


class _Protocol(asyncio.StreamReaderProtocol):
    """A stream of bytes in place of HTTP, on a connection of which aiohttp has to know the end."""

    def __init__(self, reader: asyncio.StreamReader, before: asyncio.BaseProtocol) -> None:
        super().__init__(reader)
        self._before = before

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over, for both."""
        super().connection_lost(exc)
        self._before.connection_lost(exc)


def _taken_over(request: web.Request) -> End:
    """The request's connection as a stream."""
    transport = request.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("the client is gone")
    early = _Early()
    request.protocol.set_parser(early)  # type: ignore[arg-type] # written for WebSockets
    reader = asyncio.StreamReader(limit=_CHUNK)
    protocol = _Protocol(reader, request.protocol)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if early.data:
        reader.feed_data(early.data)
    return End(reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop()))
