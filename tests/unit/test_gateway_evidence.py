"""Evidence of a journal about the provider, and what an agent's own requests cannot make it prove."""

import datetime
from typing import Any

import pytest

from scylla_gha.gateway.evidence import CLIENT_GONE, UNREACHABLE, ProviderEvidence, provider_evidence, provider_fault
from scylla_gha.model.traffic import RequestRecord, ResponseRecord

NOW = datetime.datetime(2026, 11, 22, tzinfo=datetime.UTC)
FAILED: dict[str, Any] = {
    "status": 529,
    "complete": False,
    "error": "overloaded_error",
    "fault": "529 overloaded_error",
}
SILENT: dict[str, Any] = {"status": None, "complete": False, "first_byte_seconds": None}


OWN: dict[str, Any] = {"turn": None}
LIMITED: dict[str, Any] = {"status": 429, "complete": False, "met": ("429",), "fault": "429", "waited_seconds": 300.0}


def proved(*answers: dict[str, Any], **asked: Any) -> ProviderEvidence:
    """The evidence of requests that ended so, one after another; `turn` and `model` of an answer are its request's."""
    own: list[dict[str, Any]] = [{name: each[name] for name in ("turn", "model") if name in each} for each in answers]
    given: dict[str, Any] = {"role": "agent", "model": "m", "digest": "d", "characters": {}, **asked}
    numbers = range(1, len(answers) + 1)
    questions = [RequestRecord(number=n, at=NOW, **{"turn": n, **given, **own[n - 1]}) for n in numbers]
    usual: dict[str, Any] = {
        "source": "live",
        "status": 200,
        "complete": True,
        "usd": 0.0,
        "seconds": 1.0,
        "first_byte_seconds": 0.5,
    }
    return provider_evidence(questions, [_answered(n, {**usual, **answers[n - 1]}) for n in numbers])


def _answered(number: int, given: dict[str, Any]) -> ResponseRecord:
    return ResponseRecord(
        number=number, **{name: value for name, value in given.items() if name in ResponseRecord.model_fields}
    )


def test_a_fault_stands_until_a_later_answer() -> None:
    assert (proved(FAILED).fault, proved({}, FAILED).fault) == ("529 overloaded_error",) * 2
    assert proved(FAILED, {}).fault is None
    assert proved({}, FAILED, {"status": 400, "complete": False, "error": "x"}).fault == "529 overloaded_error"
    assert [proved().answers, proved(FAILED).answers, proved({}, FAILED, {}).answers] == [0, 0, 2]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_the_request_is_at_fault_for_is_no_fault_of_the_provider(status: int) -> None:
    assert provider_fault(status) is None
    for error in ("invalid_request_error", None):  # a proxy's error has another form
        seen = proved({"status": status, "complete": True, "error": error})
        assert (seen.answers, seen.is_unanswered, seen.fault) == (0, True, None)


@pytest.mark.parametrize(("status", "first", "later"), [(401, True, True), (403, True, False), (404, True, False)])
def test_no_access_is_a_fault_that_lasts_and_after_an_answer_only_that_of_the_key(
    status: int, first: bool, later: bool
) -> None:
    refused = {"status": status, "complete": False, "fault": provider_fault(status)}
    assert (proved(refused).fault is not None, proved(refused).is_lasting) == (first, True)
    assert (proved({}, refused).fault is not None, proved({}, refused).is_lasting) == (later, False)


def test_a_rate_limit_excuses_a_session_that_did_not_provoke_it() -> None:
    limited = {"status": 429, "complete": False, "fault": "429", "waited_seconds": 300.0}
    assert (proved({}, limited).fault, proved({}, limited).limited_seconds) == ("429", 300.0)
    crowded = proved({}, {**limited, "crowded": True})
    assert (crowded.fault, crowded.limited_seconds) == (None, 0.0)


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param(OWN, id="another conversation, or a request of the shell"),
        pytest.param({"model": "other"}, id="another model"),
    ],
)
@pytest.mark.parametrize("failed", [FAILED, LIMITED, SILENT, {"status": None, "complete": False, "fault": UNREACHABLE}])
def test_once_the_model_has_answered_only_the_main_conversations_requests_excuse(
    beside: dict[str, Any], failed: dict[str, Any]
) -> None:
    assert proved({}, {**failed, **beside}) == proved({})
    assert proved({}, failed, {**failed, **beside}) in {proved({}, failed), proved({}, {**failed, "crowded": True})}
    assert proved({**failed, **OWN}) != proved(), "before the first answer nothing is the agent's"


def test_a_rate_limit_that_the_session_met_beside_its_main_conversation_makes_later_ones_its_own_time() -> None:
    for own in ({**LIMITED, **OWN}, {"met": ("429",), **OWN}):
        for held in (proved({}, own, LIMITED), proved({}, own, {}, LIMITED)):
            assert (held.fault, held.limited_seconds) == (None, 0.0)
    assert proved({}, {**LIMITED, **OWN}, FAILED).fault == "529 overloaded_error", "which is no rate limit"


def test_a_rate_limit_that_the_session_used_up_beside_its_main_conversation_is_its_own_time() -> None:
    assert proved({}, {"exhausting": True}, LIMITED).limited_seconds == 300.0, "the main conversation did"
    assert proved({}, {"exhausting": True, **OWN}, LIMITED).limited_seconds == 0.0


def test_a_wait_for_a_rate_limit_counts_although_the_answer_came_at_last() -> None:
    late = {"waited_seconds": 19.0}
    assert proved({}, late).limited_seconds == proved(late).limited_seconds == 19.0
    assert proved({}, {**LIMITED, **OWN}, late).limited_seconds == 0.0, "the session provoked it"


def test_what_was_asked_before_an_answered_request_of_the_main_conversation_excuses_nothing() -> None:
    asked = [
        RequestRecord(number=n, at=NOW, role="agent", model="m", digest="d", characters={}, turn=n) for n in (1, 2, 3)
    ]
    usual = {"source": "live", "status": 200, "complete": True, "usd": 0.0, "seconds": 1.0, "first_byte_seconds": 0.5}
    for failed in (SILENT, FAILED):
        ended = [_answered(n, {**usual, **(failed if n == 2 else {})}) for n in (1, 3, 2)]
        assert provider_evidence(asked, ended) == ProviderEvidence(answers=2, has_begun=True)


def test_silence_is_a_streamed_request_without_any_byte() -> None:
    assert proved({}, {**SILENT, "waited_seconds": 5.0}).silent_since == NOW + datetime.timedelta(seconds=5)
    assert proved({}, SILENT, streamed=False).silent_since is None
    assert proved({}, {**SILENT, "first_byte_seconds": 0.1, "status": 200}).silent_since is None
    assert proved(SILENT, {}).silent_since is None


def test_silence_in_the_middle_of_an_answer_is_the_providers_if_the_client_stayed_to_the_end() -> None:
    begun = {"status": 200, "complete": False, "first_byte_seconds": 0.5, "seconds": 40.0, "waited_seconds": 2.0}
    paused = {**begun, "silent_seconds": 37.0}
    assert proved({}, paused).silent_since == NOW + datetime.timedelta(seconds=5)
    assert proved({}, begun).silent_since is None, "the client did not read it"
    assert proved({}, paused, streamed=False).silent_since is None
    assert proved({}, {**paused, "fault": "a cut answer"}).silent_since is None
    assert proved(paused, {}).silent_since is None, "a later answer came"
    asked = [RequestRecord(number=1, at=NOW, role="agent", model="m", digest="d", characters={}, turn=1, streamed=True)]
    answer = _answered(1, {"source": "live", "usd": None, **paused})
    stayed, left = (provider_evidence(asked, [answer], NOW + datetime.timedelta(seconds=s)) for s in (45, 60))
    assert (stayed.silent_since, left.silent_since) == (NOW + datetime.timedelta(seconds=5), None)


CUT: dict[str, Any] = {"complete": False}


def test_a_request_waits_for_the_first_answer_only_while_no_byte_of_one_has_come() -> None:
    gone = {"status": None, "complete": False, "error": CLIENT_GONE, "first_byte_seconds": None}
    for waiting in (SILENT, gone, {**gone, "status": 403, "source": "refused"}, {**SILENT, "crowded": True}):
        assert proved(waiting).awaits_first
        assert proved(FAILED, {**waiting, **OWN}).awaits_first, "before the first answer any request counts"
        for begun in ({}, CUT, {**CUT, **OWN}, {**CUT, "fault": "a cut answer"}, {**CUT, "model": "other"}):
            assert not proved(begun, waiting).awaits_first
            assert not proved(waiting, begun).awaits_first, "which ended later"
    assert proved(SILENT, streamed=False).awaits_first
    for ended in (FAILED, {"status": 400, "complete": False, "error": "invalid_request_error"}):
        assert not proved(ended).awaits_first, "it was answered"
    assert not proved(SILENT, counting=True).awaits_first
    assert not proved({**SILENT, "status": 403, "error": "budget_exceeded:trial", "source": "refused"}).awaits_first


def test_a_part_of_an_answer_is_enough_to_act_on() -> None:
    assert (proved(CUT).has_begun, proved(CUT).answers) == (True, 0)
    assert not proved(FAILED).has_begun, "bytes of an error are not the model's"
    assert proved(CUT, {**FAILED, **OWN}) == proved(CUT), "another conversation's request excuses nothing any more"
    assert proved(CUT, FAILED).fault == "529 overloaded_error"


def test_an_answer_that_began_after_its_client_had_ended_is_none() -> None:
    requests = [
        RequestRecord(number=n, at=NOW, role="agent", model="m", digest="d", characters={}, turn=n) for n in (1, 2)
    ]
    usual = {"source": "live", "status": 200, "complete": True, "usd": 0.0, "seconds": 1.0}
    late = _answered(1, {**usual, "first_byte_seconds": 9.0, "waited_seconds": 2.0})
    seen, unseen = (provider_evidence(requests[:1], [late], NOW + datetime.timedelta(seconds=s)) for s in (11, 10.9))
    assert (seen.answers, seen.has_begun, seen.silent_since, seen.awaits_first) == (1, True, None, False)
    assert (unseen.answers, unseen.has_begun, unseen.awaits_first) == (0, False, True)
    assert unseen.silent_since == NOW + datetime.timedelta(seconds=2)

    early = _answered(2, {**usual, "first_byte_seconds": 0.5})
    assert not provider_evidence(requests, [early, late], NOW + datetime.timedelta(seconds=10)).awaits_first
    broken = late.model_copy(update={"complete": False, "fault": "a cut answer"})
    assert provider_evidence(requests[:1], [broken], NOW + datetime.timedelta(seconds=10)).awaits_first
    failed = _answered(1, {**usual, **FAILED, "first_byte_seconds": 9.0})
    assert provider_evidence(requests[:1], [failed], NOW).fault == FAILED["fault"], "an error ends all tries"


def test_whether_the_main_conversation_wanted_to_go_on() -> None:
    wants, done = {"stop_reason": "tool_use"}, {"stop_reason": "end_turn"}
    assert [proved(wants).wants_tool, proved(wants, done).wants_tool] == [True, False]
    assert not proved(wants, turn=None).wants_tool, "another conversation"
    assert proved(wants, counting=True) == ProviderEvidence(), "counts of tokens prove nothing"


@pytest.mark.parametrize("reason", ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS"])
def test_whether_the_last_answer_of_the_main_conversation_was_cut_at_its_limit(reason: str) -> None:
    cut, done = {"stop_reason": reason}, {"stop_reason": "end_turn"}
    assert [proved(cut).is_cut, proved(done, cut).is_cut, proved(cut, done).is_cut] == [True, True, False]
