"""The Responses API: identity, size and cost of requests; tokens, end and calls of responses.

Names of keys, items and events are those of the SDK openai 3.57.0 and of developers.openai.com/api/docs (2026-11-28).
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import orjson
from pydantic import JsonValue

from scylla_gha.lenient_json import inner_object
from scylla_gha.model.traffic import Component, ModelInfo, ServerToolUse, Tokens
from scylla_gha.providers import answers
from scylla_gha.providers.answers import INPUT, AnswerReader, ArgumentsPlace, TextDelta, count
from scylla_gha.providers.base import (
    USES_TOOL,
    Body,
    Circumstances,
    ConversationDigests,
    CostTerms,
    ModelQuestion,
    ModelRequest,
    Spans,
    ToolResult,
    objects,
    parse_object,
)
from scylla_gha.providers.json_requests import (
    BYTES_PER_TOKEN,
    FULL_CONTEXT,
    LONGEST_RESULT,
    LONGEST_TOOL_NAME,
    accepted_settings,
    beginnings,
    keyed_hash,
    model_of,
    request_digest,
    shown_content,
    stated_code,
    text_length,
    texts_of,
    token_limit,
    unambiguous_object,
    with_accepted,
    with_limit,
)

_LIMIT: Final = "max_output_tokens"
# Keys for the client's bookkeeping, which the model does not see. `input[].id` also differs in each run.
_BOOKKEEPING: Final = frozenset(
    {"client_metadata", "prompt_cache_key", "metadata", "safety_identifier", "user", "stream_options"}
)
_STATE: Final = ("previous_response_id", "conversation", "prompt", "background")  # held by the provider
# Tools that the client runs, and the search among tools that the request itself declares.
_CLIENT_TOOLS: Final = frozenset(
    {"function", "custom", "local_shell", "apply_patch", "computer", "computer_use_preview", "tool_search"}
)
_REMOTE_ITEMS: Final = {
    "item_reference": "item_reference",
    "mcp_approval_response": "mcp",
    "compaction_trigger": "compaction",
}
_USES: Final = 10  # of a provider's tool, if the request sets no bound
# An upper bound: `original` detail takes up to 10,000 patches (guides, images and vision). The base64 is also counted
# as text, since gpt-5.4-mini was seen to charge it so (community.openai.com/t/1380539, 2026-11-28).
IMAGE_TOKENS: Final = 10_000
_STANDARD_TIERS: Final = frozenset({"auto", "default", "standard"})


def parse_request(
    body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = (), *, counting: bool = False
) -> ModelRequest:
    """Parse a request; `hide` replaces folders and secrets, which differ between equal runs, as `circumstances` do.

    Raises:
        InvalidRequestError: it is not a JSON object with a model, or two programs could parse it differently.
    """
    content = unambiguous_object(body)[0]
    shown = shown_content(content, body, hide)
    items = _items(shown)
    asked = {key: value for key, value in shown.items() if key not in _BOOKKEEPING}
    asked["input"] = [{key: value for key, value in item.items() if key != "id"} for item in items]
    text = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    return ModelRequest(
        body=body,
        model=model_of(content),
        streamed=content.get("stream") is True,
        digest=request_digest(text, circumstances, b"input_tokens:" if counting else b""),
        characters=_components(shown, items),
        counting=counting,
        conversation=_conversation_digests(shown, asked["input"]),
        terms=cost_terms(content, len(body)),
        loaded_tools=_loaded_tools(items),
        results=() if counting else tuple(_new_results(items)),
    )


def ask(question: ModelQuestion) -> tuple[str, Body]:
    """Return path and body of a request that asks a question.

    The mode for JSON needs the word "json" in the input, where `instructions` do not count, so the system prompt is a
    message (github.com/BigDawnGhost/wenyi/pull/66, 2026-07-14). The provider does not store the response.
    """
    body: Body = {
        "model": question.model,
        "input": [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}],
        _LIMIT: question.max_tokens,
        "stream": True,
        "store": False,
        **({"text": {"format": {"type": "json_object"}}} if question.is_json else {}),
        **({} if question.temperature is None else {"temperature": question.temperature}),
    }
    return "/v1/responses", body


def _items(content: Body) -> list[Body]:
    """Return the items of the input; a text is a message of the user."""
    value = content.get("input")
    return [{"role": "user", "content": value}] if isinstance(value, str) else objects(value)


def _kind(item: Body) -> str:
    return str(item.get("type") or "message")


def _is_answer(item: Body) -> bool:
    return item.get("role") == "assistant" or _kind(item) == "reasoning" or _kind(item).endswith("_call")


def _components(content: Body, items: list[Body]) -> dict[Component, int]:
    """Count the characters of the text by component; pictures and files are left out."""
    sizes: Counter[Component] = Counter()
    sizes["system_prompt"] = text_length(content.get("instructions"))
    sizes["tool_schemas"] = len(orjson.dumps(content["tools"])) if content.get("tools") else 0
    for item in items:
        component, size = _component(item)
        sizes[component] += size
    return {component: size for component, size in sizes.items() if size}


def _component(item: Body) -> tuple[Component, int]:
    match _kind(item):
        case "message":
            is_system = item.get("role") in {"system", "developer"}
            return "system_prompt" if is_system else "conversation", text_length(item.get("content"))
        case "additional_tools" | "tool_search_output":
            return "tool_schemas", len(orjson.dumps(item.get("tools")))
        case str(kind) if kind.endswith("_output"):
            return "tool_output", _output_length(item.get("output"))
        case str(kind) if kind.endswith("_call"):
            arguments = item.get("arguments") or item.get("input") or item.get("action") or item.get("operation")
            return "tool_input", len(arguments) if isinstance(arguments, str) else len(orjson.dumps(arguments))
        case _:
            return "conversation", text_length(item.get("summary"))


def _output_length(output: object) -> int:
    return len(output) if isinstance(output, str) else sum(len(text) for text in _output_texts(output))


def _output_texts(output: object) -> Iterator[str]:
    """Yield the texts of a tool's output: a text, parts with a text, or a shell's streams."""
    yield from texts_of(output)
    streams = (part.get(name) for part in objects(output) for name in ("stdout", "stderr"))
    yield from (text for text in streams if isinstance(text, str))


def _loaded_tools(items: list[Body]) -> tuple[str, ...]:
    """Return the deferred tools whose definitions a search has put into the conversation."""
    loaded = [tool for item in items if _kind(item) == "tool_search_output" for tool in objects(item.get("tools"))]
    tools = [inner for tool in loaded for inner in (objects(tool.get("tools")) or [tool])]
    names = {name for tool in tools if isinstance(name := tool.get("name"), str) and len(name) <= LONGEST_TOOL_NAME}
    return tuple(sorted(names))


def _new_results(items: list[Body]) -> Iterator[ToolResult]:
    """Yield the results of tool calls after the last answer."""
    after = itertools.takewhile(lambda item: not _is_answer(item), reversed(items))
    for item in reversed(list(after)):
        if _kind(item).endswith("_output") and isinstance(call := item.get("call_id"), str):
            text = "\n".join(_output_texts(item.get("output")))[:LONGEST_RESULT]
            yield ToolResult(call, text, failed=item.get("status") == "failed")


def _conversation_digests(content: Body, items: list[Body]) -> ConversationDigests:
    """Compute the digests. A conversation opens with the user's messages before the first answer.

    The prompt cache key identifies a conversation; in Codex's requests it is the id of the thread.
    """
    opening = [item for item in itertools.takewhile(lambda item: not _is_answer(item), items) if _is_users(item)]
    system = [item for item in items if _kind(item) == "message" and not _is_users(item) and not _is_answer(item)]
    key = content.get("prompt_cache_key")
    session = [key, content.get("instructions"), system[:1]] if isinstance(key, str) else None
    return ConversationDigests(
        opening=keyed_hash(opening),
        shorter=beginnings(opening),
        session=keyed_hash(session) if session else b"",
        messages=keyed_hash(items),
    )


def _is_users(item: Body) -> bool:
    return _kind(item) == "message" and item.get("role") == "user"


def cost_terms(content: Body, size: int) -> CostTerms:
    """Read the terms of a request of `size` bytes."""
    items = _items(content)
    declared = [tool for item in items if _kind(item) == "additional_tools" for tool in objects(item.get("tools"))]
    kinds = [kind for tool in (*objects(content.get("tools")), *declared) for kind in _server_tools(tool)]
    parts = [part for item in items for part in _parts(item)]
    tools = {*kinds, *(key for key in _STATE if content.get(key)), *_sources(parts)}
    tools |= {name for item in items if (name := _REMOTE_ITEMS.get(_kind(item)))}
    bound = content.get("max_tool_calls")
    uses = (bound if isinstance(bound, int) and bound >= 0 else _USES) if kinds else 0
    images = sum(part.get("type") == "input_image" for part in parts)
    has_file = any(part.get("type") not in {"input_image", "input_text", "output_text"} for part in parts)
    return CostTerms(
        max_tokens=token_limit(content, _LIMIT),
        prompt_tokens=FULL_CONTEXT if has_file else -(-size // BYTES_PER_TOKEN) + images * IMAGE_TOKENS,
        caches=True,  # the provider decides
        use=ServerToolUse(tier=tier_of(content), searches=uses if "web_search" in kinds else 0),
        uses=uses,
        tools=frozenset(tools),
        fallbacks=(),
        edits=tuple(str(edit.get("type")) for edit in objects(content.get("context_management"))),
        limitable=True,
    )


def tier_of(content: Body) -> str:
    """Return the service tier of a request or an answer; `standard` for all names of the default tier."""
    tier = content.get("service_tier")
    return "standard" if tier is None or tier in _STANDARD_TIERS else str(tier)


def _server_tools(tool: Body) -> Iterator[str]:
    """Yield the names of tools that run at the provider; versions of the web search have one name."""
    kind = str(tool.get("type"))
    if kind == "namespace":
        for inner in objects(tool.get("tools")):
            yield from _server_tools(inner)
    elif kind == "shell" and inner_object(tool, "environment").get("type", "local") == "local":
        return
    elif kind not in _CLIENT_TOOLS:
        yield "web_search" if kind.startswith("web_search") else kind


def _parts(item: Body) -> Iterator[Body]:
    """Yield the parts of an item that hold texts, pictures and files."""
    for name in ("content", "output"):
        yield from (part for part in objects(item.get(name)) if str(part.get("type")).startswith(("input_", "output_")))


def _sources(parts: list[Body]) -> Iterator[str]:
    """Yield `url_source` and `file_source` for parts that the provider would fetch."""
    for part in parts:
        url = part.get("image_url")
        if part.get("file_url") or (isinstance(url, str) and not url.startswith("data:")):
            yield "url_source"
        if part.get("file_id"):
            yield "file_source"


def apply_settings(request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None) -> ModelRequest:
    """Return the request with the settings that its model accepts."""
    if not settings:
        return request
    accepted = accepted_settings(settings, model)
    named = {_LIMIT if name == "max_tokens" else name: value for name, value in accepted.items()}
    return with_accepted(request, settings, accepted, {**cast("Body", parse_object(request.body)), **named})


def lower_max_tokens(request: ModelRequest, max_tokens: int) -> ModelRequest:
    """Return the request with an answer of at most `max_tokens`."""
    return with_limit(request, max_tokens, lambda content: {**content, _LIMIT: max_tokens})


_ENDS: Final = {"response.completed", "response.incomplete", "response.failed"}
_SKIPPED: Final = b".delta"


@dataclass
class ResponseUsage(AnswerReader):
    """Reader of one response."""

    searches: int = 0
    is_unpriced: bool = False
    _has_items: bool = False

    @property
    def tokens(self) -> Tokens | None:
        """Tokens by kind; None if the response did not end, or does not state its usage."""
        if not (self.complete and "input_tokens" in self.usage and "output_tokens" in self.usage):
            return None
        details = inner_object(self.usage, "input_tokens_details")
        written = count(details.get("cache_write_tokens"))
        long_lived = count(inner_object(details, "cache_write_tokens_details").get("ttl_12h_tokens"))
        read = count(details.get("cached_tokens"))
        sent, answered = count(self.usage["input_tokens"]), count(self.usage["output_tokens"])
        if sent is None or answered is None or read is None or written is None or long_lived is None:
            return None
        return Tokens(
            input=max(0, sent - read - written),
            output=answered,
            cache_read=read,
            cache_write_5m=max(0, written - long_lived),
            cache_write_1h=long_lived,
            reasoning=count(inner_object(self.usage, "output_tokens_details").get("reasoning_tokens")),
        )

    @property
    def use(self) -> ServerToolUse:
        """Use of server tools and service tiers."""
        return ServerToolUse(tier=tier_of(self.usage), searches=self.searches, unpriced=self.is_unpriced)

    def _skips(self, line: bytes | bytearray) -> bool:
        return self._event_name.endswith(_SKIPPED) or line.startswith(b"data: [")

    def _texts(self, event: Body) -> Iterator[str]:
        is_text = event.get("type") == "response.output_text.delta"
        return (str(holder[key]) for _, holder, key in _deltas(event) if is_text)

    def _event(self, event: Body) -> None:
        kind = event.get("type")
        if kind == "response.output_item.added":
            self.has_call |= str(inner_object(event, "item").get("type")).endswith("_call")
        elif kind == "response.output_item.done":
            self._item(event.get("output_index"), inner_object(event, "item"))
        elif kind in _ENDS:
            self._ended(inner_object(event, "response"))
        elif kind == "error":
            self.error = str(event.get("code") or "error")

    def _whole(self, answer: Body) -> None:
        if answer.get("object") == "response":
            self._ended(answer)
        elif "input_tokens" in answer:  # a count of tokens
            self.complete = True
        elif "error" in answer:
            error = inner_object(answer, "error")
            self.error = stated_code(error) or "error"

    def _ended(self, response: Body) -> None:
        """Read the response at its end; its items were read before, or are in it."""
        if not self._has_items:
            for index, item in enumerate(objects(response.get("output"))):
                self._item(index, item)
        self._update(response.get("usage"))
        self._update({"service_tier": response.get("service_tier")})
        status = str(response.get("status") or "completed")
        self.complete = status in {"completed", "incomplete", "failed"}
        if status == "failed":
            self.error = str(inner_object(response, "error").get("code") or "failed")
        reason = inner_object(response, "incomplete_details").get("reason")
        self.stop_reason = str(reason or self.stop_reason or (USES_TOOL if self._blocks else status))

    def _item(self, index: object, item: Body) -> None:
        """Record a call of a client's tool, a use of a provider's tool, or a refusal."""
        self._has_items = True
        kind = str(item.get("type"))
        if kind == "web_search_call":
            self.searches += inner_object(item, "action").get("type", "search") == "search"
        elif kind == "custom_tool_call":
            self._add_call(index, item.get("call_id"), _tool_name(item), {"input": item.get("input")})
        elif kind == "function_call":
            if call := self._add_call(index, item.get("call_id"), _tool_name(item), {}):
                call.add(item.get("arguments"))
        elif kind in {"local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call"}:
            arguments = inner_object(item, "action") or inner_object(item, "operation")
            self._add_call(index, item.get("call_id"), kind.removesuffix("_call"), arguments)
        elif kind.endswith("_call"):
            self.is_unpriced = True
        elif any(part.get("type") == "refusal" for part in objects(item.get("content"))):
            self.stop_reason = "refusal"


def _tool_name(item: Body) -> object:
    """Return the name of a call's tool, with its namespace as in `mcp__clock__now`."""
    namespace = item.get("namespace")
    return f"{namespace}__{item.get('name')}" if isinstance(namespace, str) else item.get("name")


def replace_arguments(body: bytes, arguments: Mapping[object, Body], *, streamed: bool) -> bytes:
    """Return the answer with other arguments of some calls."""
    return answers.replace_arguments(body, arguments, _argument_places, streamed=streamed)


_PIECES: Final = {
    "response.function_call_arguments.delta": ("delta", True),
    "response.function_call_arguments.done": ("arguments", False),
    "response.custom_tool_call_input.delta": ("delta", True),
    "response.custom_tool_call_input.done": (INPUT, False),
}


def _argument_places(events: Sequence[Body]) -> Iterator[ArgumentsPlace]:
    """Yield the places; a call is known by its item's position in the output, and at the end by its id."""
    positions: dict[object, object] = {}
    for at, event in enumerate(events):
        position, kind = event.get("output_index"), str(event.get("type"))
        if kind in _PIECES:
            key, is_piece = _PIECES[kind]
            yield ArgumentsPlace(at, position, event, key, is_piece=is_piece, is_text="custom" in kind)
        elif item := inner_object(event, "item"):
            positions[item.get("call_id")] = position
            yield from _item_places(at, position, item)
        response = inner_object(event, "response") or event
        for number, item in enumerate(objects(response.get("output"))):
            yield from _item_places(at, positions.get(item.get("call_id"), number), item)


def _item_places(event: int, position: object, item: Body) -> Iterator[ArgumentsPlace]:
    for key in ("arguments", INPUT, "action", "operation"):
        if item.get(key):
            yield ArgumentsPlace(event, position, item, key, is_text=key == INPUT)


def join_split(body: bytes, spans: Spans) -> bytes:
    """Return the stream; each piece of text that ends inside a span is extended to the span's end."""
    return answers.join_split(body, spans, _deltas)


def _deltas(event: Body) -> Iterator[TextDelta]:
    if str(event.get("type")).endswith(".delta") and isinstance(event.get("delta"), str):
        text = (event.get("type"), event.get("item_id"), event.get("content_index"), event.get("summary_index"))
        yield text, event, "delta"
