"""A lane's `traffic.jsonl`: written as requests come and end, and read back as an account of what they cost.

A line is flushed before anything is done that it tells of, so a killed gateway leaves at worst a request without an
answer, or the torn beginning of a line, which tells of nothing that was done.
"""

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from scylla_gha.gateway.evidence import ProviderEvidence, is_whole, provider_evidence
from scylla_gha.model.record import Record
from scylla_gha.model.traffic import Component, RequestRecord, ResponseRecord, Tokens
from scylla_gha.model.trial import NO_USAGE, Usage
from scylla_gha.store.records import open_journal, read_journal

UNMATCHED: Final = "unmatched_request"
_LONGEST: Final = 16 * 1024 * 1024  # bytes: some 20,000 requests
_LINE: Final[TypeAdapter[RequestRecord | ResponseRecord]] = TypeAdapter(
    Annotated[RequestRecord | ResponseRecord, Field(discriminator="kind")]
)


class ModelSpending(Record):
    """What the requests of one model cost; those that the gateway refused are not among them."""

    requests: int = 0
    usd: float | None = 0.0


class TrafficSummary(Record):
    """What the requests of one or several lanes were and cost; counts of tokens leave out `count_tokens` requests.

    `usage` is unknown where one answer's cost is unknown or a request has no answer; `known_usd` is the sum of those
    that are known, so the least that was spent.
    """

    requests: int = 0
    turns: Annotated[int, Field(description="of the main conversation, those that were answered")] = 0
    last_number: Annotated[int, Field(description="of all requests, counts of tokens among them")] = 0
    unanswered: Annotated[int, Field(description="in flight when the gateway died")] = 0
    retries: Annotated[int, Field(description="asked again after a failure, by the client or by the gateway")] = 0
    refused: Annotated[int, Field(description="by the gateway: a budget, or a rate limit that lasts too long")] = 0
    unmatched: Annotated[int, Field(description="not in the recording that is replayed")] = 0
    usage: Usage = NO_USAGE
    known_usd: float = 0.0
    charged_usd: Annotated[float, Field(description="to budgets: with a high guess for what is unknown")] = 0.0
    known_tokens: Annotated[int, Field(description="of all kinds; the sum of those that are known")] = 0
    first_byte_seconds: Annotated[float | None, Field(description="mean over the answers that began")] = None
    generation_seconds: Annotated[float, Field(description="from the first byte of an answer to its last")] = 0.0
    waited_seconds: Annotated[float, Field(description="for rate limits")] = 0.0
    tool_seconds: Annotated[
        float | None, Field(description="from answers to the next requests, while none was in flight; None: no request")
    ] = None
    characters: dict[Component, int] = Field(default_factory=dict, description="of all requests, by component")
    models: dict[str, ModelSpending] = Field(default_factory=dict, description="by the model that was asked")
    errors: dict[str, int] = Field(default_factory=dict, description="by type")
    adjusted: Annotated[tuple[str, ...], Field(description="settings that were put into at least one request")] = ()
    unadjusted: Annotated[tuple[str, ...], Field(description="settings that at least one request went without")] = ()
    evidence: ProviderEvidence = ProviderEvidence()

    def beside(self, own: str | None) -> ModelSpending:
        """Requests of other models than the session's own; none where it has none of its own."""
        others = [share for model, share in self.models.items() if own and model != own]
        known = [share.usd for share in others if share.usd is not None]
        usd = sum(known) if len(known) == len(others) else None
        return ModelSpending(requests=sum(share.requests for share in others), usd=usd)


class TrafficLog:
    """The open file of a lane; several lanes must not share one."""

    def __init__(self, path: Path) -> None:
        """Open for appending; a torn last line goes."""
        self._file = open_journal(path)
        self._bytes = path.stat().st_size
        self.is_full = False

    def write(self, record: RequestRecord | ResponseRecord) -> None:
        """Append one line; when this returns, the death of this process cannot lose it."""
        self._bytes += self._file.write(record.model_dump_json().encode() + b"\n")

    def fill(self) -> bool:
        """Whether it is as long as it may be. The next request is then the last one that is written."""
        self.is_full = self._bytes >= _LONGEST
        return self.is_full

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_traffic(path: Path) -> list[RequestRecord | ResponseRecord]:
    """All records of a journal in order of time; none where there is no file.

    Raises:
        ConfigError: a line other than a torn last one is no such record.
    """
    return read_journal(path, _LINE, "traffic")


def summarise_traffic(path: Path) -> TrafficSummary:
    """The account of one journal, a function of the file alone; all zero where there is no file.

    Raises:
        ConfigError: the file is no journal.
    """
    return traffic_summary(read_traffic(path))


def traffic_summary(records: Iterable[RequestRecord | ResponseRecord]) -> TrafficSummary:
    """The account of one lane's records."""
    records = list(records)
    asked = {each.number: each for each in records if isinstance(each, RequestRecord)}
    answers = {each.number: each for each in records if isinstance(each, ResponseRecord)}
    paid = [each for each in asked.values() if not each.counting]
    began = [each for each in answers.values() if each.first_byte_seconds is not None]
    first = [each.first_byte_seconds or 0.0 for each in began]
    return TrafficSummary(
        requests=len(paid),
        turns=len(
            {each.turn for each in paid if each.turn and (answer := answers.get(each.number)) and is_whole(answer)}
        ),
        last_number=max(asked, default=0),
        unanswered=sum(1 for number in asked if number not in answers),
        retries=_asked_again(list(asked.values()), answers) + sum(each.retries for each in answers.values()),
        refused=sum(1 for each in answers.values() if each.source == "refused"),
        unmatched=sum(1 for each in answers.values() if each.error == UNMATCHED),
        usage=_usage([answers.get(each.number) for each in paid]),
        known_usd=sum(each.usd or 0.0 for each in answers.values()),
        charged_usd=sum(_charged(each, answers.get(each.number)) for each in asked.values()),
        known_tokens=sum(each.tokens.total for each in answers.values() if each.tokens),
        first_byte_seconds=sum(first) / len(first) if first else None,
        generation_seconds=sum(each.seconds for each in began) - sum(first),
        waited_seconds=sum(each.waited_seconds for each in answers.values()),
        tool_seconds=_between(paid, answers),
        characters=_characters(paid),
        models=_models(paid, answers),
        errors=dict(Counter(each.error for each in answers.values() if each.error)),
        adjusted=tuple(sorted({name for each in paid for name in each.adjusted})),
        unadjusted=tuple(sorted({name for each in paid for name in each.unadjusted})),
        evidence=provider_evidence(paid, [each for each in records if isinstance(each, ResponseRecord)]),
    )


def _asked_again(asked: list[RequestRecord], answers: dict[int, ResponseRecord]) -> int:
    """Requests that repeat an earlier one which failed."""
    failed: set[str] = set()
    again = 0
    for each in asked:
        again += each.digest in failed
        fine = (answer := answers.get(each.number)) is not None and is_whole(answer)
        (failed.discard if fine else failed.add)(each.digest)
    return again


def _between(asked: list[RequestRecord], answers: dict[int, ResponseRecord]) -> float | None:
    """Seconds in which the client had its answers and asked for nothing more: its tools were at work.

    The wait before a request that repeats a failed one is the client's pause, and does not count.
    """
    if not asked:
        return None
    total, free, fine = 0.0, math.inf, True
    for each in sorted(asked, key=lambda one: one.at):
        start, answer = each.at.timestamp(), answers.get(each.number)
        total += max(0.0, start - free) if fine else 0.0
        end = start + answer.waited_seconds + answer.seconds if answer else math.inf
        if math.isinf(free) or end >= free:
            free, fine = end, answer is not None and is_whole(answer)
    return total


def _charged(asked: RequestRecord, answer: ResponseRecord | None) -> float:
    """What a request costs in budgets; one without an answer costs what was reserved for it."""
    if answer is None:
        return asked.reserved_usd or 0.0
    return answer.usd if answer.usd is not None else answer.charged_usd or 0.0


def _usage(answers: list[ResponseRecord | None]) -> Usage:
    total = NO_USAGE
    for answer in answers:
        total = total.plus(_usage_of(answer.tokens, answer.usd) if answer else Usage())
    return total


def _usage_of(tokens: Tokens | None, usd: float | None) -> Usage:
    if tokens is None:
        return Usage(usd=usd)
    return Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write_5m + tokens.cache_write_1h,
        usd=usd,
    )


def _models(asked: list[RequestRecord], answers: dict[int, ResponseRecord]) -> dict[str, ModelSpending]:
    shares: dict[str, ModelSpending] = {}
    for each in asked:
        answer = answers.get(each.number)
        if answer is not None and answer.source == "refused":
            continue
        share = shares.get(each.model, ModelSpending())
        usd = None if share.usd is None or answer is None or answer.usd is None else share.usd + answer.usd
        shares[each.model] = ModelSpending(requests=share.requests + 1, usd=usd)
    return shares


def _characters(asked: list[RequestRecord]) -> dict[Component, int]:
    total: Counter[Component] = Counter()
    for each in asked:
        total.update(each.characters)
    return dict(total)
