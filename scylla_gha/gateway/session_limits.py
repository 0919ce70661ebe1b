"""The limits of one session in the gateway: requests at a time, and bytes of their heads and bodies.

A request beyond the number waits for an earlier one of the same session; bytes beyond the limit are refused. A body
that does not arrive within a minute is refused too.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import web

_MEGA: Final = 1024 * 1024
LONGEST_REQUEST: Final = 32 * _MEGA  # what the provider takes (platform.claude.com/docs/en/api/errors, 2026-11-22)
_REQUESTS: Final = 32
_WAITING: Final = 128
_BYTES: Final = 2 * LONGEST_REQUEST
_HEAD: Final = 32 * 1024  # bytes of path and headers; the CLI's have some 2,000
_SECONDS: Final = 60.0
_PARTS: Final = 2_000_000  # of JSON; each takes some hundred bytes of memory when it is parsed
_SMALL: Final = _MEGA  # bodies up to this size are not searched for too many parts

_MANY: Final = f"more than {_REQUESTS + _WAITING} requests of this key are open; wait for answers before asking more"
_LONG_HEAD: Final = f"the request's path and headers are longer than {_HEAD // 1024} KB; send fewer"
_LONG: Final = f"the request is longer than {LONGEST_REQUEST // _MEGA} MB; ask with less"
_HELD: Final = f"the requests of this key that are open have more than {_BYTES // _MEGA} MB; wait for their answers"
_SLOW: Final = f"the request's body did not arrive within {_SECONDS:g} s; send it in one go"
_SPLIT: Final = f"the request has more than {_PARTS} parts; ask with less"


class SessionLimitError(Exception):
    """A request is refused, with this status and kind of error."""

    def __init__(self, status: HTTPStatus, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class SessionLimits:
    """One session's open requests. Not for threads: one event loop."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_REQUESTS)
        self._open = 0
        self._bytes = 0

    @contextlib.asynccontextmanager
    async def take(self, request: web.Request) -> AsyncIterator[bytes]:
        """Wait for a slot and for the body; both are held until the block ends.

        Raises:
            SessionLimitError: there are too many requests or bytes, or the body is late, or it or the head too large.
            ConnectionError: the client has gone.
        """
        if len(request.raw_path) + sum(len(name) + len(value) for name, value in request.raw_headers) > _HEAD:
            # how a provider answers to more is not laid down: it may hang up, which would look like its own fault
            raise SessionLimitError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "invalid_request_error", _LONG_HEAD)
        if self._open >= _REQUESTS + _WAITING:
            raise SessionLimitError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error", _MANY)
        self._open += 1
        held = _Held()
        try:
            async with self._slots:
                yield await self._read(request, held)
        finally:
            self._open -= 1
            self._bytes -= held.bytes

    async def _read(self, request: web.Request, held: "_Held") -> bytes:
        if (request.content_length or 0) > LONGEST_REQUEST:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG)
        body = bytearray()  # and no list of chunks: a client may send each byte in one of its own
        try:
            async with asyncio.timeout(_SECONDS):
                async for chunk in request.content.iter_any():
                    self._add(held, chunk)
                    body += chunk
        except TimeoutError:
            raise SessionLimitError(HTTPStatus.REQUEST_TIMEOUT, "invalid_request_error", _SLOW) from None
        if len(body) > _SMALL and sum(map(body.count, (b",", b"[", b"{"))) > _PARTS:
            raise SessionLimitError(HTTPStatus.BAD_REQUEST, "invalid_request_error", _SPLIT)
        return bytes(body)

    def _add(self, held: "_Held", chunk: bytes) -> None:
        if held.bytes + len(chunk) > LONGEST_REQUEST:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG)
        if self._bytes + len(chunk) > _BYTES:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _HELD)
        self._bytes += len(chunk)
        held.bytes += len(chunk)


@dataclass(slots=True)
class _Held:
    """What one request holds of its session's bytes."""

    bytes: int = 0
