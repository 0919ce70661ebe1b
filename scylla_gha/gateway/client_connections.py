"""Answers to clients of the gateway, with a time limit for those that do not read."""

import asyncio
import contextlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

from scylla_gha.egress_proxy.forward import HOP_BY_HOP, without_headers
from scylla_gha.providers.base import Provider

# The gateway has waited already; a client's SDK would wait again, for hours if the header says so.
_WAITS: Final = frozenset({"retry-after", "retry-after-ms"})
_UNREAD_SECONDS: Final = 30.0  # after which a client that does not read counts as disconnected
_UNAWAITED: Final = 16 * 1024  # bytes that an empty buffer takes at once: asyncio has a writer wait from 64 KB on


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
        if not self._response.prepared:
            await self.write(b"")
        if not self._is_gone:
            with contextlib.suppress(ConnectionError, TimeoutError):
                if self._cannot_block(b""):
                    await self._response.write_eof()
                else:
                    async with asyncio.timeout(_UNREAD_SECONDS):
                        await self._response.write_eof()
        return self._response

    def cut(self) -> web.StreamResponse:
        """Close the connection without an end, so that the client knows that the response is incomplete."""
        if self._request.transport is not None:
            self._request.transport.close()
        return self._response
