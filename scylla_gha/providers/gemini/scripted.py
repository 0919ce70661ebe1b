"""Scripted answers of the Gemini API."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from scylla_gha.lenient_json import inner_object
from scylla_gha.providers.base import Body, objects
from scylla_gha.providers.scripted_style import ScriptedAnswer

PATHS: Final = re.compile(r":(?:g|streamG)enerateContent$")
COUNT_PATHS: Final = re.compile(r":countTokens$")
# Counts of all kinds, so that a cost that is computed from them depends on every price.
USAGE: Final = {
    "promptTokenCount": 35_000,
    "cachedContentTokenCount": 30_000,
    "candidatesTokenCount": 200,
    "thoughtsTokenCount": 64,
    "totalTokenCount": 35_264,
}


def offered(body: Body) -> list[tuple[str, Body]]:
    """Return the functions of a request, each with the JSON schema of its arguments."""
    declared = (objects(tool.get("functionDeclarations")) for tool in objects(body.get("tools")))
    functions = [function for some in declared for function in some]
    schemas = (inner_object(one, "parametersJsonSchema") or inner_object(one, "parameters") for one in functions)
    return [(str(function.get("name")), schema) for function, schema in zip(functions, schemas, strict=True)]


def has_result(body: Body) -> bool:
    """Tell if a request has the result of a tool call."""
    parts = (part for content in objects(body.get("contents")) for part in objects(content.get("parts")))
    return any("functionResponse" in part for part in parts)


def is_streamed(path: str, body: Body) -> bool:  # noqa: ARG001 the Protocol's signature
    """Tell if the request asks for a stream."""
    return "streamGenerateContent" in path


def count() -> dict[str, Any]:
    """Return the answer to a count of tokens."""
    return {"totalTokens": USAGE["promptTokenCount"]}


def whole(body: Body, answer: ScriptedAnswer) -> dict[str, Any]:
    """Return an answer in one piece."""
    part: dict[str, Any] = {"text": answer.text}
    if call := answer.call:
        part = {"functionCall": {"name": call.tool, "args": call.arguments}, "thoughtSignature": "c2lnbmVk"}
    return _chunk(body, part, "STOP", USAGE)


def events(body: Body, answer: ScriptedAnswer) -> Iterator[str]:
    """Yield an answer as server-sent events; each one states what was used so far."""
    so_far = {"promptTokenCount": USAGE["promptTokenCount"], "totalTokenCount": USAGE["promptTokenCount"]}
    if not answer.call:
        yield _event(_chunk(body, {"text": answer.text[:4]}, None, so_far))
        yield _event(whole(body, ScriptedAnswer(answer.text[4:])))
        return
    yield _event(_chunk(body, {"text": "", "thought": True}, None, so_far))
    yield _event(whole(body, answer))


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\r\n\r\n"


def _chunk(body: Body, part: dict[str, Any], reason: str | None, usage: dict[str, int]) -> dict[str, Any]:
    candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
    return {
        "candidates": [{**candidate, **({"finishReason": reason} if reason else {})}],
        "usageMetadata": usage,
        "modelVersion": "scripted",
        "responseId": f"scripted-{has_result(body):d}",
    }
