"""The limits of one session in the gateway: requests at a time, and bytes of their bodies.

A request beyond the number waits for an earlier one of the same session; bytes beyond the limit are refused. A body
that does not arrive within a minute is refused too.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

from aiohttp import web

from scylla_gha.gateway.wire import failure

_MEGA: Final = 1024 * 1024
LONGEST_REQUEST: Final = 32 * _MEGA  # what the provider takes (platform.claude.com/docs/en/api/errors, 2026-11-22)
_REQUESTS: Final = 32
_WAITING: Final = 128
_BYTES: Final = 2 * LONGEST_REQUEST
_SECONDS: Final = 60.0
_PARTS: Final = 2_000_000  # of JSON; each takes some hundred bytes of memory when it is parsed
_SMALL: Final = _MEGA  # bodies up to this size are not searched for too many parts

_MANY: Final = f"more than {_REQUESTS + _WAITING} requests of this key are open; wait for answers before asking more"
_LONG: Final = f"the request is longer than {LONGEST_REQUEST // _MEGA} MB; ask with less"
_HELD: Final = f"the requests of this key that are open have more than {_BYTES // _MEGA} MB; wait for their answers"
_SLOW: Final = f"the request's body did not arrive within {_SECONDS:g} s; send it in one go"
_SPLIT: Final = f"the request has more than {_PARTS} parts; ask with less"


class RefusedError(Exception):
    """A request is not taken; `answer` says why."""

    def __init__(self, status: HTTPStatus, kind: str, message: str) -> None:
        super().__init__(message)
        self.answer = failure(status, kind, message)
        self.answer.force_close()  # the rest of its body is not read


class Intake:
    """One session's open requests. Not for threads: one event loop."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_REQUESTS)
        self._open = 0
        self._bytes = 0

    @contextlib.asynccontextmanager
    async def take(self, request: web.Request) -> AsyncIterator[bytes]:
        """Wait for a slot and for the body; both are held until the block ends.

        Raises:
            RefusedError: there are too many requests or bytes, or the body is late or too large.
            ConnectionError: the client has gone.
        """
        if self._open >= _REQUESTS + _WAITING:
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error", _MANY)
        self._open += 1
        body = bytearray()
        try:
            async with self._slots:
                yield await self._read(request, body)
        finally:
            self._open -= 1
            self._bytes -= len(body)

    async def _read(self, request: web.Request, body: bytearray) -> bytes:
        if (request.content_length or 0) > LONGEST_REQUEST:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG)
        try:
            async with asyncio.timeout(_SECONDS):
                async for chunk in request.content.iter_any():
                    self._add(body, chunk)
        except TimeoutError:
            raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, "invalid_request_error", _SLOW) from None
        if len(body) > _SMALL and sum(map(body.count, (b",", b"[", b"{"))) > _PARTS:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "invalid_request_error", _SPLIT)
        return bytes(body)

    def _add(self, body: bytearray, chunk: bytes) -> None:
        if len(body) + len(chunk) > LONGEST_REQUEST:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG)
        if self._bytes + len(chunk) > _BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _HELD)
        self._bytes += len(chunk)
        body += chunk
