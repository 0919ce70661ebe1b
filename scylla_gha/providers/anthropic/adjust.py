"""Changes to requests of the Messages API: a lower limit of tokens, and configured settings."""

import re
from dataclasses import replace
from typing import Final, cast

import orjson
from pydantic import JsonValue

from scylla_gha.model.pricing import ModelInfo
from scylla_gha.providers.anthropic.cost_terms import MessageTerms
from scylla_gha.providers.anthropic.request import parse_object
from scylla_gha.providers.base import Body, ModelRequest

_MAX_TOKENS: Final = re.compile(rb'"max_tokens"\s*:\s*\d+')
_MIN_THINKING: Final = 1_024  # tokens (platform.claude.com/docs, extended thinking, 2026-11-22)


def lower_max_tokens(request: ModelRequest, max_tokens: int) -> ModelRequest:
    """Return the request with an answer of at most `max_tokens`, and its thinking within that."""
    before = request.terms.max_tokens
    if before is None or before <= max_tokens:
        return request
    terms = _with_terms(request, max_tokens)
    body = _with_max_tokens(request.body, before, max_tokens)
    return replace(request, body=body, terms=terms, lowered=(before, max_tokens))


def _with_max_tokens(body: bytes, before: int, after: int) -> bytes:
    content = cast("Body", parse_object(body))
    thinking = content.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(thinking, dict) and isinstance(budget, int) and budget >= after:
        fitting = max(_MIN_THINKING, budget * after // before)
        return orjson.dumps(
            {**content, "max_tokens": after, "thinking": {**thinking, "budget_tokens": min(fitting, after - 1)}}
        )
    if len(_MAX_TOKENS.findall(body)) == 1 and b'"max_tokens"' in body:
        return _MAX_TOKENS.sub(b'"max_tokens":%d' % after, body)
    return orjson.dumps({**content, "max_tokens": after})


def apply_settings(request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None) -> ModelRequest:
    """Return the request with those settings that its model accepts and its thinking allows."""
    if not settings:
        return request
    content = cast("Body", parse_object(request.body))
    supported = model.accepts if model else ()
    most = model.max_output_tokens if model else None
    accepted = {
        name: value for name, value in settings.items() if name in supported and _allowed(content, name, value, most)
    }
    max_tokens = cast("int | None", accepted.get("max_tokens", request.terms.max_tokens))
    return replace(
        request,
        body=orjson.dumps({**content, **accepted}) if accepted else request.body,
        terms=_with_terms(request, max_tokens),
        adjusted=tuple(accepted),
        unadjusted=tuple(name for name in settings if name not in accepted),
    )


def _allowed(content: Body, name: str, value: JsonValue, most: int | None) -> bool:
    """Tell if a setting is allowed: with thinking on, no temperature, and no limit of tokens below that of thinking."""
    if name == "max_tokens" and most is not None and isinstance(value, int) and value > most:
        return False
    thinking = content.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") == "disabled":
        return True
    if name == "temperature":
        return False
    budget = thinking.get("budget_tokens")
    return not isinstance(budget, int) or (isinstance(value, int) and value > budget)


def _with_terms(request: ModelRequest, max_tokens: int | None) -> MessageTerms:
    return replace(cast("MessageTerms", request.terms), max_tokens=max_tokens)
