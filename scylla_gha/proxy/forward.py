"""A request by http that the proxy itself sends on, with a token where the lane has one for the host.

The token is added here and is taken out of whatever comes back, should a host repeat it: the box never sees it. So that
it can be looked for, such an answer is asked for as it is: not compressed, not in parts.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from scylla_gha.proxy.addresses import Address
from scylla_gha.proxy.headers import HOP, named_in_connection, without
from scylla_gha.proxy.permit import Token
from scylla_gha.proxy.visits import Error, TooMuchError, Visit

_READABLE: Final = {"accept-encoding", "range", "if-range"}
_NO_BODY: Final = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}


def session() -> aiohttp.ClientSession:
    """Every request has a connection of its own: one that was made for a lane is of use to no other."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True), timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Content-Type", "Accept-Encoding"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Errand:
    """One request on its way to a host."""

    session: aiohttp.ClientSession
    visit: Visit
    request: web.Request
    token: Token | None

    async def run(self, addresses: list[Address]) -> web.StreamResponse:
        """Ask, and pass the answer on.

        Raises:
            OSError: no address answers (`aiohttp.ClientError` where the answer is none).
        """
        answer: web.StreamResponse | None = None
        try:
            async with self.visit.patience(), await self._ask(addresses) as upstream:
                if self.token and upstream.headers.get("content-encoding", "identity").lower() != "identity":
                    raise aiohttp.ClientPayloadError("it is compressed, so nobody could look for the token in it")
                answer = web.StreamResponse(status=upstream.status, headers=self._downward(upstream))
                await self._pass_on(upstream, answer)
                return answer
        except (TooMuchError, TimeoutError, OSError, aiohttp.ClientError) as error:
            self.visit.error = self.visit.error or _error(error, begun=answer is not None)
            if answer is None or not answer.prepared:
                raise
            if self.request.transport is not None:
                self.request.transport.abort()  # without an end, so that the client knows that something is missing
            return answer
        finally:
            self.visit.clock = None

    async def _ask(self, addresses: list[Address]) -> aiohttp.ClientResponse:
        """Ask at the first address that can be connected to."""
        fault: aiohttp.ClientConnectorError | None = None
        for host, port in addresses:
            try:
                return await self._send(host, port)
            except aiohttp.ClientConnectorError as error:
                fault = error
        raise fault or OSError("it has no address")

    async def _send(self, host: str, port: int) -> aiohttp.ClientResponse:
        target, is_https = self.visit.target, self.token is not None and self.token.https
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        url = URL(f"{'https' if is_https else 'http'}://{place}{target.path}", encoded=True)
        return await self.session.request(
            self.request.method, url, headers=self._upward(), allow_redirects=False,
            data=self._upload() if self.request.body_exists else None,
            server_hostname=target.host if is_https else None,
        )  # fmt: skip

    def _upward(self) -> CIMultiDict[str]:
        """The client's headers, of which the Host is not its to choose."""
        given = self.request.headers
        kept = without(given, HOP | {"expect"} | named_in_connection(given))
        if "content-length" in given:
            kept["content-length"] = given["content-length"]
        kept["host"] = self.visit.target.header
        if self.token:
            kept = without(kept, {self.token.header.lower(), *_READABLE})
            kept["accept-encoding"] = "identity"
            kept[self.token.header] = self.token.value
        return kept

    async def _upload(self) -> AsyncIterator[bytes]:
        async for chunk in self.request.content.iter_any():
            self.visit.moved(up=len(chunk))
            yield chunk

    def _downward(self, upstream: aiohttp.ClientResponse) -> CIMultiDict[str]:
        given = upstream.headers
        kept = without(given, HOP | named_in_connection(given))
        no_body = self.request.method == "HEAD" or upstream.status in _NO_BODY
        if "content-length" in given and (self.token is None or no_body):
            kept["content-length"] = given["content-length"]
        return CIMultiDict([(self._clean(name), self._clean(value)) for name, value in kept.items()])

    def _clean(self, text: str) -> str:
        redactor = self.visit.visits.redactor
        return redactor.redact_bytes(text.encode(errors="replace"))[0].decode() if self.token and redactor else text

    async def _pass_on(self, upstream: aiohttp.ClientResponse, answer: web.StreamResponse) -> None:
        await answer.prepare(self.request)
        redactor = self.visit.visits.redactor
        stream = redactor.stream() if self.token and redactor else None
        async for chunk in upstream.content.iter_any():
            self.visit.moved(down=len(chunk))
            await answer.write(stream.feed(chunk) if stream else chunk)
        if stream:
            await answer.write(stream.end())
        await answer.write_eof()


def _error(error: BaseException, *, begun: bool) -> Error:
    if isinstance(error, TooMuchError):
        return "too_much"
    if isinstance(error, TimeoutError):
        return "idle"
    return "cut" if begun else "unreachable"
