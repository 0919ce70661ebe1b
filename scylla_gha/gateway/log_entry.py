"""What becomes a request's two lines in the journal: noted as it goes on, written once when it is over."""

import datetime
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

from scylla_gha.gateway.budget import BudgetRefusal, Reservation
from scylla_gha.gateway.conversation import FULL
from scylla_gha.gateway.sessions import SessionState
from scylla_gha.model.pricing import ModelPrice
from scylla_gha.model.traffic import RequestRecord, ResponseRecord, ServerToolUse, Tokens
from scylla_gha.providers.base import ModelRequest, UsageReader, WorstCase

_BYTES_PER_TOKEN: Final = 2  # of an answer that the provider did not end, its events included
_USUAL: Final = ServerToolUse()

_FAULT_CHARACTERS: Final = 60


@dataclass
class RequestLogEntry:
    """One request's entry.

    Attributes:
        excess: why it is one request too many.
        is_free: nobody can have charged for it.
        is_lost: an earlier try may have been charged, and nobody knows how much.
        fault: how the provider failed it for good.
        is_cut: the provider ended the answer in the middle, so that the rest of it was not made.
    """

    channel: SessionState
    asked: RequestRecord
    price: ModelPrice | None
    source: Literal["live", "replay", "refused"]
    counting: bool
    size: int
    meter: UsageReader
    excess: BudgetRefusal | None = None
    is_free: bool = False
    is_cut: bool = False
    worst: WorstCase | None = None
    received: int = 0
    status: int | None = None
    error: str | None = None
    met: list[str] = field(default_factory=list)
    fault: str | None = None
    is_crowded: bool = False
    is_exhausting: bool = False
    is_lost: bool = False
    retries: int = 0
    waited: float = 0.0
    reservation: Reservation | None = None
    is_over: bool = False
    _is_begun: bool = False
    _sent_at: float = field(default_factory=time.monotonic)
    _first_byte: float | None = None

    @classmethod
    def opened(cls, channel: SessionState, question: ModelRequest, price: ModelPrice | None) -> "RequestLogEntry":
        """The entry of a new request; nothing is written before it is begun or closed."""
        number = channel.next_number()
        turn, excess = (None, None) if question.counting else _counted(channel, question)
        excess = FULL if channel.journal.fill() else excess
        asked = RequestRecord(
            number=number,
            at=datetime.datetime.now(datetime.UTC),
            role=channel.lane.role,
            model=question.model,
            digest=question.digest,
            characters=question.characters,
            adjusted=question.adjusted,
            unadjusted=question.unadjusted,
            counting=question.counting,
            turn=turn,
            streamed=question.streamed,
        )
        return cls(channel, asked, price, "replay" if channel.tape else "live", question.counting,
                   question.size, channel.provider.usage_reader(streamed=False), excess)  # fmt: skip

    @property
    def number(self) -> int:
        """Its number within the lane."""
        return self.asked.number

    def begin(self, question: ModelRequest, reservation: Reservation | None) -> None:
        """Write the first line: from now on the request may be passed on, for what is reserved."""
        self.reservation = reservation
        usd = reservation.usd if reservation else None
        self.asked = self.asked.model_copy(update={"lowered": question.lowered, "reserved_usd": usd})
        self._write_asked()

    def sent(self) -> None:
        """It is asked (again) now; times count from here."""
        self._sent_at = time.monotonic()
        self._first_byte = None
        self.status = self.error = None
        self.received = 0
        self.meter = self.channel.provider.usage_reader(streamed=False)

    def answered(self, status: int, *, streamed: bool) -> None:
        """The head of an answer is there."""
        self.status = status
        self.is_free = status >= HTTPStatus.BAD_REQUEST
        self.meter = self.channel.provider.usage_reader(streamed=streamed)

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the answer are there; after the last event of a stream the entry is over."""
        if self._first_byte is None:
            self._first_byte = time.monotonic() - self._sent_at
        self.received += len(chunk)
        self.meter.feed(chunk)
        if self.meter.complete:
            self.close()

    def refuse(self, status: int, error: str) -> None:
        """The gateway itself says no."""
        self.source = "refused"
        self.fail(status, error, is_free=True)

    def fail(self, status: int | None, error: str, *, is_free: bool) -> None:
        """There is no answer of the provider."""
        self.status, self.error, self.is_free = status, error, is_free
        self.is_cut = not is_free

    def ended(self, *, is_whole: bool, is_stalled: bool) -> None:
        """The answer has ended; one that broke off is the provider's fault, unless its client stalled it."""
        self.is_cut = not is_stalled
        if self.status == HTTPStatus.OK and not (
            is_stalled or (self.meter.complete if self.meter.streamed else is_whole)
        ):
            self.fault = self.fault or self.meter.error or "a cut answer"
        self.close()

    def close(self) -> None:
        """Write the second line and settle what was reserved; once, however often it is called."""
        if self.is_over:
            return
        self.is_over = True
        self._write_asked()
        self.meter.end()
        tokens, use = self.meter.tokens, self.meter.use
        tokens, usd = self._cost()
        charged = self._charged(tokens) if usd is None else usd
        answered = ResponseRecord(
            number=self.number,
            source=self.source,
            status=self.status,
            error=self.error or self.meter.error,
            complete=self.meter.complete,
            tokens=tokens,
            usd=usd,
            stop_reason=self.meter.stop_reason,
            charged_usd=charged if usd is None else None,
            use=use if use != _USUAL else None,
            retries=self.retries,
            met=tuple(self.met),
            crowded=self.is_crowded,
            exhausting=self.is_exhausting,
            fault=self._fault(),
            waited_seconds=round(self.waited, 6),
            first_byte_seconds=None if self._first_byte is None else round(self._first_byte, 6),
            seconds=round(time.monotonic() - self._sent_at, 6),
        )
        self.channel.journal.write(answered)
        self.channel.tally.add(tokens, self.size)
        if self.reservation is not None:
            self.reservation.settle(charged)

    def _write_asked(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self.channel.journal.write(self.asked)

    def _charged(self, tokens: Tokens | None) -> float | None:
        """What budgets pay for a request whose cost is not known: a high guess."""
        lost = self.worst.fixed if self.is_lost and self.worst else 0.0  # of an earlier try, which made no answer
        if tokens is not None:
            return self.price.usd_at_most(tokens, self.meter.use) + lost if self.price else None
        if self.reservation is None or not self.is_cut or self.worst is None:
            return self.reservation.usd if self.reservation else None
        return min(self.reservation.usd, self.worst.usd(self.received // _BYTES_PER_TOKEN)) + lost * bool(self.received)

    def _fault(self) -> str | None:
        """How the provider failed it: as noted, or as a begun answer says itself."""
        if self.status is None or self.source == "refused":
            return self.fault
        kind = self.meter.error
        if self.status >= HTTPStatus.BAD_REQUEST:
            return f"{self.fault} {kind}"[:_FAULT_CHARACTERS] if self.fault and kind else self.fault
        if self.status != HTTPStatus.OK:  # a redirect, or another answer that the API does not give: to an odd request
            return None
        return self.fault or kind or ("a malformed answer" if self.meter.malformed else None)

    def _cost(self) -> tuple[Tokens | None, float | None]:
        if self.is_lost:
            return self.meter.tokens, None
        if self.counting or self.is_free:
            return Tokens(), 0.0
        tokens = self.meter.tokens
        return tokens, self.price.usd(tokens, self.meter.use) if self.price and tokens else None


def _counted(channel: SessionState, question: ModelRequest) -> tuple[int | None, BudgetRefusal | None]:
    return channel.conversation.count(None if question.probing else question.marks)
