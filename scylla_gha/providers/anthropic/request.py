"""Requests of the Messages API: their identity, conversation, size and cost, and changes of settings and limits.

The estimate of a prompt is too low only if text has more than one token per two bytes, or for what the provider's own
tools add to the prompt (docs/costs.md).
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, cast

import ahocorasick_rs
import orjson
from pydantic import JsonValue

from scylla_gha.model.traffic import Component, ModelInfo, ServerToolUse
from scylla_gha.providers.base import (
    Body,
    Circumstances,
    ConversationDigests,
    CostTerms,
    ModelQuestion,
    ModelRequest,
    ToolResult,
    objects,
    parse_object,
)
from scylla_gha.providers.json_requests import (
    BYTES_PER_TOKEN,
    LONGEST_RESULT,
    LONGEST_TOOL_NAME,
    accepted_settings,
    beginnings,
    keyed_hash,
    model_of,
    request_digest,
    shown_content,
    text_length,
    texts_of,
    token_limit,
    unambiguous_object,
    with_accepted,
)

# Texts about the date and the machine that the CLI writes into its requests: first words, pattern, replacement.
_CIRCUMSTANCES: Final = (
    (b"Today's date is ", re.compile(rb"Today's date is \d{4}-\d\d-\d\d"), b"Today's date is DATE"),
    (b"OS Version: ", re.compile(rb'OS Version: [^\\"]*'), b"OS Version: SYSTEM"),
)
_CACHING: Final = b"cache_control"
_WORDS: Final = (*(words for words, _, _ in _CIRCUMSTANCES), _CACHING)
_SEARCH: Final = ahocorasick_rs.BytesAhoCorasick(_WORDS)  # takes a twentieth of the time of three `in` on a large body
_SEARCH_BYTES: Final = 256 * 1024  # of one search
_MAX_TOKENS: Final = re.compile(rb'"max_tokens"\s*:\s*\d+')
_MIN_THINKING_TOKENS: Final = 1_024  # (platform.claude.com/docs, extended thinking, 2026-11-22)
_BILLING: Final = "x-anthropic-billing-header:"
# An image is cut into patches of 28 x 28 pixels, 2,576 pixels at its long edge and 4,784 patches at most
# (platform.claude.com/docs, vision, 2026-11-22). A PDF may have 600 pages, each an image and up to 3,000 tokens of text
# (PDF support, the same day), which fills any model's context: every PDF is counted as that.
_IMAGE_TOKENS: Final = 4_784
_PDF_TOKENS: Final = 600 * (_IMAGE_TOKENS + 3_000)
_DEFAULT_USES: Final = 10  # of a provider's tool, if the request sets no bound
# Kinds of tools that the client runs, and the search among tools that the request itself declares.
_CLIENT_TOOLS: Final = re.compile(
    r"custom|(bash|text_editor|computer|computer_toolset|memory|tool_search_tool_(bm25|regex))_\d{8}"
)
# Edits of a prompt that leave something out of it (platform.claude.com/docs, context editing, 2026-11-22). Others make
# the provider read it once more (compact_20260112), for an answer that max_tokens do not limit.
_CLEARING_EDITS: Final = re.compile(r"clear_(tool_uses|thinking)_\d{8}")
_VERSION: Final = re.compile(r"_\d{8}$")
_SOURCES: Final = frozenset({"base64", "text", "content"})  # that are in the request, and not fetched
_STANDARD_USE: Final = ServerToolUse()
_STATE: Final = ("mcp_servers", "container", "thread")  # held or reached by the provider, so not in the request


def parse_request(
    body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = (), *, counting: bool = False
) -> ModelRequest:
    """Parse a request; `hide` replaces folders and secrets, which differ between equal runs, as `circumstances` do.

    Raises:
        InvalidRequestError: it is not a JSON object with a model, or two programs could parse it differently.
    """
    content, written = unambiguous_object(body)
    caches = _CACHING in _words_in(written)  # orjson escapes no letter
    del written
    model, max_tokens = model_of(content), token_limit(content, "max_tokens")
    shown = shown_content(content, body, hide)
    asked = _without_client(shown)
    return ModelRequest(
        body=body,
        model=model,
        streamed=content.get("stream") is True,
        digest=_digest_of(asked, circumstances, counting=counting),
        characters=_components(shown),
        counting=counting,
        conversation=_conversation_digests(asked, content.get("metadata")),
        terms=cost_terms(content, len(body), caches=caches),
        probing=max_tokens == 1,
        loaded_tools=_loaded_tools(content),
        results=() if counting else tuple(_new_results(shown)),
    )


def ask(question: ModelQuestion) -> tuple[str, Body]:
    """Return path and body of a request that asks a question.

    JSON is asked for by the prompt alone: newer models refuse a forced tool call, and some accept no schema.
    """
    body: Body = {
        "model": question.model,
        "max_tokens": question.max_tokens,
        "system": question.system,
        "messages": [{"role": "user", "content": question.user}],
        "stream": True,
    }
    # Newest models refuse a temperature; the caller knows what a model accepts.
    return "/v1/messages", body if question.temperature is None else {**body, "temperature": question.temperature}


def _words_in(text: bytes) -> set[bytes]:
    """Return the words that are in a text; a long one is searched in parts, since each match takes memory."""
    overlap = max(map(len, _WORDS)) - 1
    numbers: set[int] = set()
    for start in range(0, len(text), _SEARCH_BYTES):
        part = text[start : start + _SEARCH_BYTES + overlap]
        numbers.update(number for number, _, _ in _SEARCH.find_matches_as_indexes(part))
    return {_WORDS[number] for number in numbers}


def _without_client(content: Body) -> Body:
    """Return the content without the client's ids."""
    asked = {key: value for key, value in content.items() if key != "metadata"}  # ids of device, account and session
    if isinstance(asked.get("system"), list):
        asked["system"] = [
            block
            for block in asked["system"]
            if not (isinstance(block, dict) and str(block.get("text", "")).startswith(_BILLING))
        ]
    return asked


def _digest_of(asked: Body, circumstances: Circumstances, *, counting: bool) -> str:
    """Return the SHA-256 of a request without client, date and machine: equal for equal requests of two runs."""
    text = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    present = _words_in(text)
    replaced = [(pattern, constant) for words, pattern, constant in _CIRCUMSTANCES if words in present]
    return request_digest(text, (*replaced, *circumstances), b"count_tokens:" if counting else b"")


def _components(content: Body) -> dict[Component, int]:
    """Count the characters of the text by component; pictures and documents in base64 are left out."""
    sizes: Counter[Component] = Counter()
    sizes["system_prompt"] = text_length(content.get("system"))
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
            return "tool_output", text_length(block.get("content"))
        case _:
            return "conversation", text_length(block.get("text") or block.get("thinking"))


def _loaded_tools(content: Body) -> tuple[str, ...]:
    """Return the tools that are sent with `defer_loading` and that a search result names.

    (platform.claude.com/docs, tool search tool, 2026-11-27)
    """
    names = (tool.get("name") for tool in objects(content.get("tools")) if tool.get("defer_loading") is True)
    deferred = {name for name in names if isinstance(name, str) and len(name) <= LONGEST_TOOL_NAME}
    if not deferred:
        return ()
    blocks = (block for message in objects(content.get("messages")) for block in objects(message.get("content")))
    parts = (part for block in blocks for part in objects(block.get("content")))
    loaded = {str(part.get("tool_name")) for part in parts if part.get("type") == "tool_reference"}
    return tuple(sorted(deferred & loaded))


def _new_results(content: Body) -> Iterator[ToolResult]:
    """Yield the results of tool calls in the messages after the last answer."""
    messages = objects(content.get("messages"))
    after = itertools.takewhile(lambda message: message.get("role") != "assistant", reversed(messages))
    for message in reversed(list(after)):
        for block in objects(message.get("content")):
            if block.get("type") == "tool_result":
                text = "\n".join(texts_of(block.get("content")))[:LONGEST_RESULT]
                yield ToolResult(str(block.get("tool_use_id")), text, failed=block.get("is_error") is True)


def _conversation_digests(content: Body, metadata: object) -> ConversationDigests:
    """Compute the digests of a request's content and of the client's session id in its metadata."""
    messages = content["messages"] if isinstance(content.get("messages"), list) else []
    client = metadata.get("user_id") if isinstance(metadata, dict) else None
    session = [client, _without_cache_marks(content.get("system"))] if isinstance(client, str) else None
    first = messages[0].get("content") if messages and isinstance(messages[0], dict) else None
    parts = [_without_cache_marks(part) for part in (first if isinstance(first, list) else [first])]
    opening = keyed_hash(parts)
    return ConversationDigests(
        opening=opening,
        shorter=beginnings(parts),
        session=keyed_hash(session) if session else b"",
        client=keyed_hash(client) if isinstance(client, str) else b"",
        messages=keyed_hash([opening.hex(), *messages[1:]]),  # the first one may be long, so it is hashed once
    )


def _without_cache_marks(part: object) -> object:
    """Return a part of a request without its cache marks, which move from request to request."""
    if isinstance(part, list):
        return [_without_cache_marks(item) for item in part]
    if isinstance(part, dict):
        return {key: value for key, value in part.items() if key != "cache_control"}
    return {"type": "text", "text": part} if isinstance(part, str) else part


def apply_settings(request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None) -> ModelRequest:
    """Return the request with the settings that its model accepts and its thinking allows."""
    if not settings:
        return request
    content = cast("Body", parse_object(request.body))
    accepted = {
        name: value for name, value in accepted_settings(settings, model).items() if _allowed(content, name, value)
    }
    return with_accepted(request, settings, accepted, {**content, **accepted})


def _allowed(content: Body, name: str, value: JsonValue) -> bool:
    """Tell if the model's token limit and the request's thinking, which rules out a temperature, allow a setting."""
    thinking = content.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") == "disabled":
        return True
    if name == "temperature":
        return False
    budget = thinking.get("budget_tokens")
    return not isinstance(budget, int) or (isinstance(value, int) and value > budget)


def lower_max_tokens(request: ModelRequest, max_tokens: int) -> ModelRequest:
    """Return the request with an answer of at most `max_tokens`, and its thinking within that."""
    before = request.terms.max_tokens
    if before is None or before <= max_tokens:
        return request
    body = _with_max_tokens(request.body, before, max_tokens)
    return replace(request, body=body, terms=replace(request.terms, max_tokens=max_tokens))


def _with_max_tokens(body: bytes, before: int, after: int) -> bytes:
    content = cast("Body", parse_object(body))
    thinking = content.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(thinking, dict) and isinstance(budget, int) and budget >= after:
        fitting = max(_MIN_THINKING_TOKENS, budget * after // before)
        return orjson.dumps(
            {**content, "max_tokens": after, "thinking": {**thinking, "budget_tokens": min(fitting, after - 1)}}
        )
    if len(_MAX_TOKENS.findall(body)) == 1 and b'"max_tokens"' in body:
        return _MAX_TOKENS.sub(b'"max_tokens":%d' % after, body)
    return orjson.dumps({**content, "max_tokens": after})


def cost_terms(content: Body, size: int, *, caches: bool) -> CostTerms:
    """Read the terms of a request.

    Args:
        content: the parsed request.
        size: its length in bytes.
        caches: the request may ask the provider to cache parts of it.
    """
    parts = _CostedParts(content)
    text_tokens = -(-max(0, size - parts.encoded_bytes) // BYTES_PER_TOKEN)
    return CostTerms(
        max_tokens=content.get("max_tokens"),
        prompt_tokens=text_tokens + parts.images * _IMAGE_TOKENS + parts.documents * _PDF_TOKENS,
        caches=caches,
        use=_use(content, parts.searches),
        uses=parts.uses,
        tools=frozenset(parts.tools),
        fallbacks=_fallbacks(content),
        edits=_edits(content),
    )


def _use(content: Body, searches: int) -> ServerToolUse:
    speed, tier = _word(content, "speed", _STANDARD_USE.speed), _tier(content)
    region = _word(content, "inference_geo", _STANDARD_USE.region)
    if (speed, tier, region, searches) == (_STANDARD_USE.speed, _STANDARD_USE.tier, _STANDARD_USE.region, 0):
        return _STANDARD_USE
    return ServerToolUse(speed=speed, tier=tier, region=region, searches=searches)


class _CostedParts:
    """Parts of a request that cost more than their text, collected in one pass."""

    def __init__(self, content: Body) -> None:
        self.encoded_bytes = self.images = self.documents = self.uses = self.searches = 0
        self.tools = {key for key in _STATE if content.get(key)}
        for tool in objects(content.get("tools")):
            self._tool(tool)
        self._blocks(content.get("system"))
        for message in objects(content.get("messages")):
            self._blocks(message.get("content"))

    def _tool(self, tool: Body) -> None:
        kind = tool.get("type")
        if kind is None or (isinstance(kind, str) and _CLIENT_TOOLS.fullmatch(kind)):
            return
        name = _VERSION.sub("", str(kind))
        uses = tool.get("max_uses")
        bound = uses if isinstance(uses, int) and uses >= 0 else _DEFAULT_USES
        self.tools.add(name)
        self.uses += bound
        self.searches += bound if name == "web_search" else 0

    def _blocks(self, blocks: object) -> None:
        for block in objects(blocks):
            match block.get("type"):
                case "image" | "document":
                    self._source(block)
                case "tool_addition":
                    for tool in _inline(block):
                        self._tool(tool)
                case "container_upload":
                    self.tools.add("container")
                case _:
                    self._blocks(block.get("content"))

    def _source(self, block: Body) -> None:
        source = block.get("source")
        source = source if isinstance(source, dict) else {}
        if source.get("type") not in _SOURCES:
            self.tools.add(f"{source.get('type')}_source")
        elif source.get("type") == "content":
            self._blocks(source.get("content"))
        elif source.get("type") == "base64":
            self.encoded_bytes += len(str(source.get("data") or ""))
            self.images += block["type"] == "image"
            self.documents += block["type"] == "document"


def _fallbacks(content: Body) -> tuple[str, ...]:
    asked = content.get("fallbacks")
    return (tuple(str(model.get("model")) for model in objects(asked)) or ("default",)) if asked else ()


def _inline(block: Body) -> Iterator[Body]:
    """Yield the tool that a message adds; skip references to the request's other tools, but not to MCP tools."""
    tool = block.get("tool")
    if isinstance(tool, dict) and isinstance(tool.get("definition"), dict):
        yield tool["definition"]
    elif isinstance(tool, dict) and "mcp" in str(tool.get("type")):
        yield {"type": "mcp_toolset"}


def _edits(content: Body) -> tuple[str, ...]:
    managed = content.get("context_management")
    requested = objects(managed.get("edits")) if isinstance(managed, dict) else []
    kinds = [str(edit.get("type")) for edit in requested] + ["compaction"] * bool(content.get("compaction"))
    return tuple(kind for kind in kinds if not _CLEARING_EDITS.fullmatch(kind))


def _tier(content: Body) -> str:
    """Return the requested tier; the standard tier if the provider may choose."""
    asked = _word(content, "service_tier", "auto")
    return "standard" if asked in {"auto", "standard_only"} else asked


def _word(content: Body, key: str, usual: str) -> str:
    value = content.get(key)
    return usual if value is None else str(value)
