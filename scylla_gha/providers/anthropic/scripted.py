"""Scripted answers of the Messages API."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from scylla_gha.lenient_json import inner_object
from scylla_gha.providers.base import Body, objects
from scylla_gha.providers.scripted_style import ScriptedAnswer

PATHS: Final = re.compile(r"/messages$")
COUNT_PATHS: Final = re.compile(r"/messages/count_tokens$")
# Counts of all kinds, so that a cost that is computed from them depends on every price.
USAGE: Final = {
    "input_tokens": 1_000,
    "output_tokens": 200,
    "cache_read_input_tokens": 30_000,
    "cache_creation_input_tokens": 4_000,
}


def offered(body: Body) -> list[tuple[str, Body]]:
    """Return the tools of a request, each with the JSON schema of its arguments."""
    return [(str(tool.get("name")), inner_object(tool, "input_schema")) for tool in objects(body.get("tools"))]


def has_result(body: Body) -> bool:
    """Tell if a request has the result of a tool call."""
    parts = (part for message in objects(body.get("messages")) for part in objects(message.get("content")))
    return any(part.get("type") == "tool_result" for part in parts)


def is_streamed(path: str, body: Body) -> bool:  # noqa: ARG001 the Protocol's signature
    """Tell if the request asks for a stream."""
    return body.get("stream") is True


def count() -> dict[str, Any]:
    """Return the answer to a count of tokens."""
    return {"input_tokens": USAGE["input_tokens"]}


def whole(body: Body, answer: ScriptedAnswer) -> dict[str, Any]:
    """Return an answer as one object."""
    content: dict[str, Any] = {"type": "text", "text": answer.text}
    if call := answer.call:
        content = {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.tool, "input": call.arguments}
    return {
        "id": f"msg_scripted_{has_result(body):d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [content],
        "stop_reason": "tool_use" if call else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def events(body: Body, answer: ScriptedAnswer) -> Iterator[str]:
    """Yield an answer as server-sent events."""
    message = whole(body, answer)
    (block,) = message["content"]
    is_tool = block["type"] == "tool_use"
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if is_tool
        else {"type": "text_delta", "text": block["text"]}
    )
    start = {**message, "content": [], "stop_reason": None, "usage": {**USAGE, "output_tokens": 1}}
    empty = {**block, "input": {}} if is_tool else {**block, "text": ""}
    for event in (
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": USAGE["output_tokens"]},
        },
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
