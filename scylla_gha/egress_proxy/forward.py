"""Handles requests to the proxy: checks session and host, then forwards plain http or a tunnel."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from scylla_gha.egress_proxy import (
    Address,
    Connection,
    ConnectionLimitError,
    Connections,
    EgressPolicy,
    EgressTarget,
    Error,
    PrivateAddressError,
    Refusal,
    Resolver,
    tunnel_target,
    url_target,
)

# Headers of a single connection (RFC 9110, 7.6.1), and headers that are made anew for the other side.
HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "date",
        "server",
    }
)
_CHUNK_BYTES: Final = 1 << 18
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_ByteStream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_CONNECT: Final = "CONNECT"


def without_headers(headers: Mapping[str, str], names: Iterable[str]) -> CIMultiDict[str]:
    """Return the headers except `names`, which are in lower case."""
    dropped = frozenset(names)
    return CIMultiDict([(name, value) for name, value in headers.items() if name.lower() not in dropped])


def connection_headers(headers: Mapping[str, str]) -> set[str]:
    """Return the names of the headers that the sender declares as headers of this connection."""
    return {name.strip().lower() for name in headers.get("connection", "").split(",")}


def http_session() -> aiohttp.ClientSession:
    """Create a client session that opens a new connection for every request, so that no trials share a connection."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Content-Type", "Accept-Encoding"),
    )


async def forward_http(
    http: aiohttp.ClientSession, connection: Connection, request: web.Request, addresses: list[Address]
) -> web.StreamResponse:
    """Send a request to the first address that accepts a connection, and pass the response on.

    Raises:
        OSError: no address answers (`aiohttp.ClientError` if the answer is not HTTP).
    """
    response: web.StreamResponse | None = None
    try:
        async with connection.idle_timeout(), await _send(http, connection, request, addresses) as upstream:
            response = web.StreamResponse(status=upstream.status, headers=_end_to_end_headers(upstream.headers))
            await response.prepare(request)
            async for chunk in upstream.content.iter_any():
                connection.count_bytes(down=len(chunk))
                await response.write(chunk)
            await response.write_eof()
            return response
    except (ConnectionLimitError, TimeoutError, OSError, aiohttp.ClientError) as error:
        connection.error = connection.error or _error(error, begun=response is not None)
        if response is None or not response.prepared:
            raise
        if request.transport is not None:
            request.transport.abort()  # without a regular end, so that the client notices the missing part
        return response
    finally:
        connection.timeout = None


async def _send(
    http: aiohttp.ClientSession, connection: Connection, request: web.Request, addresses: list[Address]
) -> aiohttp.ClientResponse:
    """Send the client's headers and body; the Host header is that of the checked URL."""
    headers = _end_to_end_headers(request.headers, "expect")
    headers["host"] = connection.target.header
    failure: aiohttp.ClientConnectorError | None = None
    for host, port in addresses:
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        url = URL(f"http://{authority}{connection.target.path}", encoded=True)
        body = _upload(connection, request) if request.body_exists else None
        try:
            return await http.request(request.method, url, headers=headers, allow_redirects=False, data=body)
        except aiohttp.ClientConnectorError as error:
            failure = error
    raise failure or OSError("the host has no address")


async def _upload(connection: Connection, request: web.Request) -> AsyncIterator[bytes]:
    async for chunk in request.content.iter_any():
        connection.count_bytes(up=len(chunk))
        yield chunk


def _end_to_end_headers(original: Mapping[str, str], *dropped: str) -> CIMultiDict[str]:
    headers = without_headers(original, HOP_BY_HOP | connection_headers(original) | set(dropped))
    if "content-length" in original:
        headers["content-length"] = original["content-length"]
    return headers


def _error(error: BaseException, *, begun: bool) -> Error:
    if isinstance(error, ConnectionLimitError):
        return "too_much"
    if isinstance(error, TimeoutError):
        return "idle"
    return "cut" if begun else "unreachable"


async def _connect(addresses: list[Address], seconds: float) -> _ByteStream:
    """Connect to the first address that answers."""
    failure: OSError = OSError("the host has no address")
    for host, port in addresses:
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.open_connection(host, port, limit=_CHUNK_BYTES)
        except OSError as error:
            failure = error
    raise failure


async def tunnel(connection: Connection, request: web.Request, addresses: list[Address]) -> None:
    """Connect, confirm the tunnel, and pass bytes until both sides have ended or one of them fails.

    Raises:
        OSError: no address answers.
    """
    remote = await _connect(addresses, connection.connections.policy.limits.connect_seconds)
    client, is_complete = _take_over(request), False
    try:
        client[1].write(_ESTABLISHED)
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
        for _, writer in (client, remote):
            if not is_complete:
                writer.transport.abort()
            writer.close()


async def _pass_on(source: _ByteStream, target: _ByteStream, count: Callable[[int], None]) -> None:
    reader, writer = source[0], target[1]
    while chunk := await reader.read(_CHUNK_BYTES):
        count(len(chunk))
        writer.write(chunk)
        await writer.drain()
    with contextlib.suppress(OSError):  # the other side may have gone already
        writer.write_eof()


class _EarlyData:
    """Parser for aiohttp that keeps the bytes which followed the request before the tunnel was established."""

    def __init__(self) -> None:
        self.data = b""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Append bytes."""
        self.data += data
        return False, b""

    def feed_eof(self) -> None:
        """Do nothing, since the connection gets another protocol."""


class _Protocol(asyncio.StreamReaderProtocol):
    """Byte stream instead of HTTP on a connection, which reports the connection's end to aiohttp."""

    def __init__(self, reader: asyncio.StreamReader, previous: asyncio.BaseProtocol) -> None:
        super().__init__(reader)
        self._previous = previous

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end to both protocols."""
        super().connection_lost(exc)
        self._previous.connection_lost(exc)


def _take_over(request: web.Request) -> _ByteStream:
    """Turn the request's connection into a byte stream."""
    transport = request.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("the client has disconnected")
    early = _EarlyData()
    request.protocol.set_parser(early)  # type: ignore[arg-type] # written for WebSockets
    reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
    protocol = _Protocol(reader, request.protocol)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if early.data:
        reader.feed_data(early.data)
    return reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())


def is_proxy_request(request: web.Request) -> bool:
    """Return True if a request is a CONNECT, or has an absolute URL."""
    return request.method == _CONNECT or not request.raw_path.startswith(("/", "*"))


class EgressProxy:
    """Proxy of all sessions; `find` returns a session's connections by its token."""

    def __init__(
        self, find: Callable[[str], Connections | None], http: aiohttp.ClientSession, resolver: Resolver | None = None
    ) -> None:
        self._find = find
        self._http = http
        self._resolver = resolver or Resolver()

    def close(self) -> None:
        """Stop resolving names."""
        self._resolver.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Forward or refuse a request, and log it in both cases."""
        connections = self._find(proxy_password(request.headers))
        if connections is None:
            message = "these proxy credentials are not valid"
            return _response(HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, message)
        is_tunnel = request.method == _CONNECT
        target = tunnel_target(request.raw_path) if is_tunnel else url_target(request.raw_path)
        connection = connections.open("connect" if is_tunnel else "http", target)
        if not isinstance(connection, Connection):
            return _refused(connection, target, connections.policy)
        task = asyncio.create_task(self._run(connection, request))
        connections.tasks.add(task)
        task.add_done_callback(connections.tasks.discard)
        return await task

    async def _run(self, connection: Connection, request: web.Request) -> web.StreamResponse:
        try:
            return await self._forward(connection, request)
        except PrivateAddressError:
            connection.error = "private_address"
            message = f"{connection.target.host} has only private addresses, which are blocked"
            return _response(HTTPStatus.FORBIDDEN, message)
        except ConnectionLimitError:
            return _response(HTTPStatus.FORBIDDEN, "these credentials have reached their limit of transferred bytes")
        except (OSError, aiohttp.ClientError) as error:
            connection.error = connection.error or "unreachable"
            # Without the error's message, which might quote the request.
            name = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
            message = f"{connection.target.authority} cannot be reached ({name})"
            return _response(HTTPStatus.BAD_GATEWAY, message)
        except asyncio.CancelledError:
            connection.error = "ended_with_trial"
            raise
        finally:
            connection.close()

    async def _forward(self, connection: Connection, request: web.Request) -> web.StreamResponse:
        addresses = await self._resolver.addresses(connection.target, connection.connections.policy)
        if connection.target.path is not None:
            return await forward_http(self._http, connection, request, addresses)
        await tunnel(connection, request, addresses)
        return web.Response()  # not sent: the connection is closed


def proxy_password(headers: Mapping[str, str]) -> str:
    """Return the password of basic proxy credentials, or an empty string."""
    kind, _, value = headers.get("proxy-authorization", "").partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode(errors="replace").partition(":")[2]
    except ValueError:  # not base64, or not ASCII
        return ""


def _refused(refusal: Refusal, target: EgressTarget | None, policy: EgressPolicy) -> web.Response:
    if target is None:
        return _response(
            HTTPStatus.BAD_REQUEST,
            "the host of the request cannot be parsed; use an ASCII name, a port, no "
            "user information, and https only through a tunnel (CONNECT)",
        )
    if refusal == "too_many":
        return _response(HTTPStatus.TOO_MANY_REQUESTS, f"{target.authority} is not reached: too many connections")
    return _response(
        HTTPStatus.FORBIDDEN,
        f"{target.authority} is not among the hosts that this task may reach ({policy.description})",
        f"{target.authority} is not allowed",
    )


def _response(status: HTTPStatus, message: str, reason: str | None = None) -> web.Response:
    """Build a response of the proxy itself; many clients show only its reason."""
    headers = {"connection": "close"}
    if status is HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        headers["proxy-authenticate"] = 'Basic realm="proxy"'
    response = web.Response(status=status, reason=reason, text=f"{message}\n", headers=headers)
    response.force_close()
    return response
