"""A plain http request that the proxy forwards itself, and which headers are passed on."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from scylla_gha.egress_proxy.addresses import Address
from scylla_gha.egress_proxy.connections import Connection, ConnectionLimitError, Error

# Headers of one connection only (RFC 9110, 7.6.1), or made anew for the other side.
HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade", "host", "content-length", "date", "server"}
)  # fmt: skip


def without_headers(headers: Mapping[str, str], names: Iterable[str]) -> CIMultiDict[str]:
    """Return the headers without those of these names, which are in lower case."""
    dropped = frozenset(names)
    return CIMultiDict([(name, value) for name, value in headers.items() if name.lower() not in dropped])


def connection_headers(headers: Mapping[str, str]) -> set[str]:
    """Return the names of headers that the sender declares as of this connection only."""
    return {name.strip().lower() for name in headers.get("connection", "").split(",")}


def http_session() -> aiohttp.ClientSession:
    """Create a client session that opens a new connection for every request, so that sessions share none."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True), timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Content-Type", "Accept-Encoding"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ForwardedHttpRequest:
    """One request that is forwarded to a host."""

    http: aiohttp.ClientSession
    connection: Connection
    request: web.Request

    async def run(self, addresses: list[Address]) -> web.StreamResponse:
        """Send the request and pass the response on.

        Raises:
            OSError: no address answers (`aiohttp.ClientError` if the answer is not HTTP).
        """
        response: web.StreamResponse | None = None
        try:
            async with self.connection.idle_timeout(), await self._send(addresses) as upstream:
                response = web.StreamResponse(status=upstream.status, headers=_response_headers(upstream))
                await self._pass_on(upstream, response)
                return response
        except (ConnectionLimitError, TimeoutError, OSError, aiohttp.ClientError) as error:
            self.connection.error = self.connection.error or _error(error, begun=response is not None)
            if response is None or not response.prepared:
                raise
            if self.request.transport is not None:
                self.request.transport.abort()  # without an end, so that the client knows that something is missing
            return response
        finally:
            self.connection.timeout = None

    async def _send(self, addresses: list[Address]) -> aiohttp.ClientResponse:
        """Send the request to the first address that accepts a connection."""
        failure: aiohttp.ClientConnectorError | None = None
        for host, port in addresses:
            try:
                return await self._send_to(host, port)
            except aiohttp.ClientConnectorError as error:
                failure = error
        raise failure or OSError("it has no address")

    async def _send_to(self, host: str, port: int) -> aiohttp.ClientResponse:
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        url = URL(f"http://{authority}{self.connection.target.path}", encoded=True)
        data = self._upload() if self.request.body_exists else None
        return await self.http.request(
            self.request.method, url, headers=self._request_headers(), allow_redirects=False, data=data
        )

    def _request_headers(self) -> CIMultiDict[str]:
        """Return the client's headers, with the Host of the URL that was checked."""
        original = self.request.headers
        headers = without_headers(original, HOP_BY_HOP | {"expect"} | connection_headers(original))
        if "content-length" in original:
            headers["content-length"] = original["content-length"]
        headers["host"] = self.connection.target.header
        return headers

    async def _upload(self) -> AsyncIterator[bytes]:
        async for chunk in self.request.content.iter_any():
            self.connection.count_bytes(up=len(chunk))
            yield chunk

    async def _pass_on(self, upstream: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        await response.prepare(self.request)
        async for chunk in upstream.content.iter_any():
            self.connection.count_bytes(down=len(chunk))
            await response.write(chunk)
        await response.write_eof()


def _response_headers(upstream: aiohttp.ClientResponse) -> CIMultiDict[str]:
    original = upstream.headers
    headers = without_headers(original, HOP_BY_HOP | connection_headers(original))
    if "content-length" in original:
        headers["content-length"] = original["content-length"]
    return headers


def _error(error: BaseException, *, begun: bool) -> Error:
    if isinstance(error, ConnectionLimitError):
        return "too_much"
    if isinstance(error, TimeoutError):
        return "idle"
    return "cut" if begun else "unreachable"
