"""Traffic log of a session (`traffic.jsonl`): written as requests start and end, and summarised.

A line is flushed before the step that it describes, so a killed gateway leaves at worst a request without an answer, or
the torn beginning of a line, whose step was not done.
"""

import datetime
import functools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from scylla_gha.gateway.call_notes import watched_traffic
from scylla_gha.gateway.evidence import ProviderEvidence, is_whole, provider_evidence
from scylla_gha.model import Record
from scylla_gha.model.safety_net import SafetyNetSummary
from scylla_gha.model.traffic import Component, RequestRecord, ResponseRecord, WatchedTraffic
from scylla_gha.model.trial import NO_USAGE, SessionEnd, Usage
from scylla_gha.store import open_journal, read_journal

UNMATCHED: Final = "unmatched_request"
_MAX_BYTES: Final = 16 * 1024 * 1024  # some 20,000 requests
_LINE: Final[TypeAdapter[RequestRecord | ResponseRecord]] = TypeAdapter(
    Annotated[RequestRecord | ResponseRecord, Field(discriminator="kind")]
)


class ModelSpending(Record):
    """Cost of the requests of one model, except requests that the gateway refused."""

    requests: int = 0
    usd: float | None = 0.0


class TrafficSummary(Record):
    """Summary of the requests of one or several sessions; usage leaves out `count_tokens` requests.

    `usage` is unknown if one answer's cost is unknown or a request has no answer; `known_usd`, the sum of the known
    costs, is a lower bound.
    """

    requests: int = 0
    turns: int = Field(default=0, description="Number of answered turns of the main conversation")
    last_number: int = Field(default=0, description="Highest request number, including requests that count tokens")
    unanswered: int = Field(default=0, description="Number of requests that were in flight when the gateway died")
    retries: int = Field(
        default=0, description="Number of requests repeated after a failure, by the client or the gateway"
    )
    refused: int = Field(
        default=0, description="Number of requests that the gateway refused for a budget or a long rate limit"
    )
    unmatched: int = Field(default=0, description="Number of requests that are not in the replayed recording")
    usage: Usage = NO_USAGE
    known_usd: float = 0.0
    charged_usd: float = Field(
        default=0.0, description="Amount in USD charged to budgets, with a high guess for unknown costs"
    )
    known_tokens: int = Field(default=0, description="Number of tokens of all kinds in answers whose count is known")
    first_byte_seconds: float | None = Field(
        default=None, description="Mean time in seconds until the first byte of an answer; None: no answer"
    )
    generation_seconds: float = Field(
        default=0.0, description="Total time in seconds from the first to the last byte of answers"
    )
    waited_seconds: float = Field(default=0.0, description="Total time in seconds that requests waited for rate limits")
    tool_seconds: float | None = Field(
        default=None,
        description="Total seconds from answers to the next requests, with none in flight; None: no request",
    )
    characters: dict[Component, int] = Field(
        default_factory=dict, description="Number of characters in all requests, by component"
    )
    models: dict[str, ModelSpending] = Field(default_factory=dict, description="Spending by the requested model")
    errors: dict[str, int] = Field(default_factory=dict, description="Number of errors by type")
    adjusted: tuple[str, ...] = Field(
        default=(), description="Configured settings that were put into at least one request"
    )
    unadjusted: tuple[str, ...] = Field(
        default=(), description="Configured settings that were left out of at least one request"
    )
    loaded_tools: tuple[str, ...] = Field(
        default=(), description="Deferred tools whose definitions a conversation loaded"
    )
    end: SessionEnd | None = Field(default=None, description="How the stop rule ended the session; None: it did not")
    safety_net: SafetyNetSummary | None = Field(
        default=None, description="Calls in answers that the safety net judged; None: it judged none"
    )
    evidence: ProviderEvidence = ProviderEvidence()
    watched: WatchedTraffic = WatchedTraffic()

    def beside(self, main_model: str | None) -> ModelSpending:
        """Return the spending on models other than the session's main model; zero if the session has no model."""
        return _total([spending for model, spending in self.models.items() if main_model and model != main_model])


class TrafficLog:
    """The open log file of one session."""

    def __init__(self, path: Path) -> None:
        """Open for appending; a torn last line is removed."""
        self._file = open_journal(path)
        self._bytes = path.stat().st_size
        self.is_full = False

    def write(self, record: RequestRecord | ResponseRecord) -> None:
        """Append one line; when this returns, the death of this process cannot lose it."""
        self._bytes += self._file.write(record.model_dump_json().encode() + b"\n")

    def check_full(self) -> bool:
        """Return whether the log is full; the request that is checked is the last one to be logged then."""
        self.is_full = self._bytes >= _MAX_BYTES
        return self.is_full

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_traffic(path: Path) -> list[RequestRecord | ResponseRecord]:
    """Return all records of a log in order of time; empty if the file is missing.

    Raises:
        ConfigError: a line other than a torn last one is not a traffic record.
    """
    return read_journal(path, _LINE, "traffic")


def summarise_traffic(path: Path, until: datetime.datetime | None = None) -> TrafficSummary:
    """Return the summary of one log, all zero without a file. `until` is when the client ended.

    Raises:
        ConfigError: the file is not a log of traffic.
    """
    return traffic_summary(read_traffic(path), until)


def traffic_summary(
    records: Iterable[RequestRecord | ResponseRecord], until: datetime.datetime | None = None
) -> TrafficSummary:
    """Return the summary of one session's records; `until` is when the client ended, which limits the evidence."""
    records = list(records)
    requests = list({record.number: record for record in records if isinstance(record, RequestRecord)}.values())
    ended = [record for record in records if isinstance(record, ResponseRecord)]
    answers = {answer.number: answer for answer in ended}
    numbers = {request.number for request in requests}
    paid = [request for request in requests if not request.counting]
    began = [answer for answer in answers.values() if answer.first_byte_seconds is not None]
    first_bytes = [answer.first_byte_seconds or 0.0 for answer in began]
    return TrafficSummary(
        requests=len(paid),
        turns=len({request.turn for request in paid if request.turn and _is_answered(request, answers)}),
        last_number=max(numbers, default=0),
        unanswered=len(numbers - answers.keys()),
        retries=_repeated(requests, answers) + sum(answer.retries for answer in answers.values()),
        refused=sum(answer.source == "refused" for answer in answers.values()),
        unmatched=sum(answer.error == UNMATCHED for answer in answers.values()),
        usage=functools.reduce(Usage.plus, (_usage(request, answers) for request in paid), NO_USAGE),
        known_usd=sum(answer.usd or 0.0 for answer in answers.values()),
        charged_usd=sum(_charged(request, answers.get(request.number)) for request in requests),
        known_tokens=sum(answer.tokens.total for answer in answers.values() if answer.tokens),
        first_byte_seconds=sum(first_bytes) / len(first_bytes) if first_bytes else None,
        generation_seconds=sum(answer.seconds for answer in began) - sum(first_bytes),
        waited_seconds=sum(answer.waited_seconds for answer in answers.values()),
        tool_seconds=_tool_seconds(paid, answers),
        characters=_characters(paid),
        models=_models(paid, answers),
        errors=dict(Counter(answer.error for answer in answers.values() if answer.error)),
        adjusted=tuple(sorted({name for request in paid for name in request.adjusted})),
        unadjusted=tuple(sorted({name for request in paid for name in request.unadjusted})),
        loaded_tools=tuple(dict.fromkeys(name for request in paid for name in request.loaded_tools)),
        end=next((answer.ends for answer in ended if answer.ends), None),
        safety_net=_safety_net(ended),
        evidence=provider_evidence(paid, ended, until),
        watched=watched_traffic(records),
    )


def _characters(requests: Iterable[RequestRecord]) -> dict[Component, int]:
    total: Counter[Component] = Counter()
    for request in requests:
        total.update(request.characters)
    return dict(total)


def _safety_net(answers: Iterable[ResponseRecord]) -> SafetyNetSummary | None:
    """Return the sum of the answers' verdicts; None if there are none."""
    summaries = [answer.safety_net for answer in answers if answer.safety_net]
    return functools.reduce(SafetyNetSummary.plus, summaries) if summaries else None


def _usage(request: RequestRecord, answers: dict[int, ResponseRecord]) -> Usage:
    answer = answers.get(request.number)
    return answer.usage if answer else Usage()


def _is_answered(request: RequestRecord, answers: dict[int, ResponseRecord]) -> bool:
    answer = answers.get(request.number)
    return answer is not None and is_whole(answer)


def _repeated(requests: list[RequestRecord], answers: dict[int, ResponseRecord]) -> int:
    """Count the requests that repeat an earlier one which failed."""
    failed: set[str] = set()
    repeated = 0
    for request in requests:
        repeated += request.digest in failed
        (failed.discard if _is_answered(request, answers) else failed.add)(request.digest)
    return repeated


def _tool_seconds(requests: list[RequestRecord], answers: dict[int, ResponseRecord]) -> float | None:
    """Return the seconds between an answer and the next request, in which the client's tools ran.

    The wait before a request that repeats a failed one is the client's pause and is not counted.
    """
    if not requests:
        return None
    total, last_end, is_answered = 0.0, math.inf, True
    for request in sorted(requests, key=lambda request: request.at):
        start, answer = request.at.timestamp(), answers.get(request.number)
        total += max(0.0, start - last_end) if is_answered else 0.0
        end = start + answer.waited_seconds + answer.seconds if answer else math.inf
        if math.isinf(last_end) or end >= last_end:
            last_end, is_answered = end, _is_answered(request, answers)
    return total


def _charged(request: RequestRecord, answer: ResponseRecord | None) -> float:
    """Return the USD that budgets are charged for a request; without an answer, the reserved amount."""
    if answer is None:
        return request.reserved_usd or 0.0
    return answer.usd if answer.usd is not None else answer.charged_usd or 0.0


def _models(requests: list[RequestRecord], answers: dict[int, ResponseRecord]) -> dict[str, ModelSpending]:
    spending: defaultdict[str, list[ModelSpending]] = defaultdict(list)
    for request in requests:
        answer = answers.get(request.number)
        if answer is None or answer.source != "refused":
            spending[request.model].append(ModelSpending(requests=1, usd=answer.usd if answer else None))
    return {model: _total(parts) for model, parts in spending.items()}


def _total(parts: list[ModelSpending]) -> ModelSpending:
    usd: float | None = 0.0
    for part in parts:
        usd = None if usd is None or part.usd is None else usd + part.usd
    return ModelSpending(requests=sum(part.requests for part in parts), usd=usd)
