"""Requests as a cell's socket receives them: read within limits of size and time, and decompressed."""

import asyncio
import base64
import zlib
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from scylla_gha.hub.errors import HubError

_LONGEST_BODY: Final = 64 * 1024 * 1024
_LONGEST_PATH: Final = 8 * 1024
_BODY_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class HubRequest:
    """Request as it was sent: `host` and `path` without the scheme, names of headers in lower case."""

    method: str
    host: str
    path: str
    query: str
    headers: Mapping[str, str]
    content: bytes = b""

    @property
    def token(self) -> str | None:
        """The token of `Authorization`, as token, Bearer or Basic; None without the header, "" for an empty one."""
        kind, _, value = self.headers.get("authorization", "").strip().partition(" ")
        if kind.lower() != "basic":
            return value.strip() if kind else None
        try:
            user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except ValueError:  # of base64, or of the characters
            return ""
        return user if password in ("", "x-oauth-basic") else password


async def read_request(request: web.BaseRequest, threads: Executor) -> HubRequest:
    """Read a request within limits of size and time; `threads` decompress its body.

    Raises:
        HubError: it is beyond a limit, or asks for a tunnel.
    """
    if request.method == "CONNECT":
        raise HubError(HTTPStatus.METHOD_NOT_ALLOWED, "This GitHub speaks HTTP without TLS")
    if len(request.raw_path) > _LONGEST_PATH:
        raise HubError(HTTPStatus.REQUEST_URI_TOO_LONG, "URI Too Long")
    try:
        parts = urlsplit(request.raw_path)
        host = (parts.hostname if parts.scheme else urlsplit(f"//{request.host}").hostname) or ""
    except ValueError:
        raise HubError(HTTPStatus.BAD_REQUEST, "Bad Request") from None
    headers = {name.lower(): plain_text(value) for name, value in request.headers.items()}
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            content = await _body(request, threads)
    except (TimeoutError, ConnectionError):
        raise HubError(HTTPStatus.REQUEST_TIMEOUT, "Request Timeout") from None
    path = parts.path if parts.scheme else request.raw_path.partition("?")[0]
    query = request.raw_path.partition("?")[2].partition("#")[0]
    return HubRequest(request.method, host.lower(), path or "/", query, headers, content)


def plain_text(text: str) -> str:
    """Return a text in which bytes that are not UTF-8, which aiohttp keeps as surrogates, are question marks."""
    return text.encode(errors="replace").decode()


async def _body(request: web.BaseRequest, threads: Executor) -> bytes:
    """Return the body, decompressed if it is gzip: in a thread, since all cells wait for the event loop."""
    coding = request.headers.get("Content-Encoding", "identity").lower()
    unpack = zlib.decompressobj(wbits=31) if coding in ("gzip", "x-gzip") else None
    if unpack is None and coding != "identity":
        raise HubError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Encoding {plain_text(coding)[:40]} is not supported"
        )
    parts, left, loop = [], _LONGEST_BODY, asyncio.get_running_loop()
    async for part in request.content.iter_any():
        try:
            plain = await loop.run_in_executor(threads, unpack.decompress, part, left + 1) if unpack else part
        except zlib.error:
            raise HubError(HTTPStatus.BAD_REQUEST, "Problems decompressing the body") from None
        left -= len(plain)
        if left < 0:
            raise HubError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Payload too large")
        parts.append(plain)
    return b"".join(parts)
