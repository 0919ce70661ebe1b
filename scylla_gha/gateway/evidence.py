"""Provider faults derived from a session's log, which the agent cannot write; only they excuse a trial.

A provider has failed a request when all of the gateway's tries ended in an error that is about the provider or the
account, or when its answer broke off. A later answer of the same session clears that. What the gateway itself refused,
and what the provider says of the request (400, 413), excuse nothing. Once the model has answered, only requests of the
main conversation, to its own model, count: any other may be one that the agent sent to have it fail, and a provider
that is down fails the main conversation's next request as well.
"""

import datetime
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Final

from pydantic import Field

from scylla_gha.model.record import Record
from scylla_gha.model.traffic import RequestRecord, ResponseRecord

UNREACHABLE: Final = "unreachable"
_TOO_MANY: Final = str(HTTPStatus.TOO_MANY_REQUESTS.value)
# Statuses of https://docs.claude.com/en/api/errors (2026-11-22) that are about the key, the account or the model.
_OF_ACCESS: Final = frozenset({"401", "402", "403", "404"})
# What a request can bring about by what it asks for: a file or a model that is not there, or not allowed.
_OF_REQUEST: Final = frozenset({"403", "404"})
_PASSING: Final = frozenset({"408", _TOO_MANY})
_USES_TOOL: Final = "tool_use"


class ProviderEvidence(Record):
    """The evidence of one session. `fault` and `silent_since` are set only if no later answer came."""

    answers: Annotated[int, Field(description="of the model, that came whole")] = 0
    fault: Annotated[str | None, Field(description="how the provider failed a request for good, or None")] = None
    is_lasting: Annotated[bool, Field(description="the next session would meet the same fault")] = False
    silent_since: Annotated[
        datetime.datetime | None, Field(description="when a streamed request went out of which no byte came back")
    ] = None
    limited_seconds: Annotated[
        float, Field(description="the main conversation's last request waited for a rate limit of others")
    ] = 0.0
    wants_tool: Annotated[bool, Field(description="the last answer of the main conversation asked for one")] = False

    def kept_waiting(self, started: datetime.datetime, seconds: float) -> float:
        """Seconds at an attempt's end in which the provider sent no byte, or its rate limit was waited for."""
        ended = started + datetime.timedelta(seconds=seconds)
        return max(self.limited_seconds, (ended - self.silent_since).total_seconds() if self.silent_since else 0.0)


def provider_fault(status: int | None) -> str | None:
    """Return the provider's fault for a status; None if the request is at fault. A status of None means no answer."""
    if status is None:
        return UNREACHABLE
    code = str(int(status))
    return code if is_temporary(status) or code in _OF_ACCESS or code == _TOO_MANY else None


def is_temporary(status: int | None) -> bool:
    """Tell if the same request may be answered a moment later. Rate limits are waited for in the limiter."""
    return status is None or status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def provider_evidence(asked: Sequence[RequestRecord], answers: Sequence[ResponseRecord]) -> ProviderEvidence:
    """Derive the evidence from the requests for an answer, in the order in which they ended."""
    of = {each.number: each for each in asked if not each.counting}
    ended = [each for each in answers if each.number in of]
    whole = [each for each in ended if is_whole(each)]
    main = _main(asked) if whole else frozenset(of)  # nothing was the agent's before the first answer
    turns = [each for each in whole if of[each.number].turn]
    heard = [each for each in whole if each.number in main]
    latest = max((each.number for each in heard), default=0)  # what was asked before it stopped nobody
    after = [each for each in _since(ended, whole) if each.number in main and each.number > latest]
    final = next((each for each in reversed(ended) if each.number in main), None)
    provoked = any(each.crowded or (each.number not in main and _is_limiting(each)) for each in ended)
    faults = [each.fault for each in after if each.fault and not (provoked and each.fault.startswith(_TOO_MANY))]
    # Once the model has answered, the account may use it: what is refused now is what was asked for.
    faults = [fault for fault in faults if not (whole and fault[:3] in _OF_REQUEST)]
    last = after[-1] if after else None
    return ProviderEvidence(
        answers=len(whole),
        fault=faults[-1] if faults else None,
        is_lasting=bool(faults) and not whole and faults[-1][:3] in _OF_ACCESS,
        silent_since=_silent_since(of[last.number], last) if last else None,
        limited_seconds=final.waited_seconds if final and not provoked else 0.0,
        wants_tool=bool(turns) and turns[-1].stop_reason == _USES_TOOL,
    )


def _is_limiting(answer: ResponseRecord) -> bool:
    """Tell if it met a rate limit, or used one up."""
    return answer.exhausting or _TOO_MANY in answer.met


def _main(asked: Sequence[RequestRecord]) -> frozenset[int]:
    """The main conversation's requests to the model that it began with, by number."""
    turns = [each for each in asked if each.turn]
    return frozenset(each.number for each in turns if each.model == turns[0].model)


def _since(ended: list[ResponseRecord], whole: list[ResponseRecord]) -> list[ResponseRecord]:
    """Return the requests that ended after the last of these."""
    return ended[ended.index(whole[-1]) + 1 :] if whole else ended


def is_whole(answer: ResponseRecord) -> bool:
    """Tell if it is a whole answer of the model."""
    return answer.complete and answer.error is None and answer.fault is None


def _silent_since(asked: RequestRecord, answer: ResponseRecord) -> datetime.datetime | None:
    """Return when the request was sent that was still waiting for its first byte at the end, or None."""
    is_waiting = answer.source == "live" and not (answer.fault or answer.crowded) and answer.first_byte_seconds is None
    if not (is_waiting and asked.streamed and answer.status is None and answer.error is None):
        return None
    return asked.at + datetime.timedelta(seconds=answer.waited_seconds)
