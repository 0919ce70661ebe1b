"""One request on its way: refused, answered from a recording, or asked of the provider; journalled in every case.

The journal has the answer before the client has its end, so nobody can read an account that lacks what is over. When
the client goes away, the answer is read to its end all the same: it is paid for, and only its end tells how much.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web
from yarl import URL

from scylla_gha.gateway.budget import BudgetLedger, BudgetRefusal, SessionBudget
from scylla_gha.gateway.evidence import UNREACHABLE, is_temporary, provider_fault
from scylla_gha.gateway.headers import ClientResponse, failure, to_client
from scylla_gha.gateway.limiter import Limiter, Limiters, RequestSlot
from scylla_gha.gateway.log import UNMATCHED
from scylla_gha.gateway.log_entry import RequestLogEntry
from scylla_gha.gateway.permissions import forbidden_reason
from scylla_gha.gateway.recording import RecordedResponse, Recording, is_stream, neutral_text
from scylla_gha.gateway.sessions import SessionState
from scylla_gha.gateway.settings import SessionSettings
from scylla_gha.model.pricing import ModelInfo
from scylla_gha.providers.base import NO_RESPONSE, CredentialError, ModelRequest, TokenSource, split_events
from scylla_gha.redaction.redactor import Redactor

_LONGEST_ERROR: Final = 1024 * 1024
_LONGEST_PAUSE: Final = 8.0  # seconds, between two tries
_NO_RETRY: Final = "x-should-retry"  # as the provider's own SDKs read it (anthropic 2.x, `_should_retry`)
_STALL_SECONDS: Final = 5.0  # a client that takes so much longer may itself be why an answer was cut


@dataclass(frozen=True, slots=True)
class GatewayState:
    """What all requests share."""

    settings: SessionSettings
    session: aiohttp.ClientSession
    ledger: BudgetLedger
    limiters: Limiters
    redactor: Redactor
    bearer: TokenSource | None = None
    answered: asyncio.Event = field(default_factory=asyncio.Event)  # by the provider, to anybody


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """One request of one lane."""

    desk: GatewayState
    channel: SessionState
    question: ModelRequest
    request: web.Request
    entry: RequestLogEntry
    model: ModelInfo | None = None

    async def land(self) -> web.StreamResponse:
        """Bring the request to its end. Whatever happens, its entry is closed."""
        try:
            granted = await self._granted()
            if isinstance(granted, BudgetRefusal):
                self.entry.refuse(HTTPStatus.FORBIDDEN, granted.error)
                return self._failure(HTTPStatus.FORBIDDEN, "permission_error", granted.message)
            if self.channel.tape is not None:
                return await self._replay(self.channel.tape)
            return await replace(self, question=granted)._ask()
        finally:
            self.entry.close()

    async def _granted(self) -> ModelRequest | BudgetRefusal:
        """The question as it may go out, with its worst case reserved; a recording costs nothing again, and counts."""
        refusal = self.entry.excess or forbidden_reason(self.question, self.channel.lane, self.model)
        if refusal is not None or self.question.counting:
            self.entry.begin(self.question, None)
            return refusal or self.question
        if refusal := self.channel.tally.refusal():
            return refusal
        lane, price = self.channel.lane, self.entry.price
        worst = self.question.terms.worst(self.model, price) if self.model and price else None
        spender = SessionBudget(self.channel.purse, lane.role, lane.cell)
        beside = self.channel.purse.in_flight
        try:
            reserved = await self.desk.ledger.reserve(spender, worst, self._is_over)
        except asyncio.CancelledError:
            self.entry.is_crowded = beside > 0  # what it waited for was its own session's
            raise
        if isinstance(reserved, BudgetRefusal):
            return reserved
        self.entry.worst = worst
        question = self.channel.provider.with_max_tokens(self.question, reserved.tokens) if worst else self.question
        self.entry.begin(question, reserved)
        return question

    async def _replay(self, tape: Recording) -> web.StreamResponse:
        take = tape.take(self.question.digest)
        if take is None:
            self.entry.fail(HTTPStatus.NOT_FOUND, UNMATCHED, is_free=True)
            lane = self.channel.lane
            message = (f"scylla-gha: request {self.entry.number} of {lane.cell} ({lane.role}) is not in the recording: "
                       f"{tape.missing(self.question.digest)}; record the cell again")  # fmt: skip
            return self._failure(HTTPStatus.NOT_FOUND, UNMATCHED, message)
        body = self.channel.names.show(take.body.encode())
        self.entry.answered(take.status, streamed=take.streamed)
        answer = ClientResponse(self.request, take.status, {"content-type": take.content_type})
        for part in split_events(body) if take.streamed else [body]:
            self.entry.feed(part)
            await answer.write(part)
        if take.status >= HTTPStatus.BAD_REQUEST:
            self.entry.fault = provider_fault(take.status)
        return await self._finish(answer, is_whole=True)

    async def _ask(self) -> web.StreamResponse:
        """Ask until there is an answer, or the provider has failed all tries, or the patience is at its end."""
        last: web.Response | None = None
        pauses = self._pauses()
        while leave := await self._enter():
            if self._is_over():  # while it waited for a rate limit: nothing is spent for nobody
                await self._limiter.leave(NO_RESPONSE, leave)
                break
            self.entry.retries += last is not None
            self.entry.sent()
            try:
                upstream = await self._send(leave)
            except (aiohttp.ClientError, CredentialError) as error:
                last, is_limit = self._unreached(error), False
            else:
                async with upstream:
                    limit = self.channel.provider.rate_limit(upstream.status, upstream.headers)
                    is_limit = await self._limiter.leave(limit, leave)
                    self.entry.is_exhausting = limit.exhausted_seconds > 0
                    if upstream.status < HTTPStatus.BAD_REQUEST:
                        return await self._pass_on(upstream)
                    last = await self._failed(upstream)
            self._note()
            if self._is_over() or not (is_limit or await self._pause(pauses)):
                break
        if last is None:
            return self._left() if self._is_over() else self._too_long()
        self._end_failed(last)
        return last

    def _is_over(self) -> bool:
        """Whether nothing more is to be spent on it: nobody waits for the answer, or the session has ended."""
        return _is_gone(self.request) or not self.channel.is_open

    def _note(self) -> None:
        """Note what a try met."""
        status = self.entry.status
        self.entry.met.append(UNREACHABLE if status is None else str(status))
        if status == HTTPStatus.TOO_MANY_REQUESTS and len(self.channel.flights) > 1:
            self.entry.is_crowded = True

    def _pauses(self) -> Iterator[float]:
        """Seconds before each further try after a failure that is no rate limit."""
        settings = self.desk.settings
        for number in range(settings.retries):
            jitter = random.uniform(0.75, 1.25)  # noqa: S311 it only spreads requests
            yield min(settings.retry_seconds * 2**number, _LONGEST_PAUSE) * jitter

    async def _pause(self, pauses: Iterator[float]) -> bool:
        """Pause before the next try; False where there is none: the request is at fault, or no try is left."""
        seconds = next(pauses, None) if is_temporary(self.entry.status) else None
        if seconds is not None:
            await asyncio.sleep(seconds)
        return seconds is not None

    def _end_failed(self, last: web.Response) -> None:
        """Note the fault of a provider that the client waited for in vain, and keep its answer for a replay."""
        status = self.entry.status
        if not _is_gone(self.request):
            self.entry.fault = provider_fault(status)
        was_served = status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR
        is_agents = self.channel.lane.role == "agent"
        if self.entry.fault and is_agents and not was_served and not self.desk.answered.is_set():
            last.headers[_NO_RETRY] = "false"  # the way to the provider was never right; clients would ask for minutes
        if status is not None:
            self._record(last.status, last.content_type, last.body if isinstance(last.body, bytes) else b"")

    @property
    def _limiter(self) -> Limiter:
        return self.desk.limiters.of(self.question.model, counting=self.question.counting)

    async def _enter(self) -> RequestSlot | None:
        began = time.monotonic()
        patience = self.desk.settings.rate_limit_seconds - self.entry.waited
        try:
            return await self._limiter.enter(patience, self.channel.lane.session, self._is_over)
        finally:
            self.entry.waited += time.monotonic() - began

    async def _send(self, leave: RequestSlot) -> aiohttp.ClientResponse:
        url = URL(self.desk.settings.base_url + self.request.raw_path, encoded=True)
        try:
            token = await self.desk.bearer.token() if self.desk.bearer else None
            credentials = self.desk.settings.credentials(token)
            headers = self.channel.provider.request_headers(self.request.headers, credentials)
            return await self.desk.session.post(url, data=self.question.body, headers=headers, allow_redirects=False)
        except BaseException:
            await self._limiter.leave(NO_RESPONSE, leave)
            raise

    async def _pass_on(self, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        """The answer's bytes as they come. A stream that the provider cuts is cut for the client too."""
        content_type = upstream.headers.get("content-type", "")
        self.desk.answered.set()
        self.entry.answered(upstream.status, streamed=is_stream(content_type))
        answer = ClientResponse(self.request, upstream.status, to_client(upstream.headers))
        kept: list[bytes] = []
        is_whole, stalled = False, 0.0
        with contextlib.suppress(aiohttp.ClientError):
            async for chunk in upstream.content.iter_any():
                self.entry.feed(chunk)
                if self.channel.recorder is not None:
                    kept.append(chunk)  # only a recording needs an answer in one piece
                began = time.monotonic()
                await answer.write(chunk)
                stalled += time.monotonic() - began
            is_whole = True
        if is_whole or self.entry.meter.streamed:
            self._record(upstream.status, content_type, b"".join(kept))
        return await self._finish(answer, is_whole=is_whole, is_stalled=stalled > _STALL_SECONDS)

    async def _finish(self, answer: ClientResponse, *, is_whole: bool, is_stalled: bool = False) -> web.StreamResponse:
        meter = self.entry.meter
        self.entry.ended(is_whole=is_whole, is_stalled=is_stalled)
        if meter.streamed:
            is_whole = is_whole and (meter.complete or meter.error is not None)
        if not is_whole:
            return answer.cut()
        return await answer.end()

    async def _failed(self, upstream: aiohttp.ClientResponse) -> web.Response:
        """An error of the provider, which might quote the key."""
        body = b""
        with contextlib.suppress(aiohttp.ClientError):
            body = await upstream.content.read(_LONGEST_ERROR)
        body, _ = self.desk.redactor.redact_bytes(body)
        self.entry.answered(upstream.status, streamed=False)
        self.entry.feed(body)
        return web.Response(status=upstream.status, headers=to_client(upstream.headers), body=body)

    def _unreached(self, error: Exception) -> web.Response:
        """No answer at all: nothing was sent where the connection failed; else nobody knows what it cost."""
        is_free = isinstance(error, aiohttp.ClientConnectorError)
        self.entry.is_lost |= not is_free
        self.entry.fail(None, UNREACHABLE, is_free=is_free)
        message = f"{self.desk.settings.base_url} cannot be reached: {error}"
        return self._failure(HTTPStatus.BAD_GATEWAY, "api_error", message)

    def _left(self) -> web.Response:
        self.entry.fail(None, "client_gone", is_free=True)
        return failure(
            self.channel.provider, HTTPStatus.FORBIDDEN, "client_gone", "the client left while its request waited"
        )

    def _too_long(self) -> web.Response:
        self.entry.refuse(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error")
        self.entry.fault = provider_fault(HTTPStatus.TOO_MANY_REQUESTS)
        seconds = self.desk.settings.rate_limit_seconds
        message = f"the rate limit lasts longer than {seconds:g} s"
        return self._failure(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error", message)

    def _failure(self, status: HTTPStatus, kind: str, message: str) -> web.Response:
        return failure(self.channel.provider, status, kind, message)

    def _record(self, status: int, content_type: str, body: bytes) -> None:
        if self.channel.recorder is not None:
            text = neutral_text(body, self.channel.names, self.channel.provider, streamed=is_stream(content_type))
            digest = self.question.digest
            self.channel.recorder.keep(
                RecordedResponse(digest=digest, status=status, content_type=content_type, body=text)
            )


def _is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()
