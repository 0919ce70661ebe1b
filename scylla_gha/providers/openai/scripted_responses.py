"""Scripted answers of the Responses API."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from scylla_gha.lenient_json import inner_object
from scylla_gha.providers.base import Body, objects
from scylla_gha.providers.scripted_style import ScriptedAnswer

PATHS: Final = re.compile(r"/responses$")
COUNT_PATHS: Final = re.compile(r"/responses/input_tokens$")
# Counts of all kinds, so that a cost that is computed from them depends on every price.
USAGE: Final = {
    "input_tokens": 35_000,
    "input_tokens_details": {"cached_tokens": 30_000, "cache_write_tokens": 4_000},
    "output_tokens": 200,
    "output_tokens_details": {"reasoning_tokens": 64},
    "total_tokens": 35_200,
}


def offered(body: Body) -> list[tuple[str, Body]]:
    """Return the functions of a request, each with the JSON schema of its arguments."""
    tools = objects(body.get("tools"))
    return [(str(tool["name"]), inner_object(tool, "parameters")) for tool in tools if tool.get("type") == "function"]


def has_result(body: Body) -> bool:
    """Tell if a request has the result of a tool call."""
    return any(str(item.get("type")).endswith("_output") for item in objects(body.get("input")))


def is_streamed(path: str, body: Body) -> bool:  # noqa: ARG001 the Protocol's signature
    """Tell if the request asks for a stream."""
    return body.get("stream") is True


def count() -> dict[str, Any]:
    """Return the answer to a count of tokens."""
    return {"object": "response.input_tokens", "input_tokens": USAGE["input_tokens"]}


def whole(body: Body, answer: ScriptedAnswer) -> dict[str, Any]:
    """Return an answer as one object."""
    return {**_start(body), "status": "completed", "output": [_item(answer)], "usage": USAGE}


def events(body: Body, answer: ScriptedAnswer) -> Iterator[str]:
    """Yield an answer as server-sent events."""
    item = _item(answer)
    content = item.get("content", [{}])[0]
    field, kind = ("arguments", "function_call_arguments") if answer.call else ("text", "output_text")
    text = item["arguments"] if answer.call else content["text"]
    begun = {**item, "status": "in_progress", ("arguments" if answer.call else "content"): "" if answer.call else []}
    position = {"item_id": item["id"], "output_index": 0}
    part = {**position, "content_index": 0} if not answer.call else position
    sent: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": _start(body)}),
        ("response.in_progress", {"response": _start(body)}),
        ("response.output_item.added", {"output_index": 0, "item": begun}),
        (f"response.{kind}.delta", {**part, "delta": text[:4]}),
        (f"response.{kind}.delta", {**part, "delta": text[4:]}),
        (f"response.{kind}.done", {**part, field: text}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole(body, answer)}),
    ]
    for number, (name, fields) in enumerate(sent):
        yield f"event: {name}\ndata: {json.dumps({'type': name, 'sequence_number': number, **fields})}\n\n"


def _start(body: Body) -> dict[str, Any]:
    return {
        "id": f"resp_scripted_{has_result(body):d}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "model": body.get("model"),
        "output": [],
        "service_tier": "default",
        "usage": None,
    }


def _item(answer: ScriptedAnswer) -> dict[str, Any]:
    if call := answer.call:
        return {
            "type": "function_call",
            "id": f"fc_{call.id}",
            "call_id": f"call_{call.id}",
            "name": call.tool,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
    text = {"type": "output_text", "text": answer.text, "annotations": []}
    return {"type": "message", "id": "msg_scripted", "status": "completed", "role": "assistant", "content": [text]}
