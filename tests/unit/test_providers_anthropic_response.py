"""Facts that an answer states of itself, however it is cut."""

import json

import pytest

from scylla_gha.model.traffic import Tokens
from scylla_gha.providers.anthropic.response import MessageUsage

START = {"type": "message_start", "message": {"usage": {"input_tokens": 9, "cache_read_input_tokens": 8,
         "cache_creation_input_tokens": 7, "output_tokens": 1,
         "cache_creation": {"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 4}}}}  # fmt: skip
TEXT = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": '"type":"message_stop"'}}
DELTA = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 6}}
STOP = {"type": "message_stop"}
TOKENS = Tokens(input=9, output=6, cache_read=8, cache_write_5m=4, cache_write_1h=3)


def stream(*events: object, end: str = "\n") -> bytes:
    return "".join(f"event: x{end}data: {json.dumps(event)}{end}{end}" for event in events).encode()


def metered(data: bytes, size: int = 10_000, *, streamed: bool = True) -> MessageUsage:
    meter = MessageUsage(streamed=streamed)
    for at in range(0, len(data), size):
        meter.feed(data[at : at + size])
    meter.end()
    return meter


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_is_read_however_it_is_cut(size: int, end: str) -> None:
    meter = metered(stream(START, TEXT, {"type": "ping"}, DELTA, STOP, end=end), size)
    assert (meter.tokens, meter.complete, meter.error) == (TOKENS, True, None)


@pytest.mark.parametrize(
    ("events", "complete"),
    [([START, TEXT], False), ([START, TEXT, DELTA], False), ([START, TEXT, STOP], True), ([TEXT, DELTA, STOP], True),
     ([], False), ([[], "x", 3, {"type": "message_start", "message": 3}], False),
     ([{"type": "message_delta", "usage": []}], False)],
)  # fmt: skip
def test_what_was_not_said_is_unknown(events: list[object], complete: bool) -> None:
    meter = metered(stream(*events))
    assert (meter.tokens, meter.complete) == (None, complete)


def test_an_error_in_the_stream_is_named() -> None:
    meter = metered(stream(START, {"type": "error", "error": {"type": "overloaded_error"}}))
    assert (meter.error, meter.tokens) == ("overloaded_error", None)


def test_an_overlong_line_is_passed_over() -> None:
    long = b"data: " + b"x" * 9_000_000 + b"\n\n"
    assert metered(stream(START) + long + stream(DELTA, STOP), 100_000).tokens == TOKENS


def test_an_answer_in_one_piece() -> None:
    whole = json.dumps({"type": "message", "usage": {**START["message"]["usage"], "output_tokens": 6}}).encode()  # type: ignore[index]
    assert metered(whole, 5, streamed=False).tokens == TOKENS
    assert metered(whole[:-9], 5, streamed=False).tokens is None
    assert metered(b'{"type":"error","error":{"type":"api_error"}}', streamed=False).error == "api_error"
    assert metered(b"x" * 5_000_000, 1_000_000, streamed=False).tokens is None


@pytest.mark.parametrize(("stated", "count"), [
    ("7", 7), ("7.0", 7), ("0", 0), ("7e0", 7), ("null", None),
    ("7.5", None), ("-7", None), ('"7"', None), ("true", None), ("1e300", None), ("NaN", None),
    ("1e999", None), ("[7]", None),
])  # fmt: skip
@pytest.mark.parametrize("streamed", [True, False])
def test_a_count_is_a_whole_number_or_unknown(stated: str, count: int | None, streamed: bool) -> None:
    usage = b'{"input_tokens": 9, "output_tokens": %s}' % stated.encode()
    whole = b'{"type": "message", "usage": %s}' % usage
    events = stream({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}})
    events += b'data: {"type": "message_delta", "usage": {"output_tokens": %s}}\n\n' % stated.encode() + stream(STOP)
    tokens = metered(events if streamed else whole, streamed=streamed).tokens
    assert (tokens and tokens.output) == count


@pytest.mark.parametrize("kind", ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
def test_one_kind_that_is_not_a_count_makes_all_unknown(kind: str) -> None:
    usage = {"input_tokens": 9, "output_tokens": 6, "cache_read_input_tokens": None}
    read = [metered(json.dumps({"usage": {**usage, kind: value}}).encode(), streamed=False).tokens
            for value in (3.0, -3, float("nan"))]  # fmt: skip
    assert read[0] is not None
    assert read[0].prompt == (3 if kind == "input_tokens" else 12)
    assert read[1:] == [None, None]


@pytest.mark.parametrize(
    ("searches", "expected"), [(2.0, (2, False)), (None, (0, False)), (2.5, (0, True)), ("2", (0, True))]
)
def test_searches_that_are_not_a_count_have_no_known_price(searches: object, expected: tuple[int, bool]) -> None:
    usage = {"input_tokens": 9, "output_tokens": 6, "server_tool_use": {"web_search_requests": searches}}
    use = metered(json.dumps({"usage": usage}).encode(), streamed=False).use
    assert (use.searches, use.unpriced) == expected
