"""Chat completions: identity, size and cost terms of requests, and tokens, end and calls of answers.

Names of keys are those of the SDK openai 3.57.0, developers.openai.com/api/docs, and of compatible servers: OpenRouter
(openrouter.ai/docs), vLLM, Ollama and llama.cpp (2026-11-28).
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import orjson
from pydantic import JsonValue

from scylla_gha.lenient_json import inner_object
from scylla_gha.model.traffic import Component, ModelInfo, ServerToolUse, Tokens
from scylla_gha.providers import answers
from scylla_gha.providers.answers import INPUT, LAST, AnswerReader, ArgumentsPlace, TextDelta, count
from scylla_gha.providers.base import (
    USES_TOOL,
    Body,
    Circumstances,
    ConversationDigests,
    CostTerms,
    InvalidRequestError,
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
from scylla_gha.providers.openai.responses import IMAGE_TOKENS, tier_of

LIMITS: Final = ("max_completion_tokens", "max_tokens")  # keys of the answer's limit; the second is the older one
_BOOKKEEPING: Final = frozenset(
    {"metadata", "prompt_cache_key", "safety_identifier", "stream_options", "user", "session_id"}
)
_CLIENT_TOOLS: Final = frozenset({"function", "custom"})
# Keys by which servers search the web or do other work of their own: OpenAI, xAI, Qwen, OpenRouter (the last three).
_SERVER_KEYS: Final = {
    "web_search_options": "web_search",
    "search_parameters": "web_search",
    "enable_search": "web_search",
    "plugins": "plugins",
    "preset": "preset",
    "route": "route",
}
_ONLINE: Final = ":online"  # ends models of OpenRouter that search the web
_TEXT_PARTS: Final = frozenset({"text", "refusal", "thinking", "reasoning"})


def parse_request(body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = ()) -> ModelRequest:
    """Parse a request; `hide` replaces folders and secrets, which differ between equal runs, as `circumstances` do.

    A stream is asked to state its usage, which it does only if the request says so.

    Raises:
        InvalidRequestError: it is not a JSON object with a model, or two programs could parse it differently.
    """
    content = unambiguous_object(body)[0]
    if content.get("n") not in {None, 1}:
        raise InvalidRequestError("n must be 1: the cost of several answers is not limited")
    shown = shown_content(content, body, hide)
    messages = objects(shown.get("messages"))
    text = orjson.dumps(
        {key: value for key, value in shown.items() if key not in _BOOKKEEPING}, option=orjson.OPT_SORT_KEYS
    )
    is_streamed = content.get("stream") is True
    hides_usage = is_streamed and inner_object(content, "stream_options").get("include_usage") is not True
    return ModelRequest(
        body=_asking_for_usage(content) if hides_usage else body,
        model=model_of(content),
        streamed=is_streamed,
        digest=request_digest(text, circumstances),
        characters=_components(shown, messages),
        counting=False,
        conversation=_conversation_digests(shown, messages),
        terms=cost_terms(content, len(body)),
        probing=limit_of(content) == 1,
        results=tuple(_new_results(messages)),
        hides_usage=hides_usage,
    )


def ask(question: ModelQuestion, limit_key: str) -> tuple[str, Body]:
    """Return path and body of a request that asks a question."""
    body: Body = {
        "model": question.model,
        "messages": [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}],
        limit_key: question.max_tokens,
        "stream": True,
        **({"response_format": {"type": "json_object"}} if question.is_json else {}),
        **({} if question.temperature is None else {"temperature": question.temperature}),
    }
    return "/v1/chat/completions", body


def _asking_for_usage(content: Body) -> bytes:
    options = {**inner_object(content, "stream_options"), "include_usage": True}
    return orjson.dumps({**content, "stream_options": options})


def limit_of(content: Body) -> int | None:
    """Return the limit of the answer's tokens; None if the request sets none."""
    limits = [limit for name in LIMITS if (limit := token_limit(content, name)) is not None]
    return max(limits, default=None)


def _components(content: Body, messages: list[Body]) -> dict[Component, int]:
    """Count the characters of the text by component; pictures and files are left out."""
    sizes: Counter[Component] = Counter()
    tools = content.get("tools") or content.get("functions")
    sizes["tool_schemas"] = len(orjson.dumps(tools)) if tools else 0
    for message in messages:
        sizes[_component(message)] += text_length(message.get("content"))
        sizes["conversation"] += text_length(message.get("reasoning_content"))
        sizes["tool_input"] += sum(len(arguments) for arguments in _arguments(message))
    return {component: size for component, size in sizes.items() if size}


def _component(message: Body) -> Component:
    match message.get("role"):
        case "system" | "developer":
            return "system_prompt"
        case "tool" | "function":
            return "tool_output"
        case _:
            return "conversation"


def _arguments(message: Body) -> Iterator[str]:
    for call in objects(message.get("tool_calls")):
        function = inner_object(call, "function") or inner_object(call, "custom")
        arguments = function.get("arguments", function.get("input"))
        yield arguments if isinstance(arguments, str) else ""


def _new_results(messages: list[Body]) -> Iterator[ToolResult]:
    """Yield the results of tool calls after the last answer."""
    after = itertools.takewhile(lambda message: message.get("role") != "assistant", reversed(messages))
    for message in reversed(list(after)):
        if message.get("role") == "tool" and isinstance(call := message.get("tool_call_id"), str):
            text = "\n".join(texts_of(message.get("content")))[:LONGEST_RESULT]
            yield ToolResult(call, text, failed=False)


def _conversation_digests(content: Body, messages: list[Body]) -> ConversationDigests:
    """Compute the digests. A conversation opens with the user's messages before the first answer.

    The key of the prompt's cache, which some clients send, is that of a conversation.
    """
    system = [message for message in messages if _component(message) == "system_prompt"]
    others = [message for message in messages if _component(message) != "system_prompt"]
    opening = [message.get("content") for message in itertools.takewhile(lambda m: m.get("role") == "user", others)]
    key = content.get("prompt_cache_key")
    return ConversationDigests(
        opening=keyed_hash(opening),
        shorter=beginnings(opening),
        session=keyed_hash([key, system[:1]]) if isinstance(key, str) else b"",
        messages=keyed_hash(others),
    )


def cost_terms(content: Body, size: int) -> CostTerms:
    """Read the terms of a request of `size` bytes."""
    parts = [part for message in objects(content.get("messages")) for part in objects(message.get("content"))]
    images = sum(part.get("type") == "image_url" for part in parts)
    has_file = any(part.get("type") not in {"image_url", *_TEXT_PARTS} for part in parts)
    return CostTerms(
        max_tokens=limit_of(content),
        prompt_tokens=FULL_CONTEXT if has_file else -(-size // BYTES_PER_TOKEN) + images * IMAGE_TOKENS,
        caches=True,  # the provider decides
        use=ServerToolUse(tier=tier_of(content)),
        uses=0,
        tools=frozenset({*_server_tools(content), *_sources(parts)}),
        fallbacks=tuple(map(str, models)) if isinstance(models := content.get("models"), list) else (),
        edits=(),
        limitable=True,
    )


def _server_tools(content: Body) -> Iterator[str]:
    """Yield the names of what runs at the provider."""
    for tool in objects(content.get("tools")):
        if (kind := str(tool.get("type", "function"))) not in _CLIENT_TOOLS:
            yield "web_search" if "web_search" in kind else kind
    yield from (name for key, name in _SERVER_KEYS.items() if content.get(key) not in (None, False, []))
    if str(content.get("model")).endswith(_ONLINE):
        yield "web_search"
    if isinstance(kinds := content.get("modalities"), list) and kinds != ["text"]:
        yield from (f"{kind}_output" for kind in kinds if kind != "text")


def _sources(parts: list[Body]) -> Iterator[str]:
    """Yield `url_source` and `file_source` for parts that the provider would fetch."""
    for part in parts:
        for name in ("image_url", "video_url", "audio_url"):
            source = part.get(name)
            url = source.get("url") if isinstance(source, dict) else source
            if isinstance(url, str) and not url.startswith("data:"):
                yield "url_source"
        file = inner_object(part, "file")
        if file.get("file_id") or not str(file.get("file_data", "data:")).startswith("data:"):
            yield "file_source"


def apply_settings(
    request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None, limit_key: str
) -> ModelRequest:
    """Return the request with those settings that its model accepts; a limit that it has is replaced."""
    if not settings:
        return request
    content = cast("Body", parse_object(request.body))
    accepted = accepted_settings(settings, model)
    changed = {**content, **{name: value for name, value in accepted.items() if name != "max_tokens"}}
    if isinstance(limit := accepted.get("max_tokens"), int):
        changed |= dict.fromkeys(_limit_keys(content, limit_key), limit)
    return with_accepted(request, settings, accepted, changed)


def lower_max_tokens(request: ModelRequest, max_tokens: int, limit_key: str) -> ModelRequest:
    """Return the request with an answer of at most `max_tokens`."""
    return with_limit(
        request,
        max_tokens,
        lambda content: {**content, **dict.fromkeys(_limit_keys(content, limit_key), max_tokens)},
    )


def _limit_keys(content: Body, usual: str) -> list[str]:
    """Return the keys of the limit that a request has, or else the usual one."""
    return [name for name in LIMITS if content.get(name) is not None] or [usual]


# Most chunks have a piece of text only; these words are of the others.
_WORDS: Final = re.compile(rb'"(?:usage|error)"\s*:\s*\{|"finish_reason"\s*:\s*"|"(?:tool_calls|refusal)"\s*:\s*[\["]')


@dataclass
class ChatUsage(AnswerReader):
    """Reader of one response."""

    _is_finished: bool = False

    @property
    def tokens(self) -> Tokens | None:
        """Tokens by kind; None if the response did not end, or does not state its usage."""
        if not (self.complete and "prompt_tokens" in self.usage):
            return None
        prompt_details = inner_object(self.usage, "prompt_tokens_details")
        answer_details = inner_object(self.usage, "completion_tokens_details")
        sent, answered = count(self.usage["prompt_tokens"]), count(self.usage.get("completion_tokens"))
        # DeepSeek has a key of its own for what was read from the cache.
        read = count(prompt_details.get("cached_tokens") or self.usage.get("prompt_cache_hit_tokens"))
        written, reasoning = count(prompt_details.get("cache_write_tokens")), answer_details.get("reasoning_tokens")
        if sent is None or answered is None or read is None or written is None:
            return None
        beside = self._reasoning_beside(sent, answered, count(reasoning) or 0)
        return Tokens(
            input=max(0, sent - read - written),
            output=answered + beside,
            cache_read=read,
            cache_write_5m=written,
            reasoning=None if reasoning is None else count(reasoning),
        )

    @property
    def use(self) -> ServerToolUse:
        """Use of service tiers."""
        return ServerToolUse(tier=tier_of(self.usage))

    def _reasoning_beside(self, sent: int, answered: int, reasoning: int) -> int:
        """Return the reasoning that a server does not count as a part of the answer, as the sum of all tells."""
        return reasoning if reasoning and self.usage.get("total_tokens") == sent + answered + reasoning else 0

    def _skips(self, line: bytes | bytearray) -> bool:
        return not _WORDS.search(line)

    def _texts(self, event: Body) -> Iterator[str]:
        return (str(delta[key]) for _, delta, key in _deltas(event) if key == "content")

    def _event(self, event: Body) -> None:
        if event.get("type") == LAST:
            self.complete = self._is_finished
        else:
            self._read(event, "delta")

    def _whole(self, answer: Body) -> None:
        self._read(answer, "message")
        self.complete = "choices" in answer

    def _read(self, content: Body, part: str) -> None:
        if error := content.get("error"):
            error = error if isinstance(error, dict) else {}
            self.error = stated_code(error) or "error"
        self._update(content.get("usage"))
        self._update({"service_tier": content.get("service_tier")})
        for choice in objects(content.get("choices")):
            self._choice(choice, inner_object(choice, part))

    def _choice(self, choice: Body, part: Body) -> None:
        for number, call in enumerate(objects(part.get("tool_calls"))):
            self._call(call.get("index", number), call)
        if isinstance(reason := choice.get("finish_reason"), str):
            self._is_finished = True
            self.stop_reason = self.stop_reason or (USES_TOOL if self._blocks else reason)
        if isinstance(part.get("refusal"), str):
            self.stop_reason = "refusal"

    def _call(self, index: object, call: Body) -> None:
        """Note a call, or a further piece of its arguments."""
        kind = "custom" if "custom" in call else "function"
        function = inner_object(call, kind)
        if index not in self._blocks:
            self._add_call(index, call.get("id"), function.get("name"), {})
        if block := self._blocks.get(index):
            block.add(function.get("arguments"))


_EVENT_END: Final = re.compile(rb"(\r?\n\r?\n)")
_NO_CHOICES: Final = re.compile(rb'"choices"\s*:\s*\[\s*\]')


class UsageEventFilter:
    """Filter of the event with the usage, for a client that did not ask for it. It holds back incomplete events."""

    def __init__(self) -> None:
        self._rest = b""

    def __call__(self, chunk: bytes) -> bytes:
        """Return the complete events; at the end of the answer (an empty chunk), what is left."""
        if not chunk:
            rest, self._rest = self._rest, b""
            return rest
        *parts, self._rest = _EVENT_END.split(self._rest + chunk)
        events = zip(parts[::2], parts[1::2], strict=True)
        return b"".join(event + end for event, end in events if not _is_usage(event))


def _is_usage(event: bytes) -> bool:
    return bool(_NO_CHOICES.search(event)) and isinstance(_data(event).get("usage"), dict)


def _data(event: bytes) -> Body:
    return parse_object(event.partition(b"data:")[2]) or {}


def replace_arguments(body: bytes, arguments: Mapping[object, Body], *, streamed: bool) -> bytes:
    """Return the answer with other arguments of some calls."""
    return answers.replace_arguments(body, arguments, _argument_places, streamed=streamed)


def _argument_places(events: Sequence[Body]) -> Iterator[ArgumentsPlace]:
    for at, event in enumerate(events):
        for choice in objects(event.get("choices")):
            part = inner_object(choice, "delta") or inner_object(choice, "message")
            for number, call in enumerate(objects(part.get("tool_calls"))):
                holder, key = inner_object(call, "function"), "arguments"
                if "custom" in call:
                    holder, key = inner_object(call, "custom"), INPUT
                if isinstance(holder.get(key), str):
                    index, is_piece = call.get("index", number), "delta" in choice
                    yield ArgumentsPlace(at, index, holder, key, is_piece=is_piece, is_text=key == INPUT)


def join_split(body: bytes, spans: Spans) -> bytes:
    """Return the stream; each piece of text that ends inside a span is extended to the span's end."""
    return answers.join_split(body, spans, _deltas)


def _deltas(event: Body) -> Iterator[TextDelta]:
    for choice in objects(event.get("choices")):
        index, delta = choice.get("index"), inner_object(choice, "delta")
        for key in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(delta.get(key), str):
                yield (index, key), delta, key
        for call in objects(delta.get("tool_calls")):
            function = inner_object(call, "function")
            if isinstance(function.get("arguments"), str):
                yield (index, "call", call.get("index")), function, "arguments"
