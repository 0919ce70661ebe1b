"""The Gemini API: what a request is, in both spellings of its keys, and what an answer states of itself.

Shapes: ai.google.dev/api (generate content, count tokens, errors) and the SDK google-genai 3.6.1; the function calls
without ids are those of models before Gemini 3 (2026-11-28).
"""

import json
from typing import Any

import pytest

from scylla_gha.gateway.recording import PathAliases
from scylla_gha.model.traffic import ModelInfo, Tokens
from scylla_gha.providers.base import InvalidRequestError, ModelRequest, ToolRequest, ToolResult
from scylla_gha.providers.gemini import Gemini, GeminiStyle
from scylla_gha.providers.gemini.generate_content import GeminiUsage, join_split
from scylla_gha.providers.gemini.scripted import events, whole
from scylla_gha.providers.scripted_style import ScriptedAnswer
from tests.support.model_apis import RETRY_INFO

STYLE = GeminiStyle()
PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
PATH = "/v1beta/models/gemini-3.5-flash:"
CALL = {"name": "shell", "args": {"command": "ls /w/x"}}
BODY: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Rules"}]},
    "tools": [{"functionDeclarations": [{"name": "shell", "parametersJsonSchema": {}}]}],
    "contents": [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {
            "role": "model",
            "parts": [
                {"text": "12", "thought": True},
                {"functionCall": {**CALL, "id": "a-1"}},
                {"functionCall": {**CALL, "id": "a-2"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "shell", "id": "a-1", "response": {"output": "x"}}},
                {"functionResponse": {"name": "shell", "id": "a-2", "response": {"error": "/w/y"}}},
            ],
        },
    ],
    "generationConfig": {"temperature": 1, "thinkingConfig": {"includeThoughts": True}},
}
USAGE = {
    "promptTokenCount": 50,
    "cachedContentTokenCount": 20,
    "candidatesTokenCount": 9,
    "thoughtsTokenCount": 5,
    "toolUsePromptTokenCount": 2,
    "totalTokenCount": 66,
}
TOKENS = Tokens(input=32, output=14, cache_read=20, reasoning=5)


def parsed(
    body: dict[str, Any], *, method: str = "streamGenerateContent", path: str = PATH, **more: Any
) -> ModelRequest:
    return STYLE.parse(path + method, json.dumps({**body, **more}).encode(), PathAliases({"/w": "/name"}).hide)


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": list(parts)}]}


def chunk(*parts: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [{**candidate, **({"finishReason": reason} if reason else {})}], **more}


def stream(*chunks: dict[str, Any], end: str = "\r\n") -> bytes:
    return "".join(f"data: {json.dumps(each)}{end}{end}" for each in chunks).encode()


def read(data: bytes, size: int = 10_000, *, streamed: bool = True) -> GeminiUsage:
    reader = STYLE.usage_reader(streamed=streamed, reads=lambda tool: tool == "shell")
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    reader.end()
    return reader


def test_model_and_method_are_read_from_the_path() -> None:
    request = parsed(BODY)
    assert (request.model, request.streamed, request.counting) == ("gemini-3.5-flash", True, False)
    in_one, counting = parsed(BODY, method="generateContent"), parsed(BODY, method="countTokens")
    assert (in_one.streamed, counting.counting) == (False, True)
    other = parsed(BODY, path="/v1beta/models/gemini-4:")
    assert len({request.digest, in_one.digest, counting.digest, other.digest}) == 4
    with pytest.raises(InvalidRequestError, match="embedContent is not available"):
        parsed(BODY, method="embedContent")
    wrapped = parsed({"generateContentRequest": {"model": "models/m", **BODY}}, method="countTokens")
    assert wrapped.characters == counting.characters


def test_a_request_is_known_without_the_ids_that_a_client_invents() -> None:
    again = json.loads(json.dumps(BODY).replace("a-1", "b-1").replace("a-2", "b-2"))
    assert parsed(again, labels={"run": "7"}).digest == parsed(BODY).digest
    changes: list[dict[str, Any]] = [{"tools": []}, user({"text": "Bye"}), {"generationConfig": {}}]
    assert all(parsed(BODY, **change).digest != parsed(BODY).digest for change in changes)


def test_parts_of_a_request_are_counted_and_results_are_found() -> None:
    request = parsed(BODY)
    sizes = request.characters
    assert (sizes["system_prompt"], sizes["conversation"], sizes["tool_output"]) == (5, 7, 1 + len("/name/y"))
    assert request.results == (ToolResult("shell#1", "x", failed=False), ToolResult("shell#2", "/name/y", failed=True))
    first, second = parsed(BODY, contents=BODY["contents"][:1]).conversation, request.conversation
    assert (first.opening == second.opening, first.messages == second.messages) == (True, False)


@pytest.mark.parametrize(
    ("change", "tools"),
    [
        ({}, set()),
        (
            {"tools": [{"googleSearch": {}}, {"google_search": {}}, {"googleSearchRetrieval": {}}]},
            {"google_search", "google_search_retrieval"},
        ),
        ({"tools": [{"urlContext": {}, "functionDeclarations": []}]}, {"url_context"}),
        (
            {"tools": [{"codeExecution": {}}, {"fileSearch": {}}, {"mcpServers": []}, {"googleMaps": {}}]},
            {"code_execution", "file_search", "mcp_servers", "google_maps"},
        ),
        ({"tools": [{"function_declarations": [{"name": "f"}]}, {"computerUse": {}}]}, set()),
        ({"cachedContent": "cachedContents/1"}, {"cached_content"}),
        ({"cached_content": "cachedContents/1"}, {"cached_content"}),
        (user({"fileData": {"fileUri": "https://x"}}), {"file_source"}),
        (user({"file_data": {"file_uri": "https://x"}}), {"file_source"}),
        (user({"inlineData": {"mimeType": "image/png", "data": "AA"}}), set()),
        ({"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}, {"image_output"}),
    ],
)
def test_what_runs_or_is_held_at_the_provider_is_named(change: dict[str, Any], tools: set[str]) -> None:
    assert parsed(BODY, **change).terms.tools == tools


@pytest.mark.parametrize(
    "change",
    [
        {"generationConfig": {}, "generation_config": {}},
        {"generationConfig": {"maxOutputTokens": 1, "max_output_tokens": 9}},
        {"generationConfig": {"maxOutputTokens": "9"}},
        {"generationConfig": {"candidateCount": 2}},
        {"generation_config": {"candidate_count": 2}, "generationConfig": None},
        {"cachedContent": "", "cached_content": "cachedContents/1"},
    ],
)
def test_an_ambiguous_or_unlimited_request_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        parsed(BODY, **change)


def test_the_terms_of_cost() -> None:
    assert parsed(BODY, generationConfig={"maxOutputTokens": 7}).terms.max_tokens == 7
    plain = {key: value for key, value in BODY.items() if key != "generationConfig"}
    assert parsed(plain, generation_config={"max_output_tokens": 7}).terms.max_tokens == 7
    assert (parsed(BODY).terms.max_tokens, parsed(BODY).terms.limitable) == (None, True)
    assert parsed(BODY, serviceTier="PRIORITY").terms.use.tier == "priority"
    assert parsed(BODY, serviceTier="unspecified").terms.use.tier == "standard"
    image, sound = ({"inlineData": {"mimeType": kind, "data": "AA"}} for kind in ("image/png", "audio/wav"))
    assert 2_240 < parsed(BODY, **user(image)).terms.prompt_tokens < 3_000
    assert parsed(BODY, **user(sound)).terms.prompt_tokens > 10_000_000, "its length is not known"


def test_a_limit_is_put_where_the_request_has_its_settings() -> None:
    lowered = json.loads(STYLE.with_max_tokens(parsed(BODY), 100).body)["generationConfig"]
    assert lowered == {**BODY["generationConfig"], "maxOutputTokens": 100}
    plain = {key: value for key, value in BODY.items() if key != "generationConfig"}
    body = json.loads(STYLE.with_max_tokens(parsed(plain, generation_config={"max_output_tokens": 500}), 100).body)
    assert (body["generation_config"], "generationConfig" in body) == ({"max_output_tokens": 100}, False)
    info = ModelInfo(id="m", provider="gemini", context_tokens=9, accepts=("temperature",))
    settled = STYLE.with_settings(parsed(BODY), {"temperature": 0.5, "max_tokens": 9}, info)
    assert json.loads(settled.body)["generationConfig"]["temperature"] == 0.5
    assert settled.unadjusted == ("max_tokens",)


def test_an_alias_and_a_dummy_key_do_not_go_up() -> None:
    target = f"{PATH}streamGenerateContent?alt=sse&key=dummy"
    request = STYLE.with_model(parsed(BODY), "gemini-4/odd")
    for base in ("https://g.example", "https://g.example/v1beta"):
        url = STYLE.url(base, target, request.model)
        assert url == "https://g.example/v1beta/models/gemini-4%2Fodd:streamGenerateContent?alt=sse"
    assert STYLE.url("https://g.example", f"{PATH}generateContent?key=x", "m").endswith("/models/m:generateContent")
    access = Gemini().credentials({"GEMINI_API_KEY": "real"})
    sent = STYLE.request_headers({"x-goog-api-key": "dummy", "authorization": "Bearer dummy", "Accept": "a"}, access)
    assert dict(sent) == {"Accept": "a", "accept-encoding": "identity", "x-goog-api-key": "real"}


@pytest.mark.parametrize(
    ("headers", "query", "token"),
    [
        ({"x-goog-api-key": "t"}, {}, "t"),
        ({}, {"key": "t"}, "t"),
        ({"authorization": "Bearer t"}, {}, "t"),
        ({}, {}, ""),
    ],
)
def test_places_of_the_dummy_key(headers: dict[str, str], query: dict[str, str], token: str) -> None:
    assert STYLE.session_token(headers, query) == token


@pytest.mark.parametrize("size", [1, 3, 50, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_is_read_however_it_is_cut(size: int, end: str) -> None:
    early = chunk({"text": '"finishReason": "STOP"'}, usageMetadata={"promptTokenCount": 50, "totalTokenCount": 50})
    reader = read(stream(early, chunk({"text": "x"}, reason="STOP", usageMetadata=USAGE), end=end), size)
    assert (reader.tokens, reader.complete, reader.stop_reason, reader.malformed) == (TOKENS, True, "STOP", False)
    assert read(stream(early, end=end), size).complete is False


def test_calls_are_numbered_by_their_function() -> None:
    other = {"functionCall": {"name": "other", "args": {}}}
    last = chunk({"functionCall": CALL}, other, reason="STOP", usageMetadata=USAGE)
    sent = (chunk({"functionCall": CALL}), last)
    shells = (ToolRequest(f"shell#{number}", "shell", {"command": "ls /w/x"}) for number in (1, 2))
    expected = (*shells, ToolRequest("other#1", "other", {}))
    reader = read(stream(*sent))
    assert (reader.calls, reader.stop_reason) == (expected, "tool_use")
    listed = read(json.dumps(list(sent)).encode(), streamed=False)
    assert (listed.calls, listed.tokens, listed.complete) == (expected, TOKENS, True), "a stream without alt=sse"


def test_other_ends_are_told_apart() -> None:
    assert read(stream(chunk(reason="MAX_TOKENS", usageMetadata=USAGE))).stop_reason == "MAX_TOKENS"
    assert read(stream(chunk(reason="SAFETY", usageMetadata=USAGE))).stop_reason == "refusal"
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}
    reader = read(stream(blocked))
    assert (reader.complete, reader.stop_reason, reader.tokens) == (True, "refusal", Tokens(input=9))
    error = {"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}
    assert read(stream(error)).error == "UNAVAILABLE"
    assert read(json.dumps([error]).encode(), streamed=False).error == "UNAVAILABLE"
    assert read(b"<html>", streamed=False).malformed
    assert read(json.dumps({"totalTokens": 7}).encode(), streamed=False).complete
    assert read(stream(chunk(reason="STOP"))).tokens is None
    assert read(stream(chunk(reason="STOP", usageMetadata={**USAGE, "promptTokenCount": -1}))).tokens is None


def test_what_the_providers_tools_did_has_no_known_price() -> None:
    searched = chunk({"text": "x"}, reason="STOP", usageMetadata=USAGE)
    searched["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["x"]}
    ran = chunk({"executableCode": {"code": "1"}}, reason="STOP", usageMetadata=USAGE)
    assert [read(stream(sent)).use.unpriced for sent in (searched, ran)] == [True, True]
    assert not read(stream(chunk({"text": "x"}, reason="STOP", usageMetadata=USAGE))).use.unpriced


@pytest.mark.parametrize(
    ("details", "headers", "refusal", "seconds"),
    [
        ([{"@type": RETRY_INFO, "retryDelay": "38s"}], {}, True, 38.0),
        ([{"@type": RETRY_INFO, "retryDelay": "0.5s"}], {"retry-after": "3"}, True, 3.0),
        ([{"@type": "type.googleapis.com/google.rpc.Help"}], {}, True, None),
        ([{"violations": [{"quotaId": PER_DAY}]}, {"@type": RETRY_INFO, "retryDelay": "7s"}], {}, False, 7.0),
    ],
)
def test_a_refusal_states_its_wait_in_the_body(
    details: list[Any], headers: dict[str, str], refusal: bool, seconds: float | None
) -> None:
    error = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}
    for body in (error, [error]):
        limit = STYLE.rate_limit(429, headers, json.dumps(body).encode())
        assert (limit.is_refusal, limit.retry_after) == (refusal, seconds)
    assert STYLE.rate_limit(503, {}, b"busy").is_refusal is False


def test_errors_have_googles_form() -> None:
    error = json.loads(STYLE.error_body(403, "budget", "no"))["error"]
    assert (error["code"], error["status"], error["message"]) == (403, "PERMISSION_DENIED", "no")
    models = json.loads(STYLE.models_body({"m": None}, None) or b"")["models"]
    assert models[0]["name"] == "models/m"


def test_a_secret_that_is_split_over_events_is_joined() -> None:
    sent = stream(chunk({"text": "in /w"}), chunk({"text": "/x and"}, {"text": "/w", "thought": True}))
    joined = join_split(sent.replace(b"\r\n", b"\n"), lambda text: [(3, 7)] if text.startswith("in /w/x") else [])
    parts = [json.loads(line[6:])["candidates"][0]["content"]["parts"] for line in joined.decode().split("\n") if line]
    assert [part["text"] for some in parts for part in some] == ["in /w/x", " and", "/w"]


def test_scripted_answers_are_read_as_they_are_meant() -> None:
    answer = ScriptedAnswer(call=ToolRequest("scripted", "shell", {"command": "ls"}))
    streamed = read("".join(events(BODY, answer)).encode())
    in_one = read(json.dumps(whole(BODY, answer)).encode(), streamed=False)
    assert streamed.tokens == in_one.tokens is not None
    assert streamed.calls == in_one.calls == (ToolRequest("shell#1", "shell", {"command": "ls"}),)
