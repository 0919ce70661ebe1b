from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.base import ProcessResult
from scylla_gha.agents.claude.transcript import classify_session, read_transcript
from scylla_gha.model.trial import Outcome
from tests.support.claude import (
    DATA,
    INIT,
    Event,
    ended_with,
    read_events,
    result,
    said,
    streamed,
    text,
)


def decide_recorded(name: str, ended: ProcessResult | None = None) -> tuple[Outcome, str, bool]:
    transcript = DATA / f"{name}.jsonl"
    return classify_session(read_transcript(transcript), ended or ended_with(transcript))


def decide_events(folder: Path, *events: Event | str, stderr: str = "", **ended: Any) -> tuple[Outcome, str, bool]:
    session = read_events(folder, *events)
    (folder / "transcript.stderr").write_text(stderr)
    return classify_session(session, ended_with(folder / "transcript.jsonl", **ended))


@pytest.mark.parametrize(
    ("name", "outcome", "again", "reason"),
    [
        ("ok", "completed", False, "the agent ended by itself"),
        ("401", "sandbox_error", True, "Failed to authenticate. API Error: 401 scripted 401"),
        ("429", "sandbox_error", True, "API Error: Request rejected (429) \u00b7 scripted 429"),
        ("500", "sandbox_error", True, "API Error: 500 scripted 500. This is a server-side issue"),
        ("529", "sandbox_error", True, "API Error: 529 scripted 529. This is a server-side issue"),
        ("empty-answer", "sandbox_error", True, "API Error: API returned an empty or malformed response (HTTP 200)"),
        ("refusal", "refused", False, "API Error: Claude Code is unable to respond to this request"),
    ],
)
def test_recorded_sessions_that_ended_by_themselves(name: str, outcome: str, again: bool, reason: str) -> None:
    found = decide_recorded(name)
    assert (found[0].value, found[2]) == (outcome, again)
    assert found[1].startswith(reason)


@pytest.mark.parametrize("name", ["hang", "in-a-message", "between-messages", "retrying", "ok"])
def test_at_the_time_limit_it_is_a_timeout_whatever_the_transcript_says_of_requests(name: str) -> None:
    transcript = DATA / f"{name}.jsonl"
    found = decide_recorded(name, ended_with(transcript, -15, 60.0, 60.0, timed_out=True))
    assert found == (Outcome.TIMEOUT, "ended at the limit of 60 s", False)


@pytest.mark.parametrize(
    ("lines", "stderr", "reason"),
    [
        pytest.param([], "command not found", "the CLI did not start (exit code 1): command not found", id="no start"),
        pytest.param([], "", "the CLI did not start (exit code 1): it printed nothing", id="silent"),
        pytest.param(["Hello!"], "", "the transcript is not stream-json of a known form: Hello!", id="another form"),
        pytest.param(
            [{"type": "hello"}], "", 'the CLI did not start (exit code 1): {"type": "hello"}', id="no start event"
        ),
    ],
)
def test_without_a_start_event_it_is_the_sandboxs_fault(
    tmp_path: Path, lines: list[Event | str], stderr: str, reason: str
) -> None:
    assert decide_events(tmp_path, *lines, stderr=stderr, code=1) == (Outcome.SANDBOX_ERROR, reason, False)
    timed_out = decide_events(tmp_path, *lines, stderr=stderr, code=1, timed_out=True)
    assert timed_out[0] is Outcome.SANDBOX_ERROR, "also where it ran into the limit"


def test_a_cli_that_dies_without_a_result_is_the_agents_error(tmp_path: Path) -> None:
    found = decide_events(tmp_path, INIT, *streamed("m"), said("m", text("x")), stderr="out of memory\n", code=137)
    assert found == (
        Outcome.AGENT_ERROR, "the CLI ended with exit code 137 and no result: out of memory", False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "outcome", "again"),
    [
        pytest.param({"is_error": False}, "completed", False, id="no error"),
        pytest.param({"stop_reason": "refusal"}, "refused", False, id="refusal, though no error is told"),
        pytest.param({"subtype": "error_max_turns", "is_error": True}, "budget_exceeded", False, id="turns"),
        pytest.param({"subtype": "error_max_turns"}, "budget_exceeded", False, id="turns, though no error is told"),
        pytest.param({"subtype": "error_max_budget_usd", "is_error": True}, "budget_exceeded", False, id="USD"),
        pytest.param({"is_error": True, "api_error_status": 401}, "sandbox_error", True, id="401"),
        pytest.param({"is_error": True, "api_error_status": 403}, "sandbox_error", True, id="403"),
        pytest.param({"is_error": True, "api_error_status": 404}, "sandbox_error", True, id="404"),
        pytest.param({"is_error": True, "api_error_status": 400}, "agent_error", False, id="400"),
        pytest.param({"is_error": True, "api_error_status": 413}, "agent_error", False, id="413"),
        pytest.param({"is_error": True, "api_error_status": 408}, "sandbox_error", True, id="408"),
        pytest.param({"is_error": True, "api_error_status": 502}, "sandbox_error", True, id="502"),
        pytest.param({"subtype": "error_during_execution", "is_error": True}, "agent_error", False, id="another"),
        pytest.param(
            {"subtype": "error_during_execution"}, "agent_error", False, id="a kind of error, not marked as one"
        ),
        pytest.param({"subtype": "of_a_later_version"}, "agent_error", False, id="a kind that is not known"),
        pytest.param({"subtype": None}, "agent_error", False, id="no kind"),
        pytest.param({"is_error": True, "api_error_status": 400.0}, "agent_error", False, id="400 as a float"),
        pytest.param({"is_error": True, "result": None}, "agent_error", False, id="an error that says nothing"),
        pytest.param({"is_error": True, "api_error_status": ["x"]}, "agent_error", False, id="status of another form"),
        pytest.param({"subtype": ["x"], "is_error": True}, "agent_error", False, id="kind of another form"),
    ],
)
def test_results_are_decided_by_rule(tmp_path: Path, given: Event, outcome: str, again: bool) -> None:
    found = decide_events(tmp_path, INIT, result(**given))
    assert (found[0].value, found[2]) == (outcome, again)


@pytest.mark.parametrize(
    ("error", "outcome", "again"),
    [
        ("authentication_failed", "sandbox_error", True),
        ("billing_error", "sandbox_error", True),
        ("rate_limit", "sandbox_error", True),
        ("server_error", "sandbox_error", True),
        ("overloaded", "sandbox_error", True),
        ("unknown", "sandbox_error", True),
        ("invalid_request", "agent_error", False),
        ("max_output_tokens", "agent_error", False),
    ],
)
def test_where_no_status_is_told_the_clis_name_of_the_fault_decides(
    tmp_path: Path, error: str, outcome: str, again: bool
) -> None:
    fault = said("x", text("API Error"), model="<synthetic>", error=error)
    found = decide_events(tmp_path, INIT, fault, result(is_error=True))
    assert (found[0].value, found[2]) == (outcome, again)


def test_a_fault_after_the_models_first_message_is_the_agents_error(tmp_path: Path) -> None:
    for fault in ({"api_error_status": 529}, {"api_error_status": 401}):
        found = decide_events(tmp_path, INIT, *streamed("m"), said("m", text("x")), result(is_error=True, **fault))
        assert (found[0], found[2]) == (Outcome.AGENT_ERROR, False)


def test_a_second_result_does_not_make_good_the_first(tmp_path: Path) -> None:
    limit = result(subtype="error_max_turns", is_error=True)
    assert decide_events(tmp_path, INIT, *streamed("m"), limit, result())[0] is Outcome.BUDGET_EXCEEDED
    assert decide_events(tmp_path, INIT, *streamed("m"), result(), limit)[0] is Outcome.BUDGET_EXCEEDED


def test_a_refusal_that_the_cli_passed_over_is_one(tmp_path: Path) -> None:
    refusal = {"type": "system", "subtype": "model_refusal_no_fallback"}
    assert decide_events(tmp_path, INIT, refusal, result(is_error=True))[0] is Outcome.REFUSED


def test_a_fault_that_was_overcome_does_not_count(tmp_path: Path) -> None:
    fault = said("x", text("API Error"), model="<synthetic>", error="overloaded")
    assert decide_events(tmp_path, INIT, fault, *streamed("m"), result())[0] is Outcome.COMPLETED


def test_a_result_without_a_start_event_is_taken(tmp_path: Path) -> None:
    assert decide_events(tmp_path, result())[0] is Outcome.COMPLETED


def test_a_long_reason_is_cut(tmp_path: Path) -> None:
    assert decide_events(tmp_path, INIT, result(is_error=True, result="x" * 1000))[1] == "x" * 300


def test_half_an_emoji_neither_drops_an_event_nor_fails_a_completed_session(tmp_path: Path) -> None:
    last = r'{"type":"result","subtype":"success","is_error":false,"result":"done \ud83d"}'
    session = read_events(tmp_path, INIT, said("a", text("done")), last)
    assert (session.unreadable, session.trajectory.final_message) == (0, "done \ufffd")
    outcome, reason, _ = decide_events(tmp_path, INIT, said("a", text("done")), last)
    assert (outcome, reason) == (Outcome.COMPLETED, "the agent ended by itself")


@pytest.mark.parametrize(("given", "reason"), [
    ({"errors": ["ENOSPC: no space left", 3]}, "ENOSPC: no space left"),
    ({}, "a result of the kind error_during_execution, without a text"),
    ({"result": "", "errors": "x"}, "a result of the kind error_during_execution, without a text"),
])  # fmt: skip
def test_an_error_without_a_text_has_a_reason(tmp_path: Path, given: Event, reason: str) -> None:
    last = {**result(subtype="error_during_execution", result=None), **given}
    assert decide_events(tmp_path, INIT, last) == (Outcome.AGENT_ERROR, reason, False)
