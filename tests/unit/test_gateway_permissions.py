"""Limits of a session: turns of its main conversation, requests and tokens."""

import json
from dataclasses import replace
from typing import Any

import pytest

from scylla_gha.gateway.budget import Conversation, TokenCounter
from scylla_gha.model.traffic import Tokens
from scylla_gha.providers.anthropic.request import parse_request
from scylla_gha.providers.base import ConversationDigests
from tests.support.provider import Body

CACHED = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def digests(
    first: str = "Do it", *later: Any, system: str = "main", session: str | None = "one", **more: Any
) -> ConversationDigests:
    """Of a request as Claude Code writes it: the last message is marked for the cache."""
    messages = [{"role": "user", "content": [text("reminder"), text(first, **({} if later else CACHED))]}, *later]
    billing = text(f"x-anthropic-billing-header: {len(messages)}")
    body = {"model": "m", "system": [billing, text(system, **CACHED)], "messages": messages, **more}
    body |= {"metadata": {"user_id": json.dumps({"session_id": session})}} if session else {}
    return parse_request(json.dumps(body).encode(), bytes).conversation


ANSWER = {"role": "assistant", "content": "I do."}


@pytest.mark.parametrize(
    ("other", "turn"),
    [
        pytest.param(digests("Do it", ANSWER), 2, id="the same conversation goes on"),
        pytest.param(digests("Do it", stream=True, max_tokens=5), 1, id="the same is asked again in another form"),
        pytest.param(digests("So far: ...", ANSWER), 2, id="the history was compacted"),
        pytest.param(digests("Do it", ANSWER, system="main, and a server's words"), 2, id="a server came late"),
        pytest.param(digests("Do a part", system="sub-agent"), None, id="a sub-agent"),
        pytest.param(digests("Do more", session="two"), None, id="another process"),
        pytest.param(digests("Do more", session=None), None, id="a client that does not name its session"),
    ],
)
def test_a_turn_is_a_distinct_request_of_the_conversation_that_came_first(
    other: ConversationDigests, turn: int | None
) -> None:
    conversation = Conversation()
    assert conversation.count(digests()) == (1, None)
    assert conversation.count(other) == (turn, None)
    assert conversation.requests == 2


def test_a_probe_is_a_request_and_no_turn() -> None:
    conversation = Conversation(turn_limit=1, request_limit=2)
    assert conversation.count(None) == (None, None)
    assert conversation.count(digests()) == (1, None)
    turn, refusal = conversation.count(None)
    assert (turn, refusal.error if refusal else None) == (None, "budget_exceeded:trial_requests")


def test_a_plain_clients_messages_are_told_apart_by_their_text() -> None:
    conversation = Conversation(turn_limit=1)
    plain = [parse_request(json.dumps({"model": "m", "messages": messages}).encode(), bytes).conversation
             for messages in ([{"role": "user", "content": "a"}], [{"role": "user", "content": [text("a")]}, ANSWER],
                           [{"role": "user", "content": "b"}], [], None)]  # fmt: skip
    counted = [conversation.count(request) for request in plain]
    assert [turn for turn, _ in counted] == [1, 2, None, None, None]
    assert [refusal.error if refusal else None for _, refusal in counted][:3] == \
        [None, "budget_exceeded:trial_turns", None]  # fmt: skip


def test_tokens_of_all_kinds_are_counted_until_the_budget_is_spent() -> None:
    counter = TokenCounter(100)
    counter.add(Tokens(input=10, output=20, cache_read=30, cache_write_5m=19, cache_write_1h=20), 0)
    assert (counter.spent, counter.refusal()) == (99, None)
    counter.add(None, 30)
    assert counter.spent == 109, "an answer of unknown length counts with a guess of its request"
    refusal = counter.refusal()
    assert refusal is not None
    assert refusal.error == "budget_exceeded:trial_tokens"
    assert "the limit of 100 tokens of this key is reached (109 so far)" in refusal.message
    assert TokenCounter(None, 10**9).refusal() is None


def test_a_client_that_leaves_out_an_answer_without_a_call_stays_in_its_conversation() -> None:
    conversation = Conversation(turn_limit=2)
    contents = ["a", [text("a"), text("Use a tool")], [text("b"), text("a")], [text("a"), text("Use it, please")]]
    asked = [{"model": "m", "messages": [{"role": "user", "content": content}]} for content in contents]
    counts = [conversation.count(parse_request(json.dumps(body).encode(), bytes).conversation) for body in asked]
    assert [turn for turn, _ in counts] == [1, 2, None, 3]
    assert counts[-1][1] is not None, "the limit of turns holds"


def test_a_turn_that_is_sent_again_without_an_end_is_refused() -> None:
    conversation = Conversation()
    refusals = [conversation.count(digests())[1] for _ in range(42)]
    assert [refusal.error if refusal else None for refusal in refusals[38:]] == [None, None, *["repeated_request"] * 2]
    assert conversation.count(None) == (None, None), "probes belong to no turn"


def test_another_conversation_is_refused_only_if_its_request_fails_again_and_again() -> None:
    conversation = Conversation()
    conversation.count(digests())
    other = replace(digests(), opening=b"other", session=b"other", messages=b"other")
    for _ in range(100):
        assert conversation.count(other) == (None, None), "each was answered"
        conversation.answered(other, is_whole=True)
    for _ in range(40):
        assert conversation.count(other) == (None, None)
        conversation.answered(other, is_whole=False)
    refusal = conversation.count(other)[1]
    assert refusal is not None
    assert refusal.error == "repeated_request"
    conversation.answered(other, is_whole=True)
    assert conversation.count(other) == (None, None)


def test_similar_requests_are_refused_after_a_hundred_failures_in_a_row() -> None:
    conversation = Conversation()
    for number in range(150):
        asked = replace(digests(), messages=str(number).encode())
        assert conversation.count(asked)[1] is None
        conversation.answered(asked, is_whole=number == 49)
    refusal = conversation.count(replace(digests(), messages=b"next"))[1]
    assert refusal is not None
    assert refusal.error == "failing_requests"
