"""Provider faults derived from a session's log, which the agent cannot write; only they excuse a trial.

A provider has failed a request if all of the gateway's tries ended in an error that is about the provider or the
account, or if its answer broke off. A later answer of the same session clears that fault. Refusals of the gateway, and
errors about the request (400, 413), do not excuse a trial. Once the model has begun to answer, only requests of the
main conversation to its own model count: the agent may have caused the failure of any other request, and a provider
that is down also fails the main conversation's next request.
"""

import datetime
import itertools
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.traffic import RequestRecord, ResponseRecord
from scylla_gha.providers.base import CUT_BY_LIMIT, USES_TOOL

# Errors of a request that is longer than the model's context window: OpenAI's, and that of llama.cpp's server.
WINDOW_ERRORS: Final = frozenset({"context_length_exceeded", "exceed_context_size_error"})
UNREACHABLE: Final = "unreachable"
CLIENT_GONE: Final = "client_gone"
OTHER_API: Final = "an answer of another API"
_REFUSED: Final = frozenset({"refusal", "content_filter"})  # stop reasons of a model that refuses
_TOO_MANY: Final = str(HTTPStatus.TOO_MANY_REQUESTS.value)
# Statuses of https://docs.claude.com/en/api/errors (2026-11-22) that are about the key, the account or the model, and
# that of a web server without the API.
_ACCESS_STATUSES: Final = frozenset({"401", "402", "403", "404", "405"})
# Statuses that a request can cause: it asks for a file or a model that does not exist, or is not allowed.
_REQUEST_STATUSES: Final = frozenset({"403", "404", "405"})
_OF_ANSWER: Final = ("status", "error", "fault", "first_byte_seconds", "silent_seconds")
_CLOSING_SECONDS: Final = 10.0  # between the end of a client's connections and the known end of the client


class ProviderEvidence(Record):
    """One session's evidence about its provider. `fault` and `silent_since` are set only if no later answer came."""

    answers: int = Field(default=0, description="Number of complete answers of the model")
    has_begun: bool = Field(
        default=False, description="True if an answer's first byte came; a CLI may run a tool before the answer ends"
    )
    awaits_first: bool = Field(
        default=False, description="True if no answer had begun, and a request was still waiting for one at the end"
    )
    fault: str | None = Field(
        default=None, description="Provider's last failure to answer a request; None: it did not fail"
    )
    is_lasting: bool = Field(default=False, description="True if the next session would meet the same fault")
    silent_since: datetime.datetime | None = Field(
        default=None,
        description="Time of the last byte for a streamed request that was waiting for more of its answer, or when it "
        "was sent if no byte came; None: no such request",
    )
    limited_seconds: float = Field(
        default=0.0,
        description="Seconds that the main conversation's last request waited for rate limits it did not provoke",
    )
    is_unanswered: bool = Field(
        default=False, description="True if the last request of the main conversation got no whole answer"
    )
    repeats: int = Field(
        default=0,
        description="Number of times that the last request of the main conversation was sent, if none got an answer",
    )
    is_refused: bool = Field(
        default=False, description="True if the model refused in the last answer of the main conversation"
    )
    is_cut: bool = Field(
        default=False, description="True if the last answer of the main conversation reached its limit of tokens"
    )
    wants_tool: bool = Field(
        default=False, description="True if the last answer of the main conversation asked for a tool"
    )

    def kept_waiting(self, started: datetime.datetime, seconds: float) -> float:
        """Return the seconds at the end of an attempt that were spent waiting for the provider or its rate limit."""
        ended = started + datetime.timedelta(seconds=seconds)
        return max(self.limited_seconds, (ended - self.silent_since).total_seconds() if self.silent_since else 0.0)


def provider_fault(status: int | None) -> str | None:
    """Return the provider's fault for a status (None: no answer); None if the request is at fault."""
    if status is None:
        return UNREACHABLE
    code = str(int(status))
    return code if is_temporary(status) or code in _ACCESS_STATUSES or code == _TOO_MANY else None


def is_temporary(status: int | None) -> bool:
    """Tell if a retry may succeed a moment later; False for rate limits, which the limiter handles."""
    return status is None or status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def provider_evidence(
    asked: Sequence[RequestRecord], answers: Sequence[ResponseRecord], until: datetime.datetime | None = None
) -> ProviderEvidence:
    """Derive the evidence from requests and their answers, in the order in which the answers ended.

    `until` is when the client ended: a later answer does not count, because nobody saw it.
    """
    requests = {request.number: request for request in asked if not request.counting}
    ended = [_as_seen(answer, requests[answer.number], until) for answer in answers if answer.number in requests]
    complete = [answer for answer in ended if is_whole(answer)]
    has_begun = any(_has_begun(answer) for answer in ended)
    main = _main_numbers(asked) if has_begun else frozenset(requests)  # before that, no agent caused it
    turns = [answer for answer in complete if requests[answer.number].turn]
    last_complete = max((answer.number for answer in complete if answer.number in main), default=0)
    since = ended[ended.index(complete[-1]) + 1 :] if complete else ended
    # a request that was sent before the last complete answer did not stop the agent
    after = [answer for answer in since if answer.number in main and answer.number > last_complete]
    final = next((answer for answer in reversed(ended) if answer.number in main), None)
    provoked = any(
        answer.crowded or (answer.number not in main and (answer.exhausting or _TOO_MANY in answer.met))
        for answer in ended
    )
    faults = [answer.fault for answer in after if answer.fault]
    faults = [fault for fault in faults if not (provoked and fault.startswith(_TOO_MANY))]
    # Once the model has answered, the account may use it: a refusal is then about what the request asks for.
    faults = [fault for fault in faults if not (complete and fault[:3] in _REQUEST_STATUSES)]
    return ProviderEvidence(
        answers=len(complete),
        has_begun=has_begun,
        awaits_first=not has_begun and any(map(_is_waiting, ended)),
        fault=faults[-1] if faults else None,
        is_lasting=bool(faults) and not complete and faults[-1][:3] in _ACCESS_STATUSES,
        silent_since=_silent_since(requests[after[-1].number], after[-1]) if after else None,
        limited_seconds=final.waited_seconds if final and not provoked else 0.0,
        is_unanswered=bool(after),
        repeats=_repeats([request for request in asked if request.number in main]) if after else 0,
        is_refused=bool(turns) and not after and turns[-1].stop_reason in _REFUSED,
        is_cut=bool(turns) and not after and turns[-1].stop_reason in CUT_BY_LIMIT,
        wants_tool=bool(turns) and turns[-1].stop_reason == USES_TOOL,
    )


def _main_numbers(asked: Sequence[RequestRecord]) -> frozenset[int]:
    """Return the numbers of the main conversation's requests to its first model."""
    turns = [request for request in asked if request.turn]
    return frozenset(request.number for request in turns if request.model == turns[0].model)


def _repeats(asked: Sequence[RequestRecord]) -> int:
    """Return how many equal requests there are at the end."""
    equal = itertools.takewhile(lambda request: request.digest == asked[-1].digest, reversed(asked))
    return sum(1 for _ in equal)


def is_whole(answer: ResponseRecord) -> bool:
    """Tell if the model's answer is complete and without an error; an error's body may have any form."""
    is_error = answer.status is not None and answer.status >= HTTPStatus.BAD_REQUEST
    return answer.complete and not is_error and answer.error is None and answer.fault is None


def _as_seen(answer: ResponseRecord, request: RequestRecord, until: datetime.datetime | None) -> ResponseRecord:
    """Return the answer as the client saw it before it ended at `until`: empty if the answer began later.

    An answer that the client left before its end is not a silence of the provider.
    """
    if until is None or not _has_begun(answer):
        return answer
    sent = request.at + datetime.timedelta(seconds=answer.waited_seconds)
    if sent + datetime.timedelta(seconds=answer.first_byte_seconds or 0.0) > until:
        return answer.model_copy(update=dict.fromkeys(_OF_ANSWER) | {"complete": False})
    has_left = sent + datetime.timedelta(seconds=answer.seconds + _CLOSING_SECONDS) < until
    return answer.model_copy(update={"silent_seconds": None}) if has_left else answer


def _has_begun(answer: ResponseRecord) -> bool:
    return answer.status == HTTPStatus.OK and answer.first_byte_seconds is not None


def _is_waiting(answer: ResponseRecord) -> bool:
    """Tell if the request was still waiting at the end, for the first byte, a rate limit or a budget."""
    if answer.error == CLIENT_GONE:
        return True
    is_unanswered = answer.status is None and answer.error is None and answer.first_byte_seconds is None
    return is_unanswered and answer.source == "live" and not answer.fault


def _silent_since(request: RequestRecord, answer: ResponseRecord) -> datetime.datetime | None:
    """Return the time of the last byte, or else of the request, if it was still waiting for a byte at the end."""
    is_silent = _is_waiting(answer) or (answer.silent_seconds is not None and answer.fault is None)
    if not is_silent or answer.error is not None or answer.crowded or not request.streamed:
        return None
    passed = 0.0 if answer.silent_seconds is None else answer.seconds - answer.silent_seconds
    return request.at + datetime.timedelta(seconds=answer.waited_seconds + passed)
