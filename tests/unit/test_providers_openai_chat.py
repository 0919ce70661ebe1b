"""Chat completions: what a request is, and what an answer states of itself, as OpenAI and compatible servers write it.

Shapes: developers.openai.com/api/docs and the SDK openai 3.57.0; DeepSeek, OpenRouter, llama.cpp and
llama-cpp-python by their documentation (2026-11-28).
"""

import json
from typing import Any

import pytest

from scylla_gha.gateway.recording import PathAliases
from scylla_gha.model.traffic import ModelInfo, Tokens
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import InvalidRequestError, ModelRequest, ToolRequest, ToolResult
from scylla_gha.providers.json_requests import stated_code
from scylla_gha.providers.openai import ChatStyle
from scylla_gha.providers.openai.chat import ChatUsage, UsageEventFilter, join_split
from scylla_gha.providers.openai.scripted_chat import events, whole
from scylla_gha.providers.scripted_style import ScriptedAnswer

STYLE = ChatStyle("max_completion_tokens")
CALL = {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls /w/x"}'}}
BODY: dict[str, Any] = {
    "model": "gpt-5.5",
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "u1",
    "tools": [{"type": "function", "function": {"name": "bash", "parameters": {}}}],
    "messages": [
        {"role": "system", "content": "Rules"},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "content": "12", "reasoning_content": "345", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a file in /w/x"},
    ],
}
USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 9,
    "total_tokens": 59,
    "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 10},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
TOKENS = Tokens(input=20, output=9, cache_read=20, cache_write_5m=10, reasoning=5)
DONE = "data: [DONE]\n\n"


def parsed(body: dict[str, Any], **more: Any) -> ModelRequest:
    return STYLE.parse("/v1/chat/completions", json.dumps({**body, **more}).encode(), PathAliases({"/w": "/name"}).hide)


def chunk(delta: dict[str, Any] | None = None, reason: str | None = None, **more: Any) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': choices, **more})}\n\n"


def read(data: str | bytes, size: int = 10_000, *, streamed: bool = True) -> ChatUsage:
    reader = STYLE.usage_reader(streamed=streamed, reads=lambda tool: tool == "bash")
    data = data.encode() if isinstance(data, str) else data
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    reader.end()
    return reader


def test_a_request_is_known_by_what_it_asks_and_not_by_its_bookkeeping() -> None:
    before = parsed(BODY)
    assert parsed(BODY, user="u2", metadata={"a": "b"}, prompt_cache_key="k").digest == before.digest
    silent = {key: value for key, value in BODY.items() if key != "stream_options"}
    assert parsed(silent).digest == before.digest, "who asks for usage is no part of the question"
    changes: list[dict[str, Any]] = [{"model": "n"}, {"tools": []}, {"messages": BODY["messages"][:2]}]
    assert all(parsed(BODY, **change).digest != before.digest for change in changes)


def test_usage_is_asked_for_in_the_clients_place() -> None:
    silent = {key: value for key, value in BODY.items() if key != "stream_options"}
    assert json.loads(parsed(silent).body)["stream_options"] == {"include_usage": True}
    other = parsed(silent, stream_options={"include_obfuscation": False})
    assert json.loads(other.body)["stream_options"] == {"include_obfuscation": False, "include_usage": True}
    assert (parsed(silent).hides_usage, parsed(BODY).hides_usage) == (True, False)
    whole_answer = parsed(silent, stream=False)
    assert (whole_answer.hides_usage, "stream_options" in json.loads(whole_answer.body)) == (False, False)
    assert STYLE.client_filter(parsed(BODY)) is None


@pytest.mark.parametrize("size", [1, 5, 40, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_event_with_the_usage_is_left_out_for_a_client_that_did_not_ask(size: int, end: str) -> None:
    texts = [chunk({"content": 'say "choices": []'}), chunk({}, "stop"), chunk(None, usage=USAGE), DONE]
    sent, kept = (b"".join(text.replace("\n", end).encode() for text in part) for part in (texts, [*texts[:2], DONE]))
    wanted = UsageEventFilter()
    pieces = [wanted(sent[at : at + size]) for at in range(0, len(sent), size)]
    assert b"".join([*pieces, wanted(b"")]) == kept
    assert UsageEventFilter()(chunk(None, prompt_filter_results=[]).encode()), "an event without usage stays"


def test_parts_of_a_request_are_counted_and_results_are_found() -> None:
    request = parsed(BODY)
    sizes = request.characters
    assert (sizes["system_prompt"], sizes["conversation"], sizes["tool_output"]) == (5, 10, len("a file in /name/x"))
    assert sizes["tool_input"] == len('{"command":"ls /name/x"}')
    assert request.results == (ToolResult("call_1", "a file in /name/x", failed=False),)
    assert parsed(BODY, messages=BODY["messages"][:2]).results == ()


def test_turns_are_of_one_conversation() -> None:
    first, second = parsed(BODY, messages=BODY["messages"][:2]).conversation, parsed(BODY).conversation
    assert (first.opening == second.opening, first.messages == second.messages) == (True, False)
    corrected = parsed(BODY, messages=[*BODY["messages"][:2], {"role": "user", "content": "Use a tool"}]).conversation
    assert first.opening in corrected.shorter, "mini-swe-agent keeps no answer without a call of its tool"
    titled = parsed(BODY, messages=[{"role": "user", "content": "A title, please"}]).conversation
    assert (titled.opening == first.opening, titled.session) == (False, b"")
    keyed = [parsed(BODY, prompt_cache_key="k", messages=BODY["messages"][:at]).conversation for at in (2, 4)]
    assert keyed[0].session == keyed[1].session != b""


@pytest.mark.parametrize(
    ("change", "tools"),
    [
        ({}, set()),
        ({"web_search_options": {}}, {"web_search"}),
        ({"enable_search": False, "plugins": [], "web_search_options": None}, set()),
        ({"web_search_options": {"search_context_size": "low"}}, {"web_search"}),
        ({"search_parameters": {"mode": "auto"}}, {"web_search"}),
        ({"enable_search": True}, {"web_search"}),
        ({"plugins": [{"id": "web"}]}, {"plugins"}),
        ({"model": "openai/gpt-5.5:online"}, {"web_search"}),
        ({"tools": [{"type": "openrouter:web_search"}, {"type": "code_execution"}]}, {"web_search", "code_execution"}),
        ({"tools": [{"type": "custom", "custom": {"name": "patch"}}]}, set()),
        ({"modalities": ["text", "audio"]}, {"audio_output"}),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/a.png"}}]}
                ]
            },
            {"url_source"},
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x;base64,A"}}]}
                ]
            },
            set(),
        ),
        ({"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]}, {"file_source"}),
        (
            {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "https://x"}}]}]},
            {"file_source"},
        ),
    ],
)
def test_what_runs_at_the_provider_is_named(change: dict[str, Any], tools: set[str]) -> None:
    assert parsed(BODY, **change).terms.tools == tools


def test_the_terms_of_cost() -> None:
    assert parsed(BODY, max_tokens=7).terms.max_tokens == 7
    assert parsed(BODY, max_completion_tokens=7, max_tokens=9).terms.max_tokens == 9
    assert (parsed(BODY).terms.max_tokens, parsed(BODY).terms.limitable) == (None, True)
    assert parsed(BODY, models=["a", "b"]).terms.fallbacks == ("a", "b")
    assert parsed(BODY, service_tier="priority").terms.use.tier == "priority"
    sound = [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "A"}}]}]
    assert parsed(BODY, messages=sound).terms.prompt_tokens > 10_000_000, "its length is not known"
    with pytest.raises(InvalidRequestError, match="n must be 1"):
        parsed(BODY, n=2)
    with pytest.raises(InvalidRequestError, match="max_tokens must be a whole number"):
        parsed(BODY, max_tokens="7")


def test_a_limit_is_lowered_by_the_key_that_the_request_or_the_server_has() -> None:
    old, new, none = parsed(BODY, max_tokens=500), parsed(BODY, max_completion_tokens=500), parsed(BODY)
    for style, usual in ((STYLE, "max_completion_tokens"), (ChatStyle("max_tokens"), "max_tokens")):
        for request, key in ((old, "max_tokens"), (new, "max_completion_tokens"), (none, usual)):
            body = json.loads(style.with_max_tokens(request, 100).body)
            assert {name: body[name] for name in body if name.startswith("max_")} == {key: 100}
    info = ModelInfo(id="m", provider="openai", context_tokens=9, accepts=("max_tokens", "temperature"))
    body = json.loads(STYLE.with_settings(old, {"max_tokens": 900, "temperature": 0.5}, info).body)
    assert (body["max_tokens"], body["temperature"], "max_completion_tokens" in body) == (900, 0.5, False)


@pytest.mark.parametrize("size", [1, 3, 50, 10_000])
def test_a_stream_is_read_however_it_is_cut(size: int) -> None:
    text = chunk({"role": "assistant", "content": ""}, usage=None) + chunk({"content": '"usage":{"prompt_tokens":7}'})
    reader = read(text + chunk({}, "stop") + chunk(None, usage=USAGE) + DONE, size)
    assert (reader.tokens, reader.complete, reader.stop_reason, reader.malformed) == (TOKENS, True, "stop", False)


@pytest.mark.parametrize(
    ("sent", "complete"),
    [
        (chunk({"content": "x"}), False),
        (chunk({"content": "x"}) + DONE, False),
        (chunk({}, "stop"), False),
        (DONE, False),
        (chunk({}, "length") + DONE, True),
        ("", False),
    ],
)
def test_an_answer_is_whole_only_with_its_reason_and_its_end(sent: str, complete: bool) -> None:
    reader = read(sent)
    assert (reader.complete, reader.tokens) == (complete, None)


def test_calls_are_read_from_their_pieces() -> None:
    first = {**CALL, "index": 0, "function": {"name": "bash", "arguments": '{"comm'}}
    second = {"index": 1, "id": "call_2", "type": "function", "function": {"name": "other", "arguments": "{}"}}
    rest = {"index": 0, "function": {"arguments": 'and":"ls"}'}}
    sent = "".join(chunk({"tool_calls": [part]}) for part in (first, rest, second))
    reader = read(sent + chunk({}, "tool_calls") + chunk(None, usage=USAGE) + DONE)
    assert reader.calls == (ToolRequest("call_1", "bash", {"command": "ls"}), ToolRequest("call_2", "other", {}))
    assert reader.stop_reason == "tool_use"
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE}
    reader = read(json.dumps(answer), streamed=False)
    assert (reader.calls, reader.stop_reason) == ((ToolRequest("call_1", "bash", {"command": "ls /w/x"}),), "tool_use")
    assert (reader.tokens, reader.complete) == (TOKENS, True)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}, Tokens(input=9, output=3)),  # llama.cpp
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, "prompt_tokens_details": None},
            Tokens(input=9, output=3),
        ),  # vLLM
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
            Tokens(input=5, output=3, cache_read=4),
        ),  # DeepSeek
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "total_tokens": 19,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Tokens(input=9, output=10, reasoning=7),
        ),  # xAI
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "total_tokens": 17,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Tokens(input=9, output=8, reasoning=7),
        ),
        ({"prompt_tokens": -9, "completion_tokens": 8}, None),
        ({"completion_tokens": 8}, None),
    ],
)
def test_usage_of_several_servers(usage: dict[str, Any], tokens: Tokens | None) -> None:
    assert read(chunk({}, "stop", usage=usage) + DONE).tokens == tokens


def test_errors_and_refusals_are_told() -> None:
    error = {"error": {"message": "x", "type": "server_error", "code": 502}}
    reader = read(f"data: {json.dumps(error)}\n\n")
    assert (reader.error, reader.complete) == ("502", False)
    assert read(json.dumps({"error": {"message": "x", "type": "tokens"}}), streamed=False).error == "tokens"
    assert read(json.dumps({"error": "model not found"}), streamed=False).error == "error"
    assert read(chunk({"refusal": "No."}) + chunk({}, "stop") + DONE).stop_reason == "refusal"
    assert read(chunk({}, "content_filter") + DONE).stop_reason == "content_filter"
    assert read("<html>", streamed=False).malformed


def test_a_secret_that_is_split_over_events_is_joined() -> None:
    sent = chunk({"content": "in /w"}) + chunk({"content": "/x and"}) + chunk({"reasoning_content": "/w"}) + DONE
    joined = join_split(sent.encode(), lambda text: [(3, 7)] if text.startswith("in /w/x") else [])
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in joined.decode().splitlines() if "choices" in line]
    assert deltas == [{"content": "in /w/x"}, {"content": " and"}, {"reasoning_content": "/w"}]


def test_scripted_answers_are_read_as_they_are_meant() -> None:
    answer = ScriptedAnswer(call=ToolRequest("scripted", "bash", {"command": "ls"}))
    streamed = read("".join(events(BODY, answer)))
    in_one = read(json.dumps(whole(BODY, answer)), streamed=False)
    assert streamed.tokens == in_one.tokens is not None
    assert streamed.calls == in_one.calls == (ToolRequest("call_scripted", "bash", {"command": "ls"}),)


@pytest.mark.parametrize(
    ("provider", "base", "urls"),
    [
        (
            "openrouter",
            "https://openrouter.ai/api/v1",
            ["https://openrouter.ai/api/v1/chat/completions", "https://openrouter.ai/api/v1/messages"],
        ),
        (
            "local",
            "http://127.0.0.1:11434",
            ["http://127.0.0.1:11434/v1/chat/completions", "http://127.0.0.1:11434/v1/messages"],
        ),
        (
            "local",
            "http://127.0.0.1:8000/v1",
            ["http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1/messages"],
        ),
    ],
)
def test_servers_of_several_styles_have_one_address(provider: str, base: str, urls: list[str]) -> None:
    styles = PROVIDERS[provider].styles
    paths = {"openai-chat": "/v1/chat/completions", "anthropic-messages": "/v1/messages"}
    assert [styles[name].url(base, path, "m") for name, path in paths.items()] == urls


def test_an_errors_code_is_its_name_and_not_the_status_that_llama_cpp_repeats() -> None:
    error = {
        "code": 400,
        "message": "too long",
        "type": "exceed_context_size_error",
        "n_ctx": 1024,
    }
    reader = ChatUsage(streamed=False, reads=lambda _: False)
    reader.feed(json.dumps({"error": error}).encode())
    reader.end()
    assert (reader.error, stated_code({"code": 7}), stated_code({})) == ("exceed_context_size_error", "7", "")
