"""The gateway's process between a real client and a scripted provider."""

import functools
import http.client
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import EACH, KEY, ask, at_once, connect, hosted, question, send, shared, until
from tests.support.provider import Body, Fail, Hangup, Say, Script, serve


def text_of(stream: bytes) -> str:
    lines = [line[5:] for line in stream.splitlines() if line.startswith(b"data:") and line.endswith(b"}")]
    events = [json.loads(line) for line in lines]
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


def test_a_request_goes_through_unchanged_with_the_real_key(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (provider, host):
        session = host.open()
        raw = json.dumps(question(), indent=3).encode()
        reply = ask(session, raw, anthropic_beta="a,b", anthropic_version="2023-06-01", accept_encoding="gzip, br")
        summary = host.gateway.close(session)
    assert (reply.status, reply.headers["content-type"], text_of(reply.body)) == (200, "text/event-stream", "Hi.")
    assert (provider.raw, provider.paths, provider.keys) == ([raw], ["/v1/messages?beta=true"], [KEY])
    sent = provider.headers[0]
    assert (sent["anthropic-beta"], sent["anthropic-version"]) == ("a,b", "2023-06-01")
    assert sent["accept-encoding"] == "identity"
    assert session.token not in str(provider.headers)
    assert summary.usage.model_dump() == {
        "input_tokens": 100, "output_tokens": 25, "cache_read_tokens": 0, "cache_write_tokens": 0,
        "usd": pytest.approx(EACH)}  # fmt: skip
    assert (summary.requests, summary.retries, summary.errors) == (1, 0, {})
    assert summary.first_byte_seconds


def test_tokens_by_kind_are_metered_and_priced(tmp_path: Path) -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 300,
             "cache_creation": {"ephemeral_1h_input_tokens": 100, "ephemeral_5m_input_tokens": 200}}  # fmt: skip
    with shared(tmp_path, lambda _: Say("Hi.", usage=usage)) as (_, host):
        session = host.open()
        ask(session, question())
        ask(session, question(stream=False))
        made = host.gateway.close(session)
    (first, second) = host.answered()
    assert first.tokens == second.tokens
    assert first.tokens is not None
    assert first.tokens.model_dump() == {"input": 10, "output": 25, "cache_read": 1000, "cache_write_5m": 200,
                                         "cache_write_1h": 100}  # fmt: skip
    assert first.usd == pytest.approx((10 * 2 + 25 * 10 + 1000 * 0.2 + 200 * 2.5 + 100 * 4) / 1e6)
    assert made.usage.cache_write_tokens == 600


def test_an_unknown_price_is_an_unknown_cost(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (_, host):
        session = host.open()
        ask(session, question(model="new"))
        made = host.gateway.close(session)
    assert (made.usage.usd, made.usage.output_tokens, made.known_usd) == (None, 25, 0)


def test_token_counts_are_passed_on_and_cost_nothing(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url, experiment_usd=1.0) as host:
        session = host.open()
        reply = ask(session, question(model="new"), "/v1/messages/count_tokens")
        made = host.gateway.close(session)
    assert json.loads(reply.body) == {"input_tokens": 42}
    assert (made.requests, made.usage.usd, made.last_number) == (0, 0, 1)


def test_what_is_configured_is_put_in_where_the_model_takes_it(tmp_path: Path) -> None:
    knobs = {"agent": {"temperature": 0.5, "max_tokens": 7}}
    with shared(tmp_path, lambda _: Say("Hi."), knobs=knobs) as (provider, host):
        session, judge = host.open(), host.open(role="judge")
        for body in (question(), question(model="stubborn"), question(thinking={"type": "adaptive"})):
            ask(session, body)
        ask(judge, question())
        host.gateway.close(session)
    sent = [(body.get("temperature"), body["max_tokens"]) for body in provider.requests]
    assert sent == [(0.5, 7), (None, 7), (None, 7), (None, 25)]
    assert [each.adjusted for each in host.asked()] == [("temperature", "max_tokens"), ("max_tokens",), ("max_tokens",)]
    assert [each.unadjusted for each in host.asked()] == [(), ("temperature",), ("temperature",)]


def test_only_an_open_sessions_key_opens(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (provider, host):
        session = host.open()
        stranger = ask(session, question(), x_api_key="sk-scylla-somebody-else")
        bearer = ask(session, question(), x_api_key="", authorization=f"Bearer {session.token}")
        host.gateway.close(session)
        late = ask(session, question())
        assert len(provider.requests) == 1
    assert [stranger.status, bearer.status, late.status] == [401, 200, 401]
    assert stranger.error["type"] == "authentication_error"
    assert "invalid x-api-key" in stranger.error["message"]


@pytest.mark.parametrize(("method", "path", "status"), [
    ("HEAD", "/", 200), ("GET", "/", 200), ("GET", "/v1/models", 404), ("POST", "/v1/complete", 404),
    ("POST", "/control/sessions", 404), ("DELETE", "/control/sessions/x", 404),
])  # fmt: skip
def test_the_rest_of_the_house_is_closed(tmp_path: Path, method: str, path: str, status: int) -> None:
    with shared(tmp_path) as (_, host):
        connection = connect(host.open())
        connection.request(method, path)
        assert connection.getresponse().status == status
        connection.close()


def test_what_is_no_request_is_said_so(tmp_path: Path) -> None:
    with shared(tmp_path) as (_, host):
        session = host.open()
        replies = [ask(session, body) for body in (b"", b"{", b"[]", b'{"model": 1}')]
    assert [(reply.status, reply.error["type"]) for reply in replies] == [(400, "invalid_request_error")] * 4
    assert host.asked() == []


def scripted(*answers: Any) -> Script:
    """These answers in turn, then "Hi."."""
    left = list(answers)
    return lambda _: left.pop(0) if left else Say("Hi.")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 529])
def test_the_providers_errors_reach_the_client_and_cost_nothing(tmp_path: Path, status: int) -> None:
    failing = Fail(status, {"request-id": "r1"}, f"key {KEY} is")
    with shared(tmp_path, scripted(failing)) as (_, host):
        session = host.open()
        refused, answered = ask(session, question()), ask(session, question())
        made = host.gateway.close(session)
    assert (refused.status, refused.error["type"], answered.status) == (status, "scripted_error", 200)
    assert refused.error["message"] == f"key [redacted] is {status}"
    assert refused.headers["request-id"] == "r1"
    assert (made.requests, made.retries, made.errors) == (2, 1, {"scripted_error": 1})
    assert made.usage.usd == pytest.approx(EACH)


@pytest.mark.parametrize(
    ("answer", "whole", "usd"),
    [
        pytest.param(Say("I wri", cut=True), False, None, id="cut in the middle"),
        pytest.param(Say("Hi.", garbage=b"data: {half\n\nnonsense\n\n:\n\n"), True, EACH, id="malformed events"),
        pytest.param(Say("Hi.", garbage=b'data: {"type":"error","error":{"type":"overloaded_error"}}\n\n'),
                     True, EACH, id="an error event"),
        pytest.param(Say("Hi.", output_tokens=None), True, None, id="it never says how long it was"),
        pytest.param(Say("Hi.", wait=0.5), True, EACH, id="slow first byte"),
        pytest.param(Say("Hi.", pause=0.5), True, EACH, id="slow in the middle"),
    ],
)  # fmt: skip
def test_streams_arrive_as_they_are(tmp_path: Path, answer: Say, whole: bool, usd: float | None) -> None:
    with shared(tmp_path, lambda _: answer) as (_, host):
        session = host.open()
        reply = ask(session, question())
        made = host.gateway.close(session)
        (entry,) = host.answered()
    assert (reply.whole, text_of(reply.body), entry.complete) == (whole, answer.text, whole)
    assert answer.garbage in reply.body
    assert made.usage.usd == (None if usd is None else pytest.approx(usd))
    assert entry.first_byte_seconds is not None
    assert entry.first_byte_seconds >= answer.wait
    assert made.generation_seconds >= 0.9 * answer.pause, "but for what its first byte was late"


def test_a_first_event_does_not_wait_for_the_rest(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.", pause=600), drain_seconds=0) as (provider, host):
        session = host.open()
        connection = connect(session)
        send(connection, session, question())
        answer = connection.getresponse()
        assert answer.readline() == b"event: message_start\n"
        connection.close()
        host.gateway.close(session)
        provider.ended.set()


@pytest.mark.parametrize(("url", "usd"), [("closed", 0.0), ("hangup", None)])
def test_a_provider_that_cannot_be_reached_is_said_so(tmp_path: Path, url: str, usd: float | None) -> None:
    with serve(lambda _: Hangup()) as provider:
        upstream = provider.url if url == "hangup" else "http://127.0.0.1:9"
        with hosted(tmp_path, upstream) as host:
            session = host.open()
            reply = ask(session, question())
            made = host.gateway.close(session)
    assert reply.status == 502
    assert f"{upstream} cannot be reached" in reply.error["message"]
    assert (made.usage.usd, made.errors) == (usd, {"unreachable": 1})


def test_what_a_client_left_behind_is_read_to_its_end(tmp_path: Path) -> None:
    """It is paid for, and its end tells how much."""
    with shared(tmp_path, lambda _: Say("Hi.", pause=1.0)) as (_, host):
        session = host.open()
        connection = connect(session)
        send(connection, session, question())
        connection.getresponse().readline()
        connection.close()
        made = host.gateway.close(session)
    assert made.usage.usd == pytest.approx(EACH)


def test_a_session_does_not_wait_for_ever(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.", pause=600)) as provider, hosted(tmp_path, provider.url, drain_seconds=0.3) as host:
        session = host.open()
        connection = connect(session)
        send(connection, session, question())
        answer = connection.getresponse()
        began = time.monotonic()
        made = host.gateway.close(session)
        assert time.monotonic() - began < 60
        with pytest.raises(http.client.IncompleteRead):
            answer.read()
        connection.close()
        provider.ended.set()
    assert (made.usage.usd, made.unanswered, made.requests) == (None, 0, 1)


@pytest.mark.parametrize("streams", [16, 200])
def test_many_streams_at_once(tmp_path: Path, streams: int) -> None:
    def script(body: Body) -> Say:
        return Say(body["messages"][0]["content"], pieces=20, pause=0.2)

    with shared(tmp_path, script) as (_, host):
        sessions = [host.open(cell=f"cell-{number % 16}-{number}") for number in range(streams)]
        calls = [functools.partial(ask, session, question(f"{n} " * 50)) for n, session in enumerate(sessions)]
        replies = at_once(calls)
        accounts = [host.gateway.close(session) for session in sessions]
    assert [text_of(reply.body) for reply in replies] == [f"{n} " * 50 for n in range(streams)]
    assert {(each.requests, each.usage.usd) for each in accounts} == {(1, EACH)}


def storm(sessions: int, refusals: int, headers: dict[str, str]) -> Callable[[Body], Say | Fail]:
    """Refuse the first requests by a rate limit, once the first request of each session has come."""
    first, left = threading.Barrier(sessions), [Fail(429, headers)] * refusals
    come = iter(range(sessions))

    def answer(_: Body) -> Say | Fail:
        if next(come, None) is not None:
            first.wait(30)
        return left.pop() if left else Say("Hi.")

    return answer


@pytest.mark.parametrize(
    ("refusals", "headers"), [(20, {"retry-after": "1"}), (20, {"retry-after": "0.2"}), (17, {})], ids=str
)
def test_a_storm_of_rate_limits_loses_no_request(tmp_path: Path, refusals: int, headers: dict[str, str]) -> None:
    with serve(storm(16, refusals, headers)) as provider, hosted(tmp_path, provider.url) as host:
        sessions = [host.open(cell=f"cell-{number}") for number in range(16)]
        replies = at_once([functools.partial(ask, session, question()) for session in sessions])
        accounts = [host.gateway.close(session) for session in sessions]
    assert [reply.status for reply in replies] == [200] * 16
    assert sum(each.retries for each in accounts) == refusals
    assert len(provider.requests) == 16 + refusals
    assert max(each.waited_seconds for each in accounts) > 0.1
    assert all(each.usage.usd == pytest.approx(EACH) for each in accounts)


def test_a_rate_limit_beyond_all_patience_reaches_the_client(tmp_path: Path) -> None:
    with serve(lambda _: Fail(429, {"retry-after": "3600"})) as provider, \
            hosted(tmp_path, provider.url, rate_limit_seconds=5) as host:  # fmt: skip
        session = host.open()
        first, second = ask(session, question()), ask(session, question())
        made = host.gateway.close(session)
    assert (first.status, first.error["type"]) == (429, "scripted_error")
    assert "retry-after" not in first.headers, "a client would wait for an hour more"
    assert (second.status, second.error["type"]) == (429, "rate_limit_error")
    assert "lasts longer than 5 s" in second.error["message"]
    assert len(provider.requests) == 1
    assert (made.refused, made.usage.usd, [each.retries for each in host.answered()]) == (1, 0, [0, 0])


@pytest.mark.parametrize("headers", [
    {"retry-after": "0.1"}, {"retry-after": "Fri, 27 Nov 2026 12:00:01 GMT", "date": "Fri, 27 Nov 2026 12:00:00 GMT"},
], ids=["seconds", "date"])  # fmt: skip
def test_an_overloaded_provider_is_asked_again_only_where_it_says_when(tmp_path: Path, headers: dict[str, str]) -> None:
    script = scripted(Fail(529, headers), Say("Hi."), Fail(529))
    with serve(script) as provider, hosted(tmp_path, provider.url) as host:
        session = host.open()
        assert [ask(session, question()).status for _ in range(2)] == [200, 529]
        until(lambda: len(host.answered()) == 2)
    assert [each.retries for each in host.answered()] == [1, 0]
