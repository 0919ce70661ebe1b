"""Handles one request: refuses it, answers it from a recording or forwards it to the provider, and logs it.

An answer is logged before the client gets its end, so no summary lacks a finished request. When the client leaves, the
gateway still reads the answer to its end, since only the end states the cost.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from scylla_gha.egress_proxy.forward import HOP_BY_HOP, without_headers
from scylla_gha.gateway.budget import BudgetLedger, RequestRefusal, forbidden_reason
from scylla_gha.gateway.call_guard import CallHolder
from scylla_gha.gateway.evidence import CLIENT_GONE, UNREACHABLE, is_temporary, provider_fault
from scylla_gha.gateway.log import UNMATCHED
from scylla_gha.gateway.log_entry import RequestLogEntry
from scylla_gha.gateway.recording import RecordedResponse, Recording, is_stream, recordable_text
from scylla_gha.gateway.sessions import SessionState
from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess
from scylla_gha.gateway.upstream import Limiter, RequestSlot, Upstream
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers.base import NO_RESPONSE, ApiStyle, ModelRequest, split_events
from scylla_gha.providers.credentials import CredentialError
from scylla_gha.redaction import Redactor

# The gateway has waited already; a client's SDK would wait again, for hours if the header says so.
_WAIT_HEADERS: Final = frozenset({"retry-after", "retry-after-ms"})
_UNREAD_SECONDS: Final = 30.0  # after which a client that does not read counts as disconnected
_NON_BLOCKING_BYTES: Final = 16 * 1024  # that an empty buffer accepts at once: asyncio blocks a writer from 64 KB on
_MAX_ERROR_BYTES: Final = 1024 * 1024
_MAX_PAUSE_SECONDS: Final = 8.0  # between two tries
_RETRY_HEADER: Final = "x-should-retry"  # the provider's SDKs read it (anthropic 2.x, `_should_retry`)
_STALL_SECONDS: Final = 5.0  # a client that reads so slowly may be the reason why an answer was cut


def to_client(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the provider's headers that are passed on to the client."""
    return without_headers(headers, HOP_BY_HOP | _WAIT_HEADERS | {"set-cookie"})


def failure(style: ApiStyle, status: HTTPStatus, kind: str, message: str) -> web.Response:
    """Return an error response of the gateway itself, in the form of an API style."""
    return web.Response(status=status, body=style.error_body(status, kind, message), content_type="application/json")


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
        """Pass bytes on, as fast as the client reads them; an empty piece starts the response."""
        if self._is_gone or (not chunk and self._response.prepared):
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
        return transport is not None and len(chunk) <= _NON_BLOCKING_BYTES and transport.get_write_buffer_size() == 0

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


@dataclass(frozen=True, slots=True)
class GatewayState:
    """Services and state that all requests share; `clients[True]` uses the proxies of the environment."""

    settings: GatewaySettings
    clients: Mapping[bool, aiohttp.ClientSession]
    ledger: BudgetLedger
    redactor: Redactor


@dataclass(slots=True)
class ForwardedRequest:
    """One request of one session. `request` is what the client sent, `model_request` its parsed form."""

    gateway: GatewayState
    upstream: Upstream
    session: SessionState
    model_request: ModelRequest
    request: web.Request
    entry: RequestLogEntry
    model: ModelInfo | None = None

    async def handle(self) -> web.StreamResponse:
        """Answer the request, and close its log entry in any case."""
        try:
            if refusal := await self._refusal():
                self.entry.refuse(HTTPStatus.FORBIDDEN, refusal.error)
                return self._failure(HTTPStatus.FORBIDDEN, "permission_error", refusal.message)
            if self.session.recording is not None:
                return await self._replay(self.session.recording)
            return await self._send_with_retries()
        finally:
            self.entry.close()

    async def _refusal(self) -> RequestRefusal | None:
        """Reserve the highest cost, or return the reason to refuse the request. A replayed answer is charged again."""
        session, entry = self.session, self.entry
        refusal = entry.excess or forbidden_reason(self.model_request, session.settings, self.model) or self._no_key()
        if refusal is not None or self.model_request.counting:
            entry.begin(self.model_request, None)
            return refusal
        if refusal := session.token_counter.refusal():
            return refusal
        worst = self.model_request.terms.worst(self.model, entry.price) if self.model and entry.price else None
        is_beside_others = session.budget.trial.in_flight > 0
        try:
            reservation = await self.gateway.ledger.reserve(session.budget, worst, self._is_over)
        except asyncio.CancelledError:
            entry.is_crowded = is_beside_others  # it waited for its own session's requests
            raise
        if isinstance(reservation, RequestRefusal):
            return reservation
        entry.worst = worst
        if worst and reservation.tokens < worst.asked:
            lowered = self.upstream.style.with_max_tokens(self.model_request, reservation.tokens)
            self.model_request = replace(lowered, lowered=(worst.asked, reservation.tokens))
        entry.begin(self.model_request, reservation)
        return None

    def _no_key(self) -> RequestRefusal | None:
        """Refuse a request to a provider without a key, such as for an agent's side model of another provider."""
        if self.upstream.access or self.session.recording is not None:
            return None
        model = self.entry.record.model[:100]
        message = f"the model {model} is not available: there is no key for its provider {self.upstream.name}"
        return RequestRefusal("no_provider_key", message)

    async def _replay(self, recording: Recording) -> web.StreamResponse:
        digest = self.model_request.digest
        response = recording.take(digest)
        if response is None:
            self.entry.fail(HTTPStatus.NOT_FOUND, UNMATCHED, is_free=True)
            settings = self.session.settings
            message = (
                f"scylla-gha: request {self.entry.record.number} of {settings.cell} ({settings.role}) is not in "
                f"the recording: {recording.missing(digest)}; record the cell again"
            )
            return self._failure(HTTPStatus.NOT_FOUND, UNMATCHED, message)
        body = self.session.aliases.show(response.body.encode())
        self.entry.answered(response.status, streamed=response.streamed)
        answer = ClientResponse(self.request, response.status, {"content-type": response.content_type})
        wanted = self._wanted()
        for part in split_events(body) if response.streamed else [body]:
            self.entry.feed(part)
            await answer.write(wanted(part))
        if response.status >= HTTPStatus.BAD_REQUEST:
            self.entry.fault = provider_fault(response.status)
        return await self._finish(answer, wanted, is_whole=True)

    async def _send_with_retries(self) -> web.StreamResponse:
        """Send the request until it is answered, all tries have failed, or a rate limit lasts too long."""
        last: web.Response | None = None
        pauses = self._pauses()
        while slot := await self._enter():
            if self._is_over():  # while it waited for a rate limit: nobody would read the answer
                await self._limiter.leave(NO_RESPONSE, slot)
                break
            self.entry.retries += last is not None
            self.entry.sent()
            try:
                upstream = await self._send(slot)
            except (aiohttp.ClientError, CredentialError) as error:
                last, is_limit = self._unreached(error), False
            else:
                async with upstream:
                    is_error = upstream.status >= HTTPStatus.BAD_REQUEST
                    body = await _error_body(upstream) if is_error else b""
                    limit = self.upstream.style.rate_limit(upstream.status, upstream.headers, body)
                    is_limit = await self._limiter.leave(limit, slot)
                    self.entry.is_exhausting = limit.exhausted_seconds > 0
                    if not is_error:
                        return await self._pass_on(upstream)
                    last = self._failed(upstream, body)
            self._log_error()
            if self._is_over() or not (is_limit or await self._pause(pauses)):
                break
        if last is None:
            return self._not_sent()
        self._end_failed(last)
        return last

    def _not_sent(self) -> web.Response:
        """Answer a request that waited for a rate limit until its client left or the wait was too long."""
        if self._is_over():
            self.entry.fail(None, CLIENT_GONE, is_free=True)
            return self._failure(HTTPStatus.FORBIDDEN, CLIENT_GONE, "the client left while its request waited")
        self.entry.refuse(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error")
        self.entry.fault = provider_fault(HTTPStatus.TOO_MANY_REQUESTS)
        message = f"the rate limit lasts longer than {self.gateway.settings.rate_limit_seconds:g} s"
        return self._failure(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error", message)

    def _is_over(self) -> bool:
        """Tell if the answer is no longer needed: the client has left, or the session has ended."""
        return has_left(self.request) or self.session.is_over

    def _log_error(self) -> None:
        status = self.entry.status
        self.entry.errors.append(UNREACHABLE if status is None else str(status))
        if status == HTTPStatus.TOO_MANY_REQUESTS and len(self.session.tasks) > 1:
            self.entry.is_crowded = True

    def _pauses(self) -> Iterator[float]:
        """Yield the seconds before each further try after a failure that is not a rate limit."""
        settings = self.gateway.settings
        for number in range(settings.retries):
            jitter = random.uniform(0.75, 1.25)  # noqa: S311 it only spreads requests
            yield min(settings.retry_seconds * 2**number, _MAX_PAUSE_SECONDS) * jitter

    async def _pause(self, pauses: Iterator[float]) -> bool:
        """Pause before the next try; return False if there is none: the request is at fault, or no try is left."""
        seconds = next(pauses, None) if is_temporary(self.entry.status) else None
        if seconds is not None:
            await asyncio.sleep(seconds)
        return seconds is not None

    def _end_failed(self, last: web.Response) -> None:
        """Log the provider's fault if the client still waits, and record the answer for a replay."""
        status = self.entry.status
        if not has_left(self.request):
            self.entry.fault = provider_fault(status)
        was_served = status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR
        is_agent = self.session.settings.role == "agent"
        if self.entry.fault and is_agent and not was_served and not self.upstream.has_answered.is_set():
            last.headers[_RETRY_HEADER] = (
                "false"  # key or address is wrong; clients would repeat the request for minutes
            )
        if status is not None:
            self._record(last.status, last.content_type, last.body if isinstance(last.body, bytes) else b"")

    @property
    def _access(self) -> ProviderAccess:
        """Access to the provider; `_refusal` refuses requests to a provider without one."""
        if self.upstream.access is None:
            raise RuntimeError(f"there is no key for the provider {self.upstream.name}")
        return self.upstream.access

    @property
    def _limiter(self) -> Limiter:
        return self.upstream.limiters.of(self.model_request.model, counting=self.model_request.counting)

    async def _enter(self) -> RequestSlot | None:
        began = time.monotonic()
        patience = self.gateway.settings.rate_limit_seconds - self.entry.waited
        try:
            return await self._limiter.enter(patience, self.session.settings.name, self._is_over)
        finally:
            self.entry.waited += time.monotonic() - began

    async def _send(self, slot: RequestSlot) -> aiohttp.ClientResponse:
        access = self._access
        target = self.upstream.style.url(access.base_url, self.request.raw_path, self.model_request.model)
        url = URL(target, encoded=True)
        client = self.gateway.clients[url.scheme == "https"]
        try:
            token = await self.upstream.tokens.token() if self.upstream.tokens else None
            headers = self.upstream.style.request_headers(self.request.headers, access.credentials(token))
            return await client.post(url, data=self.model_request.body, headers=headers, allow_redirects=False)
        except BaseException:
            await self._limiter.leave(NO_RESPONSE, slot)
            raise

    async def _pass_on(self, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        """Pass on the answer's bytes as they arrive; if the provider cuts a stream, cut it for the client too."""
        content_type = upstream.headers.get("content-type", "")
        self.upstream.has_answered.set()
        self.entry.answered(upstream.status, streamed=is_stream(content_type))
        answer = ClientResponse(self.request, upstream.status, to_client(upstream.headers))
        chunks: list[bytes] = []
        is_whole, stalled, wanted = False, 0.0, self._wanted()
        with contextlib.suppress(aiohttp.ClientError):
            async for chunk in upstream.content.iter_any():
                self.entry.feed(chunk)
                if self.session.recorder is not None:
                    chunks.append(chunk)
                began = time.monotonic()
                await answer.write(wanted(chunk))
                self.entry.passed_on()
                stalled += time.monotonic() - began
            is_whole = True
        if is_whole or self.entry.usage.streamed:
            self._record(upstream.status, content_type, b"".join(chunks))
        return await self._finish(answer, wanted, is_whole=is_whole, is_stalled=stalled > _STALL_SECONDS)

    def _wanted(self) -> Callable[[bytes], bytes]:
        """Return a function that removes from an answer what the client did not ask for, and judges its calls."""
        style, entry = self.upstream.style, self.entry
        wanted = style.client_filter(self.model_request) or _all
        if self.session.guard is None:
            return wanted
        hold = CallHolder(lambda: entry.usage, lambda: entry.judged, lambda: entry.is_closed, style.replace_arguments)

        def released(chunk: bytes) -> bytes:
            passed = hold(chunk)
            return (wanted(passed) if passed else b"") + (b"" if chunk else wanted(b""))

        return released

    async def _finish(
        self,
        answer: ClientResponse,
        wanted: Callable[[bytes], bytes],
        *,
        is_whole: bool,
        is_stalled: bool = False,
    ) -> web.StreamResponse:
        usage = self.entry.usage
        self.entry.end(is_whole=is_whole, is_stalled=is_stalled)
        if is_whole:
            await answer.write(wanted(b""))
        is_ended = not usage.streamed or usage.complete or usage.error is not None
        return await answer.end() if is_whole and is_ended else answer.cut()

    def _failed(self, upstream: aiohttp.ClientResponse, body: bytes) -> web.Response:
        """Return an error of the provider for the client, redacted, because it might quote the key."""
        body, _ = self.gateway.redactor.redact_bytes(body)
        self.entry.answered(upstream.status, streamed=False)
        self.entry.feed(body)
        return web.Response(status=upstream.status, headers=to_client(upstream.headers), body=body)

    def _unreached(self, error: Exception) -> web.Response:
        """Log that no answer came. A request that was not sent was free; otherwise its cost is unknown."""
        is_free = isinstance(error, aiohttp.ClientConnectorError | CredentialError)
        self.entry.is_lost |= not is_free
        self.entry.fail(None, UNREACHABLE, is_free=is_free)
        message = f"{self._access.base_url} cannot be reached: {error}"
        return self._failure(HTTPStatus.BAD_GATEWAY, "api_error", message)

    def _failure(self, status: HTTPStatus, kind: str, message: str) -> web.Response:
        return failure(self.upstream.style, status, kind, message)

    def _record(self, status: int, content_type: str, body: bytes) -> None:
        if self.session.recorder is None:
            return
        text = recordable_text(body, self.session.aliases, self.upstream.style, streamed=is_stream(content_type))
        digest = self.model_request.digest
        self.session.recorder.write(
            RecordedResponse(digest=digest, status=status, content_type=content_type, body=text)
        )


def _all(chunk: bytes) -> bytes:
    return chunk


async def _error_body(upstream: aiohttp.ClientResponse) -> bytes:
    """Return the body of an error, or the part of it that arrived."""
    with contextlib.suppress(aiohttp.ClientError):
        return await upstream.content.read(_MAX_ERROR_BYTES)
    return b""
