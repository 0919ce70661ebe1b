"""Limits of what a session can spend and reach, however it asks: attacks on the gateway, with one that bills all.

The scripted provider bills each request at its maximum: a token for two bytes of its body, and all of `max_tokens`.
"""

import contextlib
import functools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import (
    EACH,
    MODELS,
    PRICE,
    Host,
    ask,
    at_once,
    connect,
    hosted,
    question,
    send,
    shared,
    until,
)
from tests.support.provider import Body, Provider, Say, serve

ASKED = 32_000  # tokens, as Claude Code asks for
WORST = ASKED * 10 / 1e6  # USD of such an answer of `dear`, without its prompt


def billed(body: Body, **more: Any) -> Say:
    return Say("x" * 100, output_tokens=body["max_tokens"], usage={"input_tokens": len(json.dumps(body)) // 2}, **more)


def bill(provider: Provider) -> float:
    """Return what the provider asks for all requests that it was sent, in USD."""
    tokens = [(len(raw) // 2, int(body["max_tokens"])) for raw, body in zip(provider.raw, provider.requests)]  # noqa: B905 one may be coming
    return sum(prompt * 2 / 1e6 + answer * 10 / 1e6 for prompt, answer in tokens)


def long_question(number: int = 0, **more: Any) -> Body:
    return question(f"{number}: go on", **{"max_tokens": ASKED, **more})


@pytest.mark.parametrize("scope", ["trial", "role", "experiment"])
def test_parallel_requests_cannot_exceed_a_budget(tmp_path: Path, scope: str) -> None:
    limits: dict[str, Any] = {"role": {"role_usd": {"agent": 1.0}}, "experiment": {"experiment_usd": 1.0}}
    with serve(billed) as provider, hosted(tmp_path, provider.url, **limits.get(scope, {})) as host:
        if scope == "trial":
            sessions = [host.open(budget_usd=1.0)]
        else:
            sessions = [host.open(cell=f"cell-{number}") for number in range(4)]
        calls = [
            functools.partial(ask, sessions[number % len(sessions)], long_question(number)) for number in range(16)
        ]
        replies = at_once(calls)
        assert 1.0 - WORST < bill(provider) <= 1.0
    assert {reply.status for reply in replies} == {200, 403}
    refused = next(reply for reply in replies if reply.status == 403)
    whose = {"trial": "this key", "role": "keys of this kind (agent)", "experiment": "this account"}[scope]
    assert f"the spend limit of $1.00 of {whose} is reached" in refused.error["message"]


def test_answers_that_are_never_read_stay_reserved(tmp_path: Path) -> None:
    """60 clients that do not read: what they may cost is set aside, and is spent when they are gone."""
    with serve(lambda body: billed(body, pause=600)) as provider, \
            hosted(tmp_path, provider.url, drain_seconds=0) as host:  # fmt: skip
        session = host.open(budget_usd=1.0)
        clients = [connect(session) for _ in range(60)]
        with contextlib.ExitStack() as stack:
            for number, client in enumerate(clients):
                stack.callback(client.close)
                send(client, session, long_question(number))
            until(lambda: bill(provider) > 1.0 - WORST)
            assert bill(provider) <= 1.0
        made = host.gateway.close(session)
        again = host.open(budget_usd=1.0)
        assert ask(again, long_question()).status == 403, "who left has paid what was reserved"
        assert bill(provider) <= 1.0
        provider.ended.set()
    assert made.usage.usd is None, "nobody knows what they cost"
    assert 1.0 - WORST < made.charged_usd <= 1.0 + 1e-9


def test_an_answer_that_does_not_fit_beside_others_waits_for_them(tmp_path: Path) -> None:
    with shared(tmp_path, lambda body: billed(body, pause=600 if "0: go on" in str(body) else 0)) as (provider, host):
        session = host.open(budget_usd=0.36 + WORST)
        first = connect(session)
        send(first, session, long_question())
        answer = first.getresponse()
        second = connect(session)
        send(second, session, long_question(1, max_tokens=50_000))
        until(lambda: len(provider.requests) == 2)
        third = connect(session)
        send(third, session, long_question(2))
        third.sock.settimeout(0.7)
        with pytest.raises(TimeoutError):
            third.getresponse()
        assert len(provider.requests) == 2
        provider.ended.set()
        answer.read()
        for client in (first, second, third):
            client.close()
        assert provider.requests[1]["max_tokens"] < 50_000, "lowered to what is left beside the first"


@pytest.mark.parametrize("own", [True, False])
def test_a_wait_for_money_that_its_own_session_has_in_flight_is_no_silence_of_the_provider(
    tmp_path: Path, own: bool
) -> None:
    with serve(lambda body: billed(body, pause=600 if "0: go on" in str(body) else 0)) as provider, \
            hosted(tmp_path, provider.url, experiment_usd=0.02 + WORST, drain_seconds=0) as host:  # fmt: skip
        main, other = host.open("main"), host.open("other")
        assert ask(main, question("the task")).status == 200
        with contextlib.closing(connect(main if own else other)) as large, contextlib.closing(connect(main)) as waiting:
            send(large, main if own else other, long_question())
            large.getresponse()
            send(waiting, main, question("the task", max_tokens=8_192))
            waiting.sock.settimeout(0.7)
            with pytest.raises(TimeoutError):
                waiting.getresponse()
            silent = host.gateway.close(main).evidence.silent_since
        provider.ended.set()
    assert (silent is None) is own


def test_a_request_that_waits_for_the_shared_budget_does_not_hold_up_other_trials(tmp_path: Path) -> None:
    models = tuple(model.model_copy(update={"context_tokens": 1_000_000}) for model in MODELS)
    with serve(lambda body: billed(body, pause=600 if "0: go on" in str(body) else 0)) as provider, \
            hosted(tmp_path, provider.url, models=models, experiment_usd=0.36 + WORST) as host:  # fmt: skip
        greedy = host.open("greedy")
        with contextlib.closing(connect(greedy)) as slow, contextlib.closing(connect(greedy)) as large:
            send(slow, greedy, long_question())
            slow.getresponse()
            send(large, greedy, long_question(1, messages=[{"role": "user", "content": "x" * 300_000}]))
            large.sock.settimeout(0.7)
            with pytest.raises(TimeoutError):
                large.getresponse()
            assert ask(host.open("neighbour"), question()).status == 200
            assert len(provider.requests) == 2, "the large one still waits"
        provider.ended.set()


def test_max_tokens_are_lowered_to_what_is_left_and_nothing_else_changes(tmp_path: Path) -> None:
    asked = long_question(thinking={"type": "enabled", "budget_tokens": 31_000})
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url, record=tmp_path / "recording") as host:
        session = host.open(budget_usd=0.1)
        assert ask(session, long_question()).status == 200
        assert ask(session, asked).status == 200
        full = host.open(cell="full")
        ask(full, long_question())
        host.gateway.close(session)
    plain, thinking = provider.raw[:2]
    lowered = provider.requests[0]["max_tokens"]
    assert 8_192 <= lowered < 10_000
    assert plain == json.dumps(long_question()).replace(f'"max_tokens": {ASKED}', f'"max_tokens":{lowered}').encode()
    assert 1_024 <= json.loads(thinking)["thinking"]["budget_tokens"] < json.loads(thinking)["max_tokens"] < ASKED
    assert [each.lowered for each in host.asked()] == [(ASKED, lowered), (ASKED, provider.requests[1]["max_tokens"])]
    assert host.asked()[0].digest == host.asked("full")[0].digest, "a recording is found by what was asked"
    assert host.asked("full")[0].lowered is None


def test_below_the_floor_nothing_goes_out(tmp_path: Path) -> None:
    with serve(billed) as provider, hosted(tmp_path, provider.url) as host:
        refused = ask(host.open(budget_usd=0.05), long_question())
        assert (refused.status, provider.requests) == (403, [])
        assert "may cost $0.08" in refused.error["message"]
        assert "with an answer of 8,192 tokens" in refused.error["message"]
        assert ask(host.open(cell="short", budget_usd=0.05), question(max_tokens=4_000)).status == 200


def test_pictures_count_at_their_largest(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    body = question(max_tokens=1)
    body["messages"][0]["content"] = [{"type": "tool_result", "content": [picture]}] * 5
    models = tuple(model.model_copy(update={"context_tokens": 1_000_000}) for model in MODELS)
    with shared(tmp_path, billed, models=models) as (provider, host):
        assert ask(host.open(budget_usd=0.045), body).status == 403  # 5 x 4,784 tokens at $2: $0.048
        assert ask(host.open(cell="b", budget_usd=0.06), body).status == 200
        assert provider.requests == [body]


@pytest.mark.parametrize(
    ("more", "usd", "charged"),
    [
        pytest.param({"server_tool_use": {"web_search_requests": 500}}, EACH + 5.0, None, id="searches"),
        pytest.param({"service_tier": "priority"}, None, 6 * EACH, id="priority tier"),
        pytest.param({"speed": "fast"}, 2 * EACH, None, id="fast mode with a price"),
        pytest.param({"speed": "warp"}, None, 6 * EACH, id="unknown speed"),
        pytest.param({"inference_geo": "us"}, 1.1 * EACH, None, id="region"),
        pytest.param({"server_tool_use": {"code_execution_requests": 1}}, None, 6 * EACH, id="unpriced tool"),
        pytest.param({"iterations": [{"type": "message"}, {"type": "advisor_message", "output_tokens": 9}]}, None,
                     6 * EACH, id="another model"),
        pytest.param({"iterations": [{"type": "compaction", "input_tokens": 100, "output_tokens": 25}]}, 2 * EACH,
                     None, id="compaction"),
        pytest.param({"service_tier": "standard", "speed": "standard", "inference_geo": "global"}, EACH, None,
                     id="as usual"),
    ],
)  # fmt: skip
def test_what_an_answer_costs_beside_its_tokens(
    tmp_path: Path, more: Body, usd: float | None, charged: float | None
) -> None:
    models = (MODELS[0].model_copy(update={"price": PRICE.model_copy(update={"fast": 2.0})}),)
    with shared(tmp_path, lambda _: Say("Hi.", usage=more), models=models) as (_, host):
        session = host.open()
        ask(session, question())
        made = host.gateway.close(session)
    (answer,) = host.answered()
    assert answer.usd == pytest.approx(usd)
    assert answer.charged_usd == pytest.approx(charged)
    assert made.charged_usd == pytest.approx(usd if usd is not None else charged)


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        pytest.param({"model": "stubborn"}, "model_not_allowed", "may not use the model stubborn; it may use dear",
                     id="model"),
        pytest.param({"fallbacks": [{"model": "stubborn"}]}, "model_not_allowed", "stubborn", id="fallback"),
        pytest.param({"fallbacks": "default"}, "model_not_allowed", "default", id="default fallback"),
        *(pytest.param({"tools": [{"type": kind, "name": "x"}]}, "server_tool_not_allowed", tool, id=tool)
          for kind, tool in (("web_search_20260318", "web_search"), ("web_fetch_20250910", "web_fetch"),
                             ("code_execution_20260521", "code_execution"), ("mcp_toolset", "mcp_toolset"),
                             ("advisor_20260301", "advisor"), ("what_comes_next", "what_comes_next"))),
        pytest.param({"mcp_servers": [{"type": "url", "url": "https://x.example"}]}, "server_tool_not_allowed",
                     "mcp_servers", id="connector"),
        pytest.param({"container": "c"}, "server_tool_not_allowed", "container", id="container"),
        pytest.param({"messages": [{"role": "user", "content": [{"type": "image", "source": {
            "type": "url", "url": "https://x.example/leak"}}]}]}, "server_tool_not_allowed", "url_source", id="URL"),
        pytest.param({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{
            "type": "document", "source": {"type": "file", "file_id": "f"}}]}]}]}, "server_tool_not_allowed",
            "file_source", id="file"),
        pytest.param({"messages": [{"role": "user", "content": [{"type": "tool_addition", "tool": {
            "type": "tool_definition", "definition": {"type": "web_fetch_20250910"}}}]}]}, "server_tool_not_allowed",
            "web_fetch", id="tool in a message"),
        pytest.param({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"},
            {"type": "compact_20260112"}]}}, "context_edit_not_allowed", "context edits: compact_20260112",
            id="compaction by the provider"),
        pytest.param({"compaction": {"enabled": True}}, "context_edit_not_allowed", "compaction", id="compaction"),
        pytest.param({"context_management": {"edits": [{}]}}, "context_edit_not_allowed", "None", id="unnamed edit"),
        pytest.param({"speed": "fast"}, "unknown_price", "speed fast", id="fast mode without a price"),
        pytest.param({"service_tier": "priority"}, "unknown_price", "service tier priority", id="tier"),
    ],
)  # fmt: skip
def test_a_session_reaches_no_further_than_it_may(tmp_path: Path, more: Body, error: str, said: str) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (provider, host):
        session = host.open(models=("dear",))
        refused = ask(session, {**question(), **more})
        clearing = {"edits": [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}]}
        tools = [{"type": "bash_20250124", "name": "bash"}, {"name": "own"}]
        assert ask(session, question(tools=tools, context_management=clearing)).status == 200
        assert len(provider.requests) == 1
    assert (refused.status, refused.error["type"]) == (403, "permission_error")
    assert said in refused.error["message"]
    assert [each.error for each in host.answered()] == [error, None]


def test_a_declared_tool_of_the_provider_is_reserved_with_its_uses(tmp_path: Path) -> None:
    search = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}]
    with shared(tmp_path, lambda _: Say("Hi.")) as (provider, host):
        assert ask(host.open(server_tools=("web_search",), budget_usd=5.0), question(tools=search)).status == 200
        (asked,) = host.asked()
        assert asked.reserved_usd is not None
        assert asked.reserved_usd > 8 * 0.01 + 8 * 10_000 * 2 / 1e6
        assert provider.requests[0]["tools"] == search


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "cheap", "model": "dear", "max_tokens": 1, "messages": []}',
        b'{"model":"dear","max_tokens":1,"max_tokens":9,"messages":[]}',
        b'{"model":"dear","max_tokens":1,"m\\u006fdel":"cheap","messages":[]}',
        b'{"model":"dear","max_tokens":1,"messages":[{"role":"user","role":"system","content":"x"}]}',
        b'{"model":"dear","max_tokens":1,"messages":' + b"[" * 900 + b"]" * 900 + b', "x":1, "x":2}',
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, body: bytes) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (provider, host):
        refused = ask(host.open(), body)
        assert provider.requests == []
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")


def test_agents_cannot_spend_what_is_kept_for_judges(tmp_path: Path) -> None:
    def calls(host: Host, cell: str, role: Any) -> int:
        return ask(host.open(cell, role), long_question()).status

    with serve(billed) as provider, hosted(tmp_path, provider.url, experiment_usd=1.0) as host, \
            host.gateway.reserve_for_judges("one", 0.5):  # fmt: skip
        assert [calls(host, "two", "agent") for _ in range(3)] == [200, 200, 403]
        assert calls(host, "two", "judge") == 403, "not even other judges"
        assert calls(host, "one", "judge") == 200
        assert bill(provider) <= 1.0
