"""Parser of requests of the Messages API: identity for recordings, conversation, size by component, cost terms."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from scylla_gha.model.traffic import Component
from scylla_gha.providers.anthropic.cost_terms import cost_terms
from scylla_gha.providers.base import Body, InvalidRequestError, ModelRequest, RequestDigests

# What the CLI writes into its requests about the date and the machine.
_CIRCUMSTANCES: Final = (
    (re.compile(rb"Today's date is \d{4}-\d\d-\d\d"), b"Today's date is DATE"),
    (re.compile(rb'OS Version: [^\\"]*'), b"OS Version: SYSTEM"),
)
_BILLING: Final = "x-anthropic-billing-header:"


def parse_request(body: bytes, hide: Callable[[bytes], bytes], *, counting: bool = False) -> ModelRequest:
    """Parse a request; `hide` replaces folders and secrets, which differ between equal runs.

    Raises:
        InvalidRequestError: it is not a JSON object with a model, or two programs could parse it differently.
    """
    content, caches = _unambiguous(body)
    if not isinstance(content.get("model"), str):
        raise InvalidRequestError("the request is not a JSON object with a model")
    max_tokens = content.get("max_tokens")
    if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 0):
        raise InvalidRequestError("max_tokens must be a whole number")
    shown = _shown(content, body, hide)
    asked = _without_client(shown)
    return ModelRequest(
        body=body,
        model=content["model"],
        streamed=content.get("stream") is True,
        digest=_digest_of(asked, counting=counting),
        characters=_components(shown),
        counting=counting,
        marks=request_digests(asked, content.get("metadata")),
        terms=cost_terms(content, len(body), caches=caches),
        probing=max_tokens == 1,
    )


def _shown(content: Body, body: bytes, hide: Callable[[bytes], bytes]) -> Body:
    """Return the content with aliases for folders and without secrets."""
    hidden = hide(body)
    return content if hidden == body else _unambiguous(hidden)[0]


def _unambiguous(body: bytes) -> tuple[Body, bool]:
    """Parse an object in which no key is repeated at any depth; also tell if it may ask to cache.

    The objects are large, so few are alive at a time: allocating memory anew for each request costs time.
    """
    content = parse_object(body)
    if content is None:
        raise InvalidRequestError("the request is not a JSON object with a model")
    try:
        written = orjson.dumps(content)
    except orjson.JSONEncodeError:
        raise InvalidRequestError("the request is nested too deep") from None
    if written != body and _quotes(body) != written.count(b'"'):
        try:
            json.loads(body, object_pairs_hook=_require_unique_keys)
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(str(error)) from None
    return content, b"cache_control" in written  # orjson escapes no letter


def _quotes(body: bytes) -> int:
    """Count quotation marks, including those written as escapes.

    Each string has at least as many here as in what orjson writes, so if the sums are equal, orjson dropped no key.
    """
    return body.count(b'"') + (body.count(b"\\u0022") if b"\\" in body else 0)


def _require_unique_keys(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise InvalidRequestError(f"the key {key[:80]!r} is repeated in an object of the request")
        seen.add(key)


def _without_client(content: Body) -> Body:
    """Return the content without the client's ids."""
    asked = {key: value for key, value in content.items() if key != "metadata"}  # ids of device, account and session
    if isinstance(asked.get("system"), list):
        asked["system"] = [block for block in asked["system"] if not _is_billing(block)]
    return asked


def _digest_of(asked: Body, *, counting: bool) -> str:
    """Return the SHA-256 of a request without client, date and machine: equal for equal requests of two runs."""
    text = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    for pattern, constant in _CIRCUMSTANCES:
        text = pattern.sub(constant, text)
    return hashlib.sha256((b"count_tokens:" if counting else b"") + text).hexdigest()


def _components(content: Body) -> dict[Component, int]:
    """Count the characters of the text by component; pictures and documents in base64 are left out."""
    sizes: Counter[Component] = Counter()
    sizes["system_prompt"] = _length(content.get("system"))
    sizes["tool_schemas"] = len(orjson.dumps(content.get("tools"))) if content.get("tools") else 0
    for message in objects(content.get("messages")):
        blocks = message.get("content")
        if isinstance(blocks, str):
            sizes["conversation"] += len(blocks)
        for block in objects(blocks):
            component, size = _block(block)
            sizes[component] += size
    return {component: size for component, size in sizes.items() if size}


def _block(block: Body) -> tuple[Component, int]:
    match block.get("type"):
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return "tool_input", len(orjson.dumps(block.get("input")))
        case str(kind) if kind.endswith("tool_result"):
            return "tool_output", _length(block.get("content"))
        case _:
            return "conversation", _length(block.get("text") or block.get("thinking"))


def _length(content: object) -> int:
    if isinstance(content, str):
        return len(content)
    return sum(_length(block.get("text") or block.get("content")) for block in objects(content))


def objects(content: object) -> list[Body]:
    """Return the objects of a list; none if it is not a list."""
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _is_billing(block: object) -> bool:
    return isinstance(block, dict) and str(block.get("text", "")).startswith(_BILLING)


def parse_object(body: bytes) -> Body | None:
    """Parse a JSON object; None if it is not one."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) else None


def request_digests(content: Mapping[str, Any], metadata: object) -> RequestDigests:
    """Compute the digests of a request's content and of the client's session id in its metadata."""
    messages = content["messages"] if isinstance(content.get("messages"), list) else []
    client = metadata.get("user_id") if isinstance(metadata, dict) else None
    session = [client, _bare(content.get("system"))] if isinstance(client, str) else None
    opening = _digest([_bare(part) for part in _parts(messages[:1])])
    return RequestDigests(
        opening=opening,
        session=_digest(session) if session else b"",
        messages=_digest([opening.hex(), *messages[1:]]),  # the first one may be long, so it is hashed once
    )


def _parts(messages: list[Any]) -> list[Any]:
    content = messages[0].get("content") if messages and isinstance(messages[0], dict) else None
    return content if isinstance(content, list) else [content]


def _bare(part: object) -> object:
    """Return a part of a request without its cache marks, which move from request to request."""
    if isinstance(part, list):
        return [_bare(item) for item in part]
    if isinstance(part, dict):
        return {key: value for key, value in part.items() if key != "cache_control"}
    return {"type": "text", "text": part} if isinstance(part, str) else part


def _digest(value: object) -> bytes:
    return hashlib.sha256(orjson.dumps(value)).digest()  # processors have instructions for it
