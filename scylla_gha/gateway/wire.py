"""HTTP as the gateway passes it on: which headers go which way, and errors in the form of the Messages API."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

from scylla_gha.gateway.settings import Settings
from scylla_gha.proxy.headers import HOP, without

JSON: Final = "application/json"
# What Claude Code 2.1.197 and the provider's SDKs send with a request (2026-11-22). Its credentials are dummies, what
# would be compressed could not be metered, and others could have an intermediary refuse the request or answer it.
_UPWARD: Final = re.compile(
    r"content-type|accept|accept-language|user-agent|x-app|x-client-request-id|x-stainless-[a-z-]+|x-claude-code-[a-z-]+"
    r"|anthropic-(version|beta|client-platform|dangerous-direct-browser-access)"
)
# The gateway has waited as long as it may; the SDK would obey any number and wait again, for hours if it is told so.
_WAITS: Final = frozenset({"retry-after", "retry-after-ms"})
_UNREAD_SECONDS: Final = 30.0  # that a client may leave its answer unread, until it counts as gone
_OAUTH_BETA: Final = "oauth-2025-04-20"


def token_of(headers: Mapping[str, str]) -> str:
    """The dummy key of a request, in either of its two places."""
    return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()


def upward(headers: CIMultiDictProxy[str], settings: Settings, token: str | None = None) -> CIMultiDict[str]:
    """A client's headers for the provider, with the real key, or with a token that the run's identity bought."""
    kept = CIMultiDict([(name, value) for name, value in headers.items() if _UPWARD.fullmatch(name.lower())])
    kept["accept-encoding"] = "identity"
    if settings.api_key:
        kept["x-api-key"] = settings.api_key
    elif bearer := settings.bearer or token:
        kept["authorization"] = f"Bearer {bearer}"
        if settings.is_subscription or token:
            kept["anthropic-beta"] = ",".join([*kept.popall("anthropic-beta", []), _OAUTH_BETA])
    return kept


def downward(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The provider's headers for the client."""
    return without(headers, HOP | _WAITS | {"set-cookie"})


def error_body(kind: str, message: str) -> bytes:
    """An error as the Messages API writes it, so that every client shows its message."""
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})


def failure(status: HTTPStatus, kind: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error answer of the gateway's own."""
    return web.Response(status=status, body=error_body(kind, message), content_type=JSON, headers=headers)


class Answer:
    """An answer on its way to the client, begun with its first bytes. A client that has gone away is no error.

    One that does not read counts as gone: the provider's answer is read on all the same, so that its cost is known.
    """

    def __init__(self, request: web.Request, status: int, headers: Mapping[str, str]) -> None:
        self._request = request
        self._response = web.StreamResponse(status=status, headers=headers)
        self._is_gone = False

    async def write(self, chunk: bytes) -> None:
        """Pass bytes on, as fast as the client takes them."""
        if self._is_gone:
            return
        try:
            if not self._response.prepared:
                await self._response.prepare(self._request)
            async with asyncio.timeout(_UNREAD_SECONDS):
                await self._response.write(chunk)
        except (ConnectionError, TimeoutError):
            self._is_gone = True

    async def end(self) -> web.StreamResponse:
        """End it properly."""
        await self.write(b"")
        if not self._is_gone:
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(_UNREAD_SECONDS):
                    await self._response.write_eof()
        return self._response

    def cut(self) -> web.StreamResponse:
        """Close the connection without an end, so that the client knows that something is missing."""
        if self._request.transport is not None:
            self._request.transport.close()
        return self._response
