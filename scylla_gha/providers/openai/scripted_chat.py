"""Scripted answers of chat completions. A stream states its usage only if the request asks for it."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from scylla_gha.lenient_json import inner_object
from scylla_gha.providers.base import Body, ToolRequest, objects
from scylla_gha.providers.scripted_style import ScriptedAnswer

PATHS: Final = re.compile(r"/chat/completions$")
COUNT_PATHS: Final = re.compile(r"$.")  # matches nothing: this API does not count tokens
# Counts of all kinds, so that a cost that is computed from them depends on every price.
USAGE: Final = {
    "prompt_tokens": 35_000,
    "completion_tokens": 200,
    "total_tokens": 35_200,
    "prompt_tokens_details": {"cached_tokens": 30_000, "cache_write_tokens": 4_000},
    "completion_tokens_details": {"reasoning_tokens": 64},
}


def offered(body: Body) -> list[tuple[str, Body]]:
    """Return the functions of a request, each with the JSON schema of its arguments."""
    functions = [inner_object(tool, "function") for tool in objects(body.get("tools"))]
    return [(str(function.get("name")), inner_object(function, "parameters")) for function in functions]


def has_result(body: Body) -> bool:
    """Tell if a request has the result of a tool call."""
    return any(message.get("role") == "tool" for message in objects(body.get("messages")))


def is_streamed(path: str, body: Body) -> bool:  # noqa: ARG001 the Protocol's signature
    """Tell if the request asks for a stream."""
    return body.get("stream") is True


def count() -> dict[str, Any]:
    """Return {}: this API does not count tokens."""
    return {}


def whole(body: Body, answer: ScriptedAnswer) -> dict[str, Any]:
    """Return an answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": None if answer.call else answer.text, "refusal": None}
    if answer.call:
        message["tool_calls"] = [_call(answer.call)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(answer)}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": USAGE}


def events(body: Body, answer: ScriptedAnswer) -> Iterator[str]:
    """Yield an answer as server-sent events."""
    chunk = _head(body, "chat.completion.chunk")
    has_usage = inner_object(body, "stream_options").get("include_usage") is True
    usage = {"usage": None} if has_usage else {}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if answer.call:
        call = _call(answer.call)
        arguments = call["function"]["arguments"]
        begun = {"index": 0, **call, "function": {**call["function"], "arguments": arguments[:4]}}
        deltas += [{"tool_calls": [part]} for part in (begun, {"index": 0, "function": {"arguments": arguments[4:]}})]
    else:
        deltas += [{"content": answer.text[:4]}, {"content": answer.text[4:]}]
    for delta in deltas:
        yield _event({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **usage})
    yield _event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(answer)}], **usage})
    if has_usage:
        yield _event({**chunk, "choices": [], "usage": USAGE})
    yield "data: [DONE]\n\n"


def _event(content: dict[str, Any]) -> str:
    return f"data: {json.dumps(content)}\n\n"


def _head(body: Body, kind: str) -> dict[str, Any]:
    name = f"chatcmpl-scripted-{has_result(body):d}"
    return {"id": name, "object": kind, "created": 1_790_000_000, "model": body.get("model"), "service_tier": "default"}


def _reason(answer: ScriptedAnswer) -> str:
    return "tool_calls" if answer.call else "stop"


def _call(call: ToolRequest) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{call.id}", "type": "function", "function": function}
