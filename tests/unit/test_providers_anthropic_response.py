"""Facts that an answer states of itself, however it is cut."""

import json

import pytest

from scylla_gha.model.traffic import Tokens
from scylla_gha.providers.anthropic.response import MessageUsage
from scylla_gha.providers.base import ToolRequest

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
    meter = MessageUsage(streamed=streamed, reads=lambda tool: tool == "Skill")
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


def tool_use(index: int, tool: str, *pieces: str, call: str = "", whole: object = None) -> list[object]:
    block = {"type": "tool_use", "id": call or f"toolu_{index}", "name": tool, "input": whole or {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


CALLS = [*tool_use(1, "Skill", "", '{"sk', 'ill": "ta', 'lly"}'), *tool_use(2, "Write", '{"file_path": "x"}')]


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_calls_are_read_however_they_are_cut_and_arguments_only_if_asked_for(size: int, end: str) -> None:
    meter = metered(stream(START, TEXT, *CALLS, DELTA, STOP, end=end), size)
    assert meter.calls == (ToolRequest("toolu_1", "Skill", {"skill": "tally"}), ToolRequest("toolu_2", "Write", {}))
    assert (meter.tokens, meter.malformed) == (TOKENS, False)


@pytest.mark.parametrize("last", [[], [DELTA], [{"type": "error", "error": {"type": "overloaded_error"}}, DELTA, STOP]])
def test_an_answer_that_is_not_whole_has_no_calls(last: list[object]) -> None:
    assert metered(stream(START, *CALLS, *last)).calls == ()


@pytest.mark.parametrize(
    ("events", "arguments"),
    [
        (tool_use(0, "Skill", whole={"skill": "tally"}), {"skill": "tally"}),  # as some servers send it
        (tool_use(0, "Skill", '{"skill": "ta'), {}),  # cut by max_tokens
        (tool_use(0, "Skill", '["tally"]'), {}),
        (tool_use(0, "Skill", '{"skill": "', *["x" * 1_000] * 300, '"}'), {}),
    ],
)
def test_arguments_that_cannot_be_read_are_none(events: list[object], arguments: dict[str, str]) -> None:
    assert metered(stream(START, *events, DELTA, STOP)).calls == (ToolRequest("toolu_0", "Skill", arguments),)


def test_calls_of_an_answer_in_one_piece() -> None:
    blocks = [
        {"type": "text", "text": "x"},
        {"type": "tool_use", "id": "a", "name": "Skill", "input": {"skill": "t"}},
        {"type": "server_tool_use", "id": "b", "name": "Skill", "input": {}},
        {"type": "tool_use", "id": 3, "name": "Skill"},
        7,
    ]
    meter = metered(json.dumps({"type": "message", "content": blocks}).encode(), streamed=False)
    assert meter.calls == (ToolRequest("a", "Skill", {"skill": "t"}),)
