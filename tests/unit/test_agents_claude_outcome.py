from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import claude_session
from scylla_gha.agents.base import Ended
from scylla_gha.agents.claude_outcome import decide
from scylla_gha.model.trial import Outcome
from tests.support.claude import (
    DATA,
    INIT,
    REQUESTING,
    TOOL_RESULT_AT,
    Event,
    ended_with,
    read_events,
    result,
    said,
    streamed,
    text,
)


def decide_recorded(name: str, ended: Ended | None = None) -> tuple[Outcome, str, bool]:
    transcript = DATA / f"{name}.jsonl"
    return decide(claude_session.read(transcript), ended or ended_with(transcript))


def decide_events(folder: Path, *events: Event | str, stderr: str = "", **ended: Any) -> tuple[Outcome, str, bool]:
    session = read_events(folder, *events)
    (folder / "transcript.stderr").write_text(stderr)
    return decide(session, ended_with(folder / "transcript.jsonl", **ended))


@pytest.mark.parametrize(
    ("name", "outcome", "again", "reason"),
    [
        ("ok", "completed", False, "the agent ended by itself"),
        ("401", "provider_error", False, "Failed to authenticate. API Error: 401 scripted 401"),
        ("429", "provider_error", True, "API Error: Request rejected (429) \u00b7 scripted 429"),
        ("500", "provider_error", True, "API Error: 500 scripted 500. This is a server-side issue"),
        ("529", "provider_error", True, "API Error: 529 scripted 529. This is a server-side issue"),
        ("empty-answer", "provider_error", True, "API Error: API returned an empty or malformed response (HTTP 200)"),
        ("refusal", "refused", False, "API Error: Claude Code is unable to respond to this request"),
    ],
)
def test_recorded_sessions_that_ended_by_themselves(name: str, outcome: str, again: bool, reason: str) -> None:
    found = decide_recorded(name)
    assert (found[0].value, found[2]) == (outcome, again)
    assert found[1].startswith(reason)


def at_the_limit(name: str, limit: float, silent: float) -> tuple[Outcome, str, bool]:
    """Ended at the limit, `silent` seconds after the recorded session's last sign of life."""
    transcript = DATA / f"{name}.jsonl"
    started = TOOL_RESULT_AT + silent - limit
    return decide_recorded(name, ended_with(transcript, -15, limit, limit, started, timed_out=True))


@pytest.mark.parametrize(
    ("name", "limit", "silent", "outcome"),
    [
        pytest.param("hang", 60.0, 30.0, "provider_error", id="without an answer for half of the limit"),
        pytest.param("hang", 60.0, 29.0, "timeout", id="without an answer for less: the agent had its time"),
        pytest.param("hang", 3600.0, 300.0, "provider_error", id="five minutes are long whatever the limit"),
        pytest.param("hang", 3600.0, 299.0, "timeout", id="just less than five minutes"),
        pytest.param("in-a-message", 60.0, 60.0, "timeout", id="the model was answering"),
        pytest.param("between-messages", 60.0, 60.0, "timeout", id="a tool was running"),
        pytest.param("ok", 60.0, 60.0, "timeout", id="it said its result, and did not end"),
        pytest.param("retrying", 60.0, 0.0, "provider_error", id="a request was being repeated"),
    ],
)
def test_the_time_limit_is_the_agents_unless_the_provider_kept_it_waiting(
    name: str, limit: float, silent: float, outcome: str
) -> None:
    found = at_the_limit(name, limit, silent)
    assert (found[0].value, found[2]) == (outcome, outcome == "provider_error")
    assert f"limit of {limit:g} s" in found[1]


def test_the_reasons_at_the_limit_say_why_it_was_not_the_agent() -> None:
    assert at_the_limit("hang", 60.0, 45.0)[1] == ("at the limit of 60 s a request had been without an answer for 45 s")
    assert at_the_limit("retrying", 60.0, 0.0)[1] == (
        "at the limit of 60 s a request was still being repeated: 529 overloaded"
    )


def test_a_first_request_without_an_answer_is_counted_from_the_start(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"seconds": 10.0, "limit": 10.0, "started_at": 1e9, "timed_out": True}
    assert decide_events(tmp_path, INIT, REQUESTING, **limits) == (
        Outcome.PROVIDER_ERROR, "at the limit of 10 s a request had been without an answer for 10 s", True,
    )  # fmt: skip
    assert decide_events(tmp_path, INIT, **limits)[0] is Outcome.TIMEOUT, "no request went out"


@pytest.mark.parametrize(
    ("lines", "stderr", "reason"),
    [
        pytest.param([], "command not found", "the CLI did not start (exit code 1): command not found", id="no start"),
        pytest.param([], "", "the CLI did not start (exit code 1): it said nothing", id="silent"),
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
        pytest.param({"is_error": True, "api_error_status": 401}, "provider_error", False, id="401"),
        pytest.param({"is_error": True, "api_error_status": 403}, "provider_error", False, id="403"),
        pytest.param({"is_error": True, "api_error_status": 404}, "provider_error", False, id="404"),
        pytest.param({"is_error": True, "api_error_status": 400}, "agent_error", False, id="400"),
        pytest.param({"is_error": True, "api_error_status": 413}, "agent_error", False, id="413"),
        pytest.param({"is_error": True, "api_error_status": 408}, "provider_error", True, id="408"),
        pytest.param({"is_error": True, "api_error_status": 502}, "provider_error", True, id="502"),
        pytest.param({"subtype": "error_during_execution", "is_error": True}, "agent_error", False, id="another"),
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
        ("authentication_failed", "provider_error", False),
        ("billing_error", "provider_error", True),
        ("rate_limit", "provider_error", True),
        ("server_error", "provider_error", True),
        ("overloaded", "provider_error", True),
        ("unknown", "provider_error", True),
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
