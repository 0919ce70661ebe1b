"""The Responses API: what a request is, and what an answer states of itself, however it is cut.

Shapes are those of developers.openai.com/api/docs and of the SDK openai 3.57.0 (2026-11-28); the tools of
Codex are those that Codex 0.169 sends.
"""

import json
import re
from typing import Any

import pytest

from scylla_gha.gateway.recording import PathAliases
from scylla_gha.model.traffic import ModelInfo, Tokens
from scylla_gha.providers.base import InvalidRequestError, ModelRequest, ToolRequest, ToolResult
from scylla_gha.providers.openai import ResponsesStyle, exhausted_seconds
from scylla_gha.providers.openai.responses import ResponseUsage, join_split
from scylla_gha.providers.openai.scripted_responses import events, whole
from scylla_gha.providers.scripted_style import ScriptedAnswer

STYLE = ResponsesStyle()
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "exec_command",
    "arguments": '{"cmd":"ls /w/x"}',
}
BODY: dict[str, Any] = {
    "model": "gpt-5.5",
    "stream": True,
    "store": False,
    "prompt_cache_key": "thread-1",
    "instructions": "Be.",
    "client_metadata": {"x": "1"},
    "include": ["reasoning.encrypted_content"],
    "tools": [
        {"type": "function", "name": "exec_command", "parameters": {}},
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "mcp__clock", "tools": [{"type": "function", "name": "now"}]},
    ],
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
        CALL,
        {"type": "function_call_output", "call_id": "call_1", "output": "a file in /w/x"},
    ],
}
USAGE = {
    "input_tokens": 50,
    "input_tokens_details": {
        "cached_tokens": 20,
        "cache_write_tokens": 10,
        "cache_write_tokens_details": {"ttl_12h_tokens": 4, "ttl_30m_tokens": 6},
    },
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 59,
}
TOKENS = Tokens(input=20, output=9, cache_read=20, cache_write_5m=6, cache_write_1h=4, reasoning=5)


def parsed(body: dict[str, Any], *, path: str = "/v1/responses", **more: Any) -> ModelRequest:
    return STYLE.parse(path, json.dumps({**body, **more}).encode(), PathAliases({"/w": "/name"}).hide)


def stream(*sent: dict[str, Any], end: str = "\n") -> bytes:
    return "".join(f"event: {event['type']}{end}data: {json.dumps(event)}{end}{end}" for event in sent).encode()


def read(data: bytes, size: int = 10_000, *, streamed: bool = True) -> ResponseUsage:
    reader = STYLE.usage_reader(streamed=streamed, reads=lambda tool: tool in {"exec_command", "mcp__clock__now"})
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    reader.end()
    return reader


def ended(status: str, **more: Any) -> dict[str, Any]:
    response = {"object": "response", "status": status, "output": [], "service_tier": "default", "usage": USAGE, **more}
    return {"type": f"response.{status}", "response": response}


def test_a_request_is_known_by_what_it_asks_and_not_by_its_bookkeeping() -> None:
    before = parsed(BODY)
    items = [{**item, "id": f"new_{at}"} for at, item in enumerate(BODY["input"])]
    again = parsed(BODY, prompt_cache_key="thread-2", client_metadata={"y": "2"}, user="u", input=items)
    assert again.digest == before.digest
    changes: list[dict[str, Any]] = [
        {"model": "n"},
        {"instructions": "Do."},
        {"tools": []},
        {"input": BODY["input"][:2]},
    ]
    for change in changes:
        assert parsed(BODY, **change).digest != before.digest
    assert parsed(BODY, path="/v1/responses/input_tokens").digest != before.digest
    assert parsed(BODY, input="Hello").digest == parsed(BODY, input=[{"role": "user", "content": "Hello"}]).digest


def test_an_agents_circumstances_are_left_out_of_the_identity() -> None:
    def timed(seconds: str) -> str:
        output = {"type": "function_call_output", "call_id": "call_1", "output": f"Wall time: {seconds} seconds"}
        body = json.dumps({**BODY, "input": [output]}).encode()
        pattern = re.compile(rb"Wall time: [0-9.]+ seconds")
        return STYLE.parse("/v1/responses", body, bytes, ((pattern, b"Wall time: N seconds"),)).digest

    assert timed("0.1") == timed("7.25")
    assert parsed(BODY, input="Wall time: 1 seconds").digest != parsed(BODY, input="Wall time: 2 seconds").digest


def test_parts_of_a_request_are_counted_and_results_are_found() -> None:
    request = parsed(BODY)
    assert request.characters["system_prompt"] == len("Be.Rules")
    assert request.characters["conversation"] == len("Hello")
    assert request.characters["tool_output"] == len("a file in /name/x")
    assert request.results == (ToolResult("call_1", "a file in /name/x", failed=False),)
    shell = {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "out", "stderr": "err"}]}
    patch = {"type": "apply_patch_call_output", "call_id": "p", "status": "failed", "output": "no"}
    results = parsed(BODY, input=[CALL, shell, patch]).results
    assert results == (ToolResult("c", "out\nerr", failed=False), ToolResult("p", "no", failed=True))
    loaded = {"type": "tool_search_output", "tools": [{"type": "namespace", "name": "n", "tools": [{"name": "find"}]}]}
    assert parsed(BODY, input=[loaded]).loaded_tools == ("find",)


def test_turns_are_of_one_conversation() -> None:
    first, second = parsed(BODY, input=BODY["input"][:2]).conversation, parsed(BODY).conversation
    assert first.opening == second.opening
    assert first.messages != second.messages
    compacted = parsed(BODY, input=[BODY["input"][0], {"role": "user", "content": "Summary"}]).conversation
    assert compacted.opening != first.opening
    assert compacted.session == first.session, "the thread's key is the same"
    other = parsed(BODY, prompt_cache_key="thread-2", input=[{"role": "user", "content": "Search"}]).conversation
    assert (other.opening == first.opening, other.session == first.session) == (False, False)


@pytest.mark.parametrize(
    ("change", "tools"),
    [
        ({}, set()),
        ({"tools": [{"type": "web_search"}, {"type": "web_search_preview_2025_03_11"}]}, {"web_search"}),
        ({"tools": [{"type": "mcp", "server_url": "https://x"}]}, {"mcp"}),
        (
            {"tools": [{"type": "code_interpreter"}, {"type": "file_search"}, {"type": "image_generation"}]},
            {"code_interpreter", "file_search", "image_generation"},
        ),
        ({"tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}, {"mcp"}),
        ({"tools": [{"type": kind} for kind in ("shell", "local_shell", "tool_search", "apply_patch")]}, set()),
        ({"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}, {"shell"}),
        ({"tools": [{"type": "something_new"}]}, {"something_new"}),
        ({"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]}, {"web_search"}),
        ({"previous_response_id": "resp_1"}, {"previous_response_id"}),
        ({"conversation": "c", "prompt": {"id": "p"}, "background": True}, {"conversation", "prompt", "background"}),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, {"item_reference"}),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x/a.png"}]}]},
            {"url_source"},
        ),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]}
                ]
            },
            set(),
        ),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]}, {"file_source"}),
        (
            {
                "input": [
                    {
                        "type": "function_call_output",
                        "call_id": "c",
                        "output": [{"type": "input_file", "file_url": "https://x"}],
                    }
                ]
            },
            {"url_source"},
        ),
    ],
)
def test_what_runs_or_is_held_at_the_provider_is_named(change: dict[str, Any], tools: set[str]) -> None:
    assert parsed(BODY, **change).terms.tools == tools


def test_the_terms_of_cost() -> None:
    terms = parsed(BODY, max_output_tokens=500, service_tier="flex").terms
    assert (terms.max_tokens, terms.use.tier, terms.limitable) == (500, "flex", True)
    assert terms.prompt_tokens >= len(json.dumps(BODY)) // 2
    assert parsed(BODY, service_tier="auto").terms.use.tier == "standard"
    image = {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]}
    assert parsed(BODY, input=[image]).terms.prompt_tokens > 10_000
    file = {"role": "user", "content": [{"type": "input_file", "file_data": "data:application/pdf;base64,AA"}]}
    assert parsed(BODY, input=[file]).terms.prompt_tokens > 10_000_000, "its pages are not known"
    searching = parsed(BODY, tools=[{"type": "web_search"}], max_tool_calls=3).terms
    assert (searching.uses, searching.use.searches) == (3, 3)
    assert parsed(BODY, context_management=[{"type": "compaction"}]).terms.edits == ("compaction",)


def test_a_limit_is_lowered_or_put_in() -> None:
    lowered = STYLE.with_max_tokens(parsed(BODY, max_output_tokens=500), 100)
    assert (json.loads(lowered.body)["max_output_tokens"], lowered.terms.max_tokens) == (100, 100)
    assert json.loads(STYLE.with_max_tokens(parsed(BODY), 100).body)["max_output_tokens"] == 100
    kept = parsed(BODY, max_output_tokens=50)
    assert STYLE.with_max_tokens(kept, 100) is kept
    info = ModelInfo(id="m", provider="openai", context_tokens=9, accepts=("max_tokens",), max_output_tokens=1000)
    settled = STYLE.with_settings(parsed(BODY), {"max_tokens": 900, "temperature": 0.5}, info)
    assert (json.loads(settled.body)["max_output_tokens"], settled.adjusted, settled.unadjusted) == (
        900,
        ("max_tokens",),
        ("temperature",),
    )
    assert json.loads(STYLE.with_model(parsed(BODY), "gpt-x").body)["model"] == "gpt-x"


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b'{"model": 3}', b'{"model": "m", "model": "n"}', b"x", b'{"model": "m", "max_output_tokens": "9"}'],
)
def test_an_ambiguous_request_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        STYLE.parse("/v1/responses", body, bytes)


@pytest.mark.parametrize("size", [1, 3, 50, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_is_read_however_it_is_cut(size: int, end: str) -> None:
    delta = {"type": "response.output_text.delta", "delta": '"type":"response.completed"'}
    reader = read(stream({"type": "response.created", "response": {}}, delta, ended("completed"), end=end), size)
    assert (reader.tokens, reader.complete, reader.error, reader.malformed) == (TOKENS, True, None, False)
    assert reader.use.tier == "standard"


def test_calls_are_read_with_their_arguments_where_these_are_asked_for() -> None:
    items = [
        CALL,
        {**CALL, "call_id": "call_2", "name": "now", "namespace": "mcp__clock", "arguments": '{"zone":"u"}'},
        {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": "patch"},
    ]
    done = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    for reader in (
        read(stream(*done, ended("completed"))),
        read(json.dumps(ended("completed", output=items)["response"]).encode(), streamed=False),
    ):
        assert reader.stop_reason == "tool_use"
        assert reader.calls == (
            ToolRequest("call_1", "exec_command", {"cmd": "ls /w/x"}),
            ToolRequest("call_2", "mcp__clock__now", {"zone": "u"}),
            ToolRequest("call_3", "apply_patch", {}),
        )
    assert read(stream(*done)).calls == (), "the answer is not whole"


def test_other_ends_are_told_apart() -> None:
    reader = read(stream(ended("incomplete", incomplete_details={"reason": "max_output_tokens"})))
    assert (reader.complete, reader.stop_reason, reader.tokens) == (True, "max_output_tokens", TOKENS)
    reader = read(stream(ended("failed", error={"code": "server_error", "message": "x"})))
    assert (reader.error, reader.tokens, reader.calls) == ("server_error", TOKENS, ())
    reader = read(stream({"type": "error", "code": "rate_limit_exceeded", "message": "x"}))
    assert (reader.error, reader.complete, reader.tokens) == ("rate_limit_exceeded", False, None)
    error = json.dumps({"error": {"message": "x", "type": "invalid_request_error", "code": None}}).encode()
    assert read(error, streamed=False).error == "invalid_request_error"
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    assert read(stream(ended("completed", output=[refusal]))).stop_reason == "refusal"
    assert read(b"<html>", streamed=False).malformed
    assert read(stream(ended("completed", usage=None))).tokens is None
    assert read(stream(ended("completed", usage={**USAGE, "input_tokens": -1}))).tokens is None


def test_uses_of_the_providers_tools_and_other_tiers_are_told() -> None:
    search = {"type": "web_search_call", "id": "ws", "action": {"type": "search"}}
    opened = {"type": "web_search_call", "id": "ws", "action": {"type": "open_page"}}
    done = [{"type": "response.output_item.done", "output_index": 0, "item": item} for item in (search, opened)]
    reader = read(stream(*done, ended("completed", output=[search, opened], service_tier="priority")))
    assert (reader.use.searches, reader.use.unpriced, reader.use.tier) == (1, False, "priority")
    image = {"type": "image_generation_call", "id": "ig"}
    assert read(stream(ended("completed", output=[image]))).use.unpriced


def test_a_secret_that_is_split_over_events_is_joined() -> None:
    pieces = ("in /w", "/x and", " more")
    sent = [
        {"type": "response.output_text.delta", "item_id": "m", "content_index": 0, "delta": piece} for piece in pieces
    ]
    body = stream(*sent, ended("completed"))
    joined = join_split(body, lambda text: [(3, 7)] if text.startswith("in /w/x") else [])
    deltas = [json.loads(line[6:])["delta"] for line in joined.decode().splitlines() if '"delta"' in line]
    assert deltas == ["in /w/x", " and", " more"]
    assert joined.count(b"event: response.output_text.delta\n") == 3
    assert join_split(body, lambda _: []) == body


def test_scripted_answers_are_read_as_they_are_meant() -> None:
    answer = ScriptedAnswer(call=ToolRequest("scripted", "exec_command", {"cmd": "ls"}))
    streamed = read("".join(events(BODY, answer)).encode())
    in_one = read(json.dumps(whole(BODY, answer)).encode(), streamed=False)
    assert streamed.tokens == in_one.tokens is not None
    assert streamed.calls == in_one.calls == (ToolRequest("call_scripted", "exec_command", {"cmd": "ls"}),)


@pytest.mark.parametrize(
    ("status", "headers", "code", "refusal", "seconds"),
    [
        (429, {"retry-after": "7"}, "rate_limit_exceeded", True, 7.0),
        (429, {"retry-after-ms": "20"}, "", True, 0.02),
        (429, {}, "insufficient_quota", False, None),
        (503, {"retry-after": "3"}, "", True, 3.0),
        (503, {}, "server_error", False, None),
        (500, {"retry-after": "3"}, "", False, 3.0),
    ],
)
def test_which_refusals_are_waited_for(
    status: int, headers: dict[str, str], code: str, refusal: bool, seconds: float | None
) -> None:
    limit = STYLE.rate_limit(status, headers, json.dumps({"error": {"code": code}}).encode())
    assert (limit.is_refusal, limit.retry_after) == (refusal, seconds)


@pytest.mark.parametrize(
    ("reset", "seconds"), [("1s", 1.0), ("20ms", 0.02), ("6m0s", 60.0), ("1m1s", 60.0), ("7", 7.0), ("soon", 0.0)]
)
def test_an_exhausted_limit_is_waited_for_up_to_a_minute(reset: str, seconds: float) -> None:
    assert exhausted_seconds({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": reset}) == seconds
    assert exhausted_seconds({"x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": reset}) == 0
    assert exhausted_seconds({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": reset}) == 0


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        ("https://api.openai.com", "https://api.openai.com/v1/responses"),
        ("https://x.example/api/paas/v4", "https://x.example/api/paas/v4/responses"),
    ],
)
def test_addresses(base: str, url: str) -> None:
    assert STYLE.url(base, "/v1/responses", "m") == url


def test_lists_of_models() -> None:
    info = ModelInfo(id="m", provider="openai", context_tokens=9)
    body = json.loads(STYLE.models_body({"m": info, "n": None}, None) or b"")
    assert [model["id"] for model in body["data"]] == ["m", "n"]
    assert json.loads(STYLE.models_body({"m": info}, "m") or b"")["owned_by"] == "openai"
    assert STYLE.models_body({"m": info}, "n") is None
