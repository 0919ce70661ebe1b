"""A request of the Messages API: what it is recorded by, what it is made of, and the settings that are put into it."""

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import orjson
from pydantic import JsonValue

from scylla_gha.gateway.conversation import Marks, marks_of
from scylla_gha.gateway.paths import Names
from scylla_gha.gateway.terms import Terms, terms_of
from scylla_gha.model.pricing import Model
from scylla_gha.model.traffic import Component

Body = dict[str, Any]

# What the CLI puts into its requests of the day and the machine it runs on.
_CIRCUMSTANCES: Final = (
    (re.compile(rb"Today's date is \d{4}-\d\d-\d\d"), b"Today's date is DATE"),
    (re.compile(rb'OS Version: [^\\"]*'), b"OS Version: SYSTEM"),
)
_BILLING: Final = "x-anthropic-billing-header:"
_MAX_TOKENS: Final = re.compile(rb'"max_tokens"\s*:\s*\d+')
_LEAST_THINKING: Final = 1_024  # tokens (platform.claude.com/docs, extended thinking, 2026-11-22)


class UnfitError(ValueError):
    """A request that cannot be understood without doubt; the message is for the client."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request that was understood.

    `body` is what goes to the provider; `lowered` is `max_tokens` before and after.
    """

    body: bytes
    model: str
    streamed: bool
    digest: str
    characters: dict[Component, int]
    counting: bool
    marks: Marks
    terms: Terms
    probing: bool = False  # asks for no answer to speak of, only whether it would get one
    adjusted: tuple[str, ...] = ()
    unadjusted: tuple[str, ...] = ()
    lowered: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """Characters of all components."""
        return sum(self.characters.values())


def understand(body: bytes, names: Names, *, counting: bool = False) -> Question:
    """The request in these bytes.

    Raises:
        UnfitError: it is no JSON object with a model, or two programs could read two things in it.
    """
    content = _unambiguous(body)
    if not isinstance(content.get("model"), str):
        raise UnfitError("the request is no JSON object with a model")
    most = content.get("max_tokens")
    if most is not None and (type(most) is not int or most < 0):
        raise UnfitError("max_tokens must be a whole number")
    hidden = names.hide(body)
    shown = content if hidden == body else _unambiguous(hidden)
    kept = _kept(shown)
    return Question(
        body=body,
        model=content["model"],
        streamed=content.get("stream") is True,
        digest=_fingerprint(kept, counting=counting),
        characters=_components(shown),
        counting=counting,
        marks=marks_of(kept, content.get("metadata")),
        terms=terms_of(content, len(body), caches=b"cache_control" in body or b"\\u" in body),
        probing=most == 1,
    )


def _unambiguous(body: bytes) -> Body:
    """The object in these bytes, where no key stands twice in it or in what is in it."""
    content = _parsed(body)
    if content is None:
        raise UnfitError("the request is no JSON object with a model")
    try:
        if orjson.dumps(content) == body:  # as most clients write it: then nothing was dropped
            return content
    except orjson.JSONEncodeError:
        raise UnfitError("the request is nested too deep") from None
    try:
        json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise UnfitError(str(error)) from None
    return content


def _once(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise UnfitError(f"the key {key[:80]!r} stands twice in one object of the request")
        seen.add(key)


def lower(question: Question, max_tokens: int) -> Question:
    """The same question for an answer of no more than `max_tokens`, with its thinking within them."""
    before = question.terms.max_tokens
    if before is None or before <= max_tokens:
        return question
    terms = replace(question.terms, max_tokens=max_tokens)
    body = _with_max_tokens(question.body, before, max_tokens)
    return replace(question, body=body, terms=terms, lowered=(before, max_tokens))


def _with_max_tokens(body: bytes, before: int, after: int) -> bytes:
    content = cast("Body", _parsed(body))
    thinking = content.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(thinking, dict) and isinstance(budget, int) and budget >= after:
        fitting = max(_LEAST_THINKING, budget * after // before)
        return orjson.dumps(
            {**content, "max_tokens": after, "thinking": {**thinking, "budget_tokens": min(fitting, after - 1)}}
        )
    if len(_MAX_TOKENS.findall(body)) == 1 and b'"max_tokens"' in body:
        return _MAX_TOKENS.sub(b'"max_tokens":%d' % after, body)
    return orjson.dumps({**content, "max_tokens": after})


def _kept(content: Body) -> Body:
    """What is asked, without who asks."""
    kept = {key: value for key, value in content.items() if key != "metadata"}  # ids of device, account and session
    if isinstance(kept.get("system"), list):
        kept["system"] = [block for block in kept["system"] if not _is_billing(block)]
    return kept


def _fingerprint(kept: Body, *, counting: bool) -> str:
    """SHA-256 of what is asked, without who, when and where: equal for equal questions of two runs."""
    text = orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)
    for pattern, constant in _CIRCUMSTANCES:
        text = pattern.sub(constant, text)
    return hashlib.sha256((b"count_tokens:" if counting else b"") + text).hexdigest()


def adjust(question: Question, knobs: dict[str, JsonValue], model: Model | None) -> Question:
    """The question with configured settings put in, where its model accepts them and its thinking allows them."""
    if not knobs:
        return question
    content = cast("Body", _parsed(question.body))
    taken = model.accepts if model else ()
    most = model.max_output_tokens if model else None
    accepted = {knob: value for knob, value in knobs.items() if knob in taken and _allowed(content, knob, value, most)}
    max_tokens = cast("int | None", accepted.get("max_tokens", question.terms.max_tokens))
    return replace(
        question,
        body=orjson.dumps({**content, **accepted}) if accepted else question.body,
        terms=replace(question.terms, max_tokens=max_tokens),
        adjusted=tuple(accepted),
        unadjusted=tuple(knob for knob in knobs if knob not in accepted),
    )


def _allowed(content: Body, knob: str, value: JsonValue, most: int | None) -> bool:
    """With thinking on, the API takes no temperature, and no limit of tokens below that of thinking or above `most`."""
    if knob == "max_tokens" and most is not None and isinstance(value, int) and value > most:
        return False
    thinking = content.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") == "disabled":
        return True
    if knob == "temperature":
        return False
    budget = thinking.get("budget_tokens")
    return not isinstance(budget, int) or (isinstance(value, int) and value > budget)


def _components(content: Body) -> dict[Component, int]:
    """Characters of the request's text by component; pictures and documents in base64 count nothing."""
    found: Counter[Component] = Counter()
    found["system_prompt"] = _length(content.get("system"))
    found["tool_schemas"] = len(orjson.dumps(content.get("tools"))) if content.get("tools") else 0
    for message in _objects(content.get("messages")):
        blocks = message.get("content")
        if isinstance(blocks, str):
            found["conversation"] += len(blocks)
        for block in _objects(blocks):
            component, size = _block(block)
            found[component] += size
    return {component: size for component, size in found.items() if size}


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
    return sum(_length(block.get("text") or block.get("content")) for block in _objects(content))


def _objects(content: object) -> list[Body]:
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def _is_billing(block: object) -> bool:
    return isinstance(block, dict) and str(block.get("text", "")).startswith(_BILLING)


def _parsed(body: bytes) -> Body | None:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) else None
