"""Read generateContent: digest, size and cost terms of requests; tokens, stop reason and calls of responses.

Keys are accepted in both of JSON's spellings for protocol buffers, `maxOutputTokens` and `max_output_tokens`, but not
twice in one object. Names are those of ai.google.dev/api and of the SDK google-genai 3.6.1 (2026-11-28).
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import orjson
from pydantic import JsonValue

from scylla_gha.lenient_json import InvalidJsonError, inner_object, parse_json
from scylla_gha.model.traffic import Component, ModelInfo, ServerToolUse, Tokens
from scylla_gha.providers import answers
from scylla_gha.providers.answers import AnswerReader, ArgumentsPlace, TextDelta, count
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
    request_digest,
    shown_content,
    token_limit,
    unambiguous_object,
    with_accepted,
    with_limit,
)

_COUNT: Final = "countTokens"
_STREAM: Final = "streamGenerateContent"
_METHODS: Final = frozenset({"generateContent", _STREAM, _COUNT})
_CAPITAL: Final = re.compile(r"(?=[A-Z])")
_CLIENT_TOOLS: Final = frozenset({"functionDeclarations", "computerUse"})
# A bound: the highest resolution takes up to 2,240 tokens (ai.google.dev/gemini-api/docs/media-resolution, 2026-11-28).
_IMAGE_TOKENS: Final = 2_240
_CONFIG: Final = "generationConfig"
_LIMIT: Final = "maxOutputTokens"
_SETTINGS: Final = {"max_tokens": _LIMIT, "temperature": "temperature"}


def parse_request(
    path: str, body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = ()
) -> ModelRequest:
    """Parse a request to `/v1beta/models/MODEL:METHOD`; `hide` and `circumstances` replace what differs between runs.

    Raises:
        InvalidRequestError: it is not a JSON object, its method is unknown, or programs could parse it differently.
    """
    model, _, method = path.rpartition("/")[2].rpartition(":")
    if method not in _METHODS:
        raise InvalidRequestError(f"{method[:50]} is not available; there are: {', '.join(sorted(_METHODS))}")
    whole = unambiguous_object(body)[0]
    content, shown = _generation(whole), _generation(shown_content(whole, body, hide))
    contents = objects(_value_of(shown, "contents"))
    asked = {key: value for key, value in shown.items() if key not in {"labels", "contents"}}
    asked["contents"] = _without_call_ids(contents)
    text = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    is_counting = method == _COUNT
    return ModelRequest(
        body=body,
        model=model,
        streamed=method == _STREAM,
        digest=request_digest(text, circumstances, f"{method} {model}:".encode()),
        characters=_components(shown, contents),
        counting=is_counting,
        conversation=_conversation_digests(contents),
        terms=cost_terms(content, len(body)),
        probing=_limit_of(content) == 1,
        results=() if is_counting else tuple(_new_results(contents)),
    )


def ask(question: ModelQuestion) -> tuple[str, Body]:
    """Return path and body of a request that asks a question."""
    config = {
        _LIMIT: question.max_tokens,
        **({"responseMimeType": "application/json"} if question.is_json else {}),
        **({} if question.temperature is None else {"temperature": question.temperature}),
    }
    body: Body = {
        "systemInstruction": {"parts": [{"text": question.system}]},
        "contents": [{"role": "user", "parts": [{"text": question.user}]}],
        _CONFIG: config,
    }
    return f"/v1beta/models/{question.model}:{_STREAM}?alt=sse", body


def _generation(content: Body) -> Body:
    """Return the request for an answer, which a token count may contain in `generateContentRequest`."""
    return _object_of(content, "generateContentRequest") or content


@functools.cache
def _snake(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()


def _spelling(content: Body, name: str) -> str:
    """Return the spelling of a key that an object has; camelCase if it has neither.

    Raises:
        InvalidRequestError: it has both.
    """
    other = _snake(name)
    if other == name or other not in content:
        return name
    if name in content:
        raise InvalidRequestError(f"the request has both {name} and {other}")
    return other


def _value_of(content: Body, name: str) -> object:
    """Return the value of a key in either spelling; None if there is none."""
    return content.get(_spelling(content, name))


def _object_of(content: Body, name: str) -> Body:
    value = _value_of(content, name)
    return value if isinstance(value, dict) else {}


def _parts(content: Body) -> list[Body]:
    return objects(_value_of(content, "parts"))


def _without_call_ids(contents: list[Body]) -> list[Body]:
    """Return the contents without the ids of calls, which clients make anew in each run if the answer had none."""
    return [{**content, "parts": [_without_call_id(part) for part in _parts(content)]} for content in contents]


def _without_call_id(part: Body) -> Body:
    for name in ("functionCall", "functionResponse"):
        key = _spelling(part, name)
        if isinstance(call := part.get(key), dict) and "id" in call:
            return {**part, key: {field: value for field, value in call.items() if field != "id"}}
    return part


def _components(content: Body, contents: list[Body]) -> dict[Component, int]:
    """Count the characters of the text by component; pictures and files are left out."""
    sizes: Counter[Component] = Counter()
    system = _parts(_object_of(content, "systemInstruction"))
    sizes["system_prompt"] = sum(len(str(part.get("text") or "")) for part in system)
    tools = _value_of(content, "tools")
    sizes["tool_schemas"] = len(orjson.dumps(tools)) if tools else 0
    for part in (part for item in contents for part in _parts(item)):
        if call := _object_of(part, "functionCall"):
            sizes["tool_input"] += len(orjson.dumps(call.get("args")))
        elif result := _object_of(part, "functionResponse"):
            sizes["tool_output"] += len(_result_text(result))
        else:
            sizes["conversation"] += len(str(part.get("text") or ""))
    return {component: size for component, size in sizes.items() if size}


def _result_text(result: Body) -> str:
    """Return the text of a function's response: its only value if that is a text, else its JSON."""
    response = result.get("response")
    values = list(response.values()) if isinstance(response, dict) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str) else orjson.dumps(response).decode()


def _is_models(content: Body) -> bool:
    return content.get("role") == "model"


def _new_results(contents: list[Body]) -> Iterator[ToolResult]:
    """Yield the results of calls after the last answer; its id is the function's name and number, like a call's."""
    after = itertools.takewhile(lambda content: not _is_models(content), reversed(contents))
    numbers: Counter[str] = Counter()
    for part in (part for content in reversed(list(after)) for part in _parts(content)):
        if result := _object_of(part, "functionResponse"):
            name = str(result.get("name"))
            response = result.get("response")
            failed = isinstance(response, dict) and bool(response.get("error"))
            yield ToolResult(_call_id(name, numbers), _result_text(result)[:LONGEST_RESULT], failed=failed)


def _call_id(name: str, numbers: Counter[str]) -> str:
    """Return the id of the next call of a function in an answer, or of its result; `numbers` counts the calls.

    The API's own ids are optional, and clients replace a missing one by their own.
    """
    numbers[name] += 1
    return f"{name}#{numbers[name]}"


def _conversation_digests(contents: list[Body]) -> ConversationDigests:
    """Compute the digests. A conversation opens with the user's contents before the first answer."""
    opening = list(itertools.takewhile(lambda content: not _is_models(content), contents))
    return ConversationDigests(opening=keyed_hash(opening), shorter=beginnings(opening), messages=keyed_hash(contents))


def _limit_of(content: Body) -> int | None:
    config = _object_of(content, _CONFIG)
    return token_limit(config, _spelling(config, _LIMIT))


def cost_terms(content: Body, size: int) -> CostTerms:
    """Read the terms of a request of `size` bytes.

    Raises:
        InvalidRequestError: it asks for several answers, or a limit is not a whole number.
    """
    config = _object_of(content, _CONFIG)
    if _value_of(config, "candidateCount") not in {None, 1}:
        raise InvalidRequestError("candidateCount must be 1: the cost of several answers is not limited")
    parts = [part for item in objects(_value_of(content, "contents")) for part in _parts(item)]
    parts += _parts(_object_of(content, "systemInstruction"))
    inline = [data for part in parts if (data := _object_of(part, "inlineData"))]
    kinds = [str(_value_of(data, "mimeType")) for data in inline]
    images = sum(kind.startswith("image/") for kind in kinds)
    text_tokens = -(-size // BYTES_PER_TOKEN) + images * _IMAGE_TOKENS
    tier = str(_value_of(content, "serviceTier") or "standard").lower()
    return CostTerms(
        max_tokens=_limit_of(content),
        prompt_tokens=text_tokens if images == len(kinds) else FULL_CONTEXT,
        caches=False,  # what the provider caches by itself costs less
        use=ServerToolUse(tier="standard" if tier == "unspecified" else tier),
        uses=0,
        tools=frozenset(_server_tools(content, config, parts)),
        fallbacks=(),
        edits=(),
        limitable=True,
    )


def _server_tools(content: Body, config: Body, parts: list[Body]) -> Iterator[str]:
    """Yield the names of the provider's own tools, caches, file sources and non-text outputs."""
    for name in (name for tool in objects(_value_of(content, "tools")) for name in tool):
        if not any(name in {known, _snake(known)} for known in _CLIENT_TOOLS):
            yield _snake(name)
    if _value_of(content, "cachedContent"):
        yield "cached_content"
    if any(_object_of(part, "fileData") for part in parts):
        yield "file_source"
    kinds = _value_of(config, "responseModalities")
    yield from (f"{kind}_output".lower() for kind in (kinds if isinstance(kinds, list) else ()) if kind != "TEXT")


def apply_settings(request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None) -> ModelRequest:
    """Return the request with those settings that its model accepts."""
    if not settings:
        return request
    accepted = accepted_settings(settings, model)
    content = parse_object(request.body) or {}
    return with_accepted(request, settings, accepted, _configured(content, accepted))


def lower_max_tokens(request: ModelRequest, max_tokens: int) -> ModelRequest:
    """Return the request with an answer of at most `max_tokens`."""
    return with_limit(request, max_tokens, lambda content: _configured(content, {"max_tokens": max_tokens}))


def _configured(content: Body, settings: dict[str, JsonValue]) -> Body:
    """Return the body with settings in its configuration, in the spelling that it has."""
    config = _object_of(content, _CONFIG)
    named = {_spelling(config, _SETTINGS[name]): value for name, value in settings.items()}
    return {**content, _spelling(content, _CONFIG): {**config, **named}}


def name_model(request: ModelRequest, model: str) -> ModelRequest:
    """Replace a model alias by the model's name; the path is later built from it."""
    return replace(request, model=model)


_CHUNKS: Final = "chunks"
_REFUSALS: Final = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"})
# Parts and metadata of what the provider's own tools did.
_SERVED_PARTS: Final = ("executableCode", "codeExecutionResult", "toolCall")
_SERVED_METADATA: Final = ("groundingMetadata", "urlContextMetadata")


@dataclass
class GeminiUsage(AnswerReader):
    """Reader of one response. Any chunk may state the usage, and the last one counts."""

    is_unpriced: bool = False
    _numbers: Counter[str] = field(default_factory=Counter)  # of calls, by function

    @property
    def tokens(self) -> Tokens | None:
        """Tokens by kind; None if the response did not end, or does not state its usage."""
        if not (self.complete and "promptTokenCount" in self.usage):
            return None
        kinds = ("prompt", "cachedContent", "candidates", "thoughts", "toolUsePrompt")
        counts = [count(self.usage.get(f"{kind}TokenCount")) for kind in kinds]
        sent, read, answered, thoughts, of_tools = counts
        if sent is None or read is None or answered is None or thoughts is None or of_tools is None:
            return None
        return Tokens(
            input=max(0, sent - read) + of_tools,
            output=answered + thoughts,
            cache_read=read,
            reasoning=thoughts if "thoughtsTokenCount" in self.usage else None,
        )

    @property
    def use(self) -> ServerToolUse:
        """Use of server tools, whose prices are not known, and of service tiers."""
        tier = str(self.usage.get("serviceTier") or "standard").lower()
        return ServerToolUse(tier="standard" if tier == "unspecified" else tier, unpriced=self.is_unpriced)

    def _skips(self, line: bytes | bytearray) -> bool:  # noqa: ARG002 any chunk may state the usage
        return False

    def _texts(self, event: Body) -> Iterator[str]:
        return (str(part[key]) for _, part, key in _deltas(event) if part.get("thought") is not True)

    def _parse_whole(self, body: bytearray) -> Body:
        """Parse a body: an answer, or the list of chunks that a stream without `alt=sse` is."""
        try:
            content = parse_json(body, keep_non_finite=True)
        except InvalidJsonError:
            return {}
        if isinstance(content, list):
            return {_CHUNKS: content}
        return content if isinstance(content, dict) else {}

    def _whole(self, answer: Body) -> None:
        for chunk in objects(answer[_CHUNKS]) if _CHUNKS in answer else [answer]:
            self._event(chunk)
        self.complete |= "totalTokens" in answer  # a count of tokens

    def _event(self, event: Body) -> None:
        if error := event.get("error"):
            error = error if isinstance(error, dict) else {}
            self.error = str(error.get("status") or error.get("code") or "error")
        self._update(event.get("usageMetadata"))
        if reason := inner_object(event, "promptFeedback").get("blockReason"):
            self.complete, self.stop_reason = True, "refusal"
            self._update({"blockReason": reason})
        for candidate in objects(event.get("candidates")):
            self._candidate(candidate)

    def _candidate(self, candidate: Body) -> None:
        for part in objects(inner_object(candidate, "content").get("parts")):
            call = inner_object(part, "functionCall")
            if isinstance(name := call.get("name"), str):
                call_id = _call_id(name, self._numbers)
                self._add_call(call_id, call_id, name, inner_object(call, "args"))
            self.is_unpriced |= any(part.get(key) for key in _SERVED_PARTS)
        self.is_unpriced |= any(candidate.get(key) for key in _SERVED_METADATA)
        if isinstance(reason := candidate.get("finishReason"), str):
            self.complete = True
            refused = "refusal" if reason in _REFUSALS else reason
            self.stop_reason = USES_TOOL if self._blocks and reason == "STOP" else refused


def replace_arguments(body: bytes, arguments: Mapping[object, Body], *, streamed: bool) -> bytes:
    """Return the answer with other arguments of some calls."""
    return answers.replace_arguments(body, arguments, _argument_places, streamed=streamed)


def _argument_places(events: Sequence[Body]) -> Iterator[ArgumentsPlace]:
    numbers: Counter[str] = Counter()
    for at, event in enumerate(events):
        for candidate in objects(event.get("candidates")):
            for part in objects(inner_object(candidate, "content").get("parts")):
                call = inner_object(part, "functionCall")
                if isinstance(name := call.get("name"), str):
                    call.setdefault("args", {})
                    yield ArgumentsPlace(at, _call_id(name, numbers), call, "args")


def join_split(body: bytes, spans: Spans) -> bytes:
    """Return the stream; each piece of text that ends inside a span is extended to the span's end."""
    return answers.join_split(body, spans, _deltas)


def _deltas(event: Body) -> Iterator[TextDelta]:
    for candidate in objects(event.get("candidates")):
        for part in objects(inner_object(candidate, "content").get("parts")):
            if isinstance(part.get("text"), str):
                yield (candidate.get("index"), part.get("thought") is True), part, "text"
