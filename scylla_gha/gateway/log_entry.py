"""Log entry of one request: filled while the request is handled, and written as two lines of the traffic log."""

import datetime
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

from scylla_gha.gateway.budget import LOG_IS_FULL, SESSION_ENDED, RequestRefusal, Reservation
from scylla_gha.gateway.call_guard import JudgedCalls
from scylla_gha.gateway.evidence import OTHER_API, is_whole
from scylla_gha.gateway.sessions import SessionState
from scylla_gha.model.traffic import ModelPrice, RequestRecord, ResponseRecord, ServerToolUse, Tokens
from scylla_gha.providers.base import (
    USES_TOOL,
    ApiStyle,
    ConversationDigests,
    ModelRequest,
    ToolRequest,
    UsageReader,
    WorstCase,
)

_BYTES_PER_TOKEN: Final = 2  # of an answer that the provider did not end, its events included
_STANDARD_USE: Final = ServerToolUse()
_MAX_FAULT_CHARACTERS: Final = 60


@dataclass
class RequestLogEntry:
    """One request's entry.

    Attributes:
        excess: reason to refuse the request, since its session has ended or is at a limit; None: there is none.
        is_free: the request cannot have cost anything.
        is_lost: an earlier try may have been charged an unknown amount.
        is_cut: the provider ended the answer in the middle, so that the rest of it was not generated.
        is_foreign: another client than the main conversation's sent it, so calls in its answer are not the agent's.
        is_crowded: it met a rate limit, or waited for a budget, while other requests of its session ran.
        fault: final failure of the provider; None: none.
        errors: status or `unreachable` of each failed try.
        judged: verdicts of the safety net on the answer's calls; None: there are none.
        digests: digests of the request's conversation; None: a probe or a count of tokens.
        is_closed: both lines were written; the calls are judged by then.
    """

    session: SessionState
    record: RequestRecord
    price: ModelPrice | None
    style: ApiStyle
    source: Literal["live", "replay", "refused"]
    characters: int
    usage: UsageReader
    excess: RequestRefusal | None = None
    worst: WorstCase | None = None
    status: int | None = None
    error: str | None = None
    fault: str | None = None
    is_free: bool = False
    is_lost: bool = False
    is_cut: bool = False
    is_crowded: bool = False
    is_exhausting: bool = False
    is_foreign: bool = False
    retries: int = 0
    errors: list[str] = field(default_factory=list)
    waited: float = 0.0
    judged: JudgedCalls | None = None
    digests: ConversationDigests | None = None
    is_closed: bool = False
    _reservation: Reservation | None = None
    _received: int = 0
    _sent_at: float = field(default_factory=time.monotonic)
    _first_byte: float | None = None
    _passed_on_at: float | None = None
    _is_request_written: bool = False

    @classmethod
    def of(
        cls, session: SessionState, request: ModelRequest, price: ModelPrice | None, style: ApiStyle
    ) -> "RequestLogEntry":
        """Return the entry of a new request; `begin` or `close` writes it."""
        turn, excess = None, None
        digests = None if request.counting or request.probing else request.conversation
        if not request.counting:
            turn, excess = session.conversation.count(digests)
        excess = SESSION_ENDED if session.stop.end else excess
        excess = LOG_IS_FULL if session.log.check_full() else excess
        record = RequestRecord(
            number=session.next_number(),
            at=datetime.datetime.now(datetime.UTC),
            role=session.settings.role,
            model=request.model,
            digest=request.digest,
            characters=request.characters,
            adjusted=request.adjusted,
            unadjusted=request.unadjusted,
            counting=request.counting,
            turn=turn,
            streamed=request.streamed,
            loaded_tools=request.loaded_tools,
            results=session.notes.results(request.results),
            shown=session.notes.shown(request.results),
        )
        source: Literal["live", "replay"] = "replay" if session.recording else "live"
        usage = style.usage_reader(streamed=False, reads=session.reads)
        is_foreign = session.conversation.is_foreign(request.conversation)
        entry = cls(session, record, price, style, source, request.size, usage, excess=excess, is_foreign=is_foreign)
        entry.digests = digests
        return entry

    def begin(self, request: ModelRequest, reservation: Reservation | None) -> None:
        """Write the first line: from now on the request may be forwarded, within its reservation."""
        self._reservation = reservation
        usd = reservation.usd if reservation else None
        if usd is not None or request.lowered:
            self.record = self.record.model_copy(update={"lowered": request.lowered, "reserved_usd": usd})
        self._write_request()

    def sent(self) -> None:
        """Start the clock of a new try, and drop the answer of an earlier try."""
        self._sent_at = time.monotonic()
        self._first_byte = self._passed_on_at = None
        self.status = self.error = None
        self._received = 0
        self.usage = self.style.usage_reader(streamed=False, reads=self.session.reads)

    def answered(self, status: int, *, streamed: bool) -> None:
        """Record an answer's status, and if it is streamed."""
        self.status = status
        self.is_free = status >= HTTPStatus.BAD_REQUEST
        self.usage = self.style.usage_reader(streamed=streamed, reads=self.session.reads)

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the answer; after the last event of a stream the entry is closed."""
        self._passed_on_at = None
        if self._first_byte is None:
            self._first_byte = time.monotonic() - self._sent_at
        self._received += len(chunk)
        self.usage.feed(chunk)
        if self.usage.complete:
            self.close()

    def passed_on(self) -> None:
        """Record that the client has the bytes so far: from now on, the provider is silent."""
        self._passed_on_at = time.monotonic()

    def refuse(self, status: int, error: str) -> None:
        """Record that the gateway itself refuses the request."""
        self.source = "refused"
        self.fail(status, error, is_free=True)

    def fail(self, status: int | None, error: str, *, is_free: bool) -> None:
        """Record that the provider sent no answer."""
        self.status, self.error, self.is_free = status, error, is_free
        self.is_cut = not is_free

    def end(self, *, is_whole: bool, is_stalled: bool) -> None:
        """Close the entry at the answer's end; the provider is at fault for a cut answer, unless the client stalled."""
        self.is_cut = not is_stalled
        is_complete = self.usage.complete if self.usage.streamed else is_whole
        if self.status == HTTPStatus.OK and not (is_stalled or is_complete):
            self.fault = self.fault or self.usage.error or "a cut answer"
        self.close()

    def close(self) -> None:
        """Write the second line and settle the reservation; further calls do nothing."""
        if self.is_closed:
            return
        self.is_closed = True
        self._write_request()
        self.usage.end()
        self.judged = self.session.guard.judge(self.usage) if self.session.guard else None
        tokens, usd = self._cost()
        use = self.usage.use
        charged = self._charged(tokens) if usd is None else usd
        calls = () if self.is_foreign else self.usage.calls
        answer = ResponseRecord(
            number=self.record.number,
            source=self.source,
            status=self.status,
            error=self.error or self.usage.error,
            complete=self.usage.complete,
            tokens=tokens,
            usd=usd,
            stop_reason=self.usage.stop_reason,
            calls=self.session.notes.calls(calls),
            charged_usd=charged if usd is None else None,
            use=use if use != _STANDARD_USE else None,
            safety_net=self.judged.summary if self.judged else None,
            retries=self.retries,
            met=tuple(self.errors),
            crowded=self.is_crowded,
            exhausting=self.is_exhausting,
            fault=self._fault(),
            waited_seconds=round(self.waited, 6),
            first_byte_seconds=None if self._first_byte is None else round(self._first_byte, 6),
            seconds=round(time.monotonic() - self._sent_at, 6),
            silent_seconds=self._silence(),
        )
        self._write_answer(answer, calls)
        self.session.token_counter.add(tokens, self.characters)
        if self._reservation is not None:
            self._reservation.settle(charged)

    def _write_answer(self, answer: ResponseRecord, calls: tuple[ToolRequest, ...]) -> None:
        """Write the answer; if it ends the session, set the session's `ended` event."""
        if self.digests and self.source != "refused":
            self.session.conversation.answered(self.digests, is_whole=is_whole(answer))
        if is_whole(answer):
            wants_tool = answer.stop_reason == USES_TOOL
            ends = self.session.stop.answered(calls, self.record.turn, wants_tool=wants_tool)
            answer = answer.model_copy(update={"ends": ends})
        self.session.log.write(answer)
        if answer.ends:
            self.session.ended.set()

    def _write_request(self) -> None:
        if not self._is_request_written:
            self._is_request_written = True
            self.session.log.write(self.record)

    def _silence(self) -> float | None:
        """Return the seconds without a byte until now of an answer that has begun and not ended."""
        if self._passed_on_at is None or self.usage.complete:
            return None
        return round(time.monotonic() - self._passed_on_at, 6)

    def _charged(self, tokens: Tokens | None) -> float | None:
        """Return a high guess of the USD to charge for a request of unknown cost."""
        lost = self.worst.prompt_usd if self.is_lost and self.worst else 0.0  # an earlier try generated no answer
        if tokens is not None:
            return self.price.usd_at_most(tokens, self.usage.use) + lost if self.price else None
        if self._reservation is None or not self.is_cut or self.worst is None:
            return self._reservation.usd if self._reservation else None
        generated = self.worst.usd(self._received // _BYTES_PER_TOKEN)
        return min(self._reservation.usd, generated) + lost * bool(self._received)

    def _fault(self) -> str | None:
        """Return the provider's failure: the recorded one, or the error that its answer reports."""
        if self.status is None or self.source == "refused":
            return self.fault
        kind = self.usage.error
        if self.status >= HTTPStatus.BAD_REQUEST:
            return f"{self.fault} {kind}"[:_MAX_FAULT_CHARACTERS] if self.fault and kind else self.fault
        if self.status != HTTPStatus.OK:  # a redirect, or another answer that the API does not define
            return None
        malformed = "a malformed answer" if self.usage.streamed else OTHER_API
        return self.fault or kind or (malformed if self.usage.malformed else None)

    def _cost(self) -> tuple[Tokens | None, float | None]:
        if self.price and self.price.is_free and not self.record.counting and not self.is_free:
            return self.usage.tokens, 0.0
        if self.is_lost:
            return self.usage.tokens, None
        if self.record.counting or self.is_free:
            return Tokens(), 0.0
        tokens = self.usage.tokens
        return tokens, self.price.usd(tokens, self.usage.use) if self.price and tokens else None
