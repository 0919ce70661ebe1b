"""Permissions of a session: its models, the server tools that its variant declares, and options with a known price."""

from typing import Final

from scylla_gha.gateway.budget import BudgetRefusal
from scylla_gha.gateway.settings import Session
from scylla_gha.model.pricing import ModelInfo
from scylla_gha.model.traffic import ServerToolUse
from scylla_gha.providers.base import ModelRequest

_USUAL: Final = ServerToolUse()
_MODEL: Final = "this key may not use the model {model}; it may use {allowed}"
_TOOL: Final = "this key may not use server tools: {tools}"
_EDIT: Final = "this key may not use context edits: {edits}"
_UNPRICED: Final = "{model} is not available to this key with {what}"


def forbidden_reason(question: ModelRequest, lane: Session, model: ModelInfo | None) -> BudgetRefusal | None:
    """Return the reason to refuse a request of this session; None if it is allowed. Other sessions play no part."""
    if lane.models is not None:
        strange = [name for name in (question.model, *question.terms.fallbacks) if name not in lane.models]
        if strange:
            allowed = ", ".join(lane.models) or "none"
            return BudgetRefusal("model_not_allowed", _MODEL.format(model=strange[0][:100], allowed=allowed))
    if tools := sorted(question.terms.tools - set(lane.server_tools)):
        return BudgetRefusal("server_tool_not_allowed", _TOOL.format(tools=", ".join(tools)[:200]))
    if question.terms.edits:
        return BudgetRefusal("context_edit_not_allowed", _EDIT.format(edits=", ".join(question.terms.edits)[:200]))
    return _unpriced(question, model)


def _unpriced(question: ModelRequest, model: ModelInfo | None) -> BudgetRefusal | None:
    use = question.terms.use
    price = model.price if model else None
    if use == _USUAL or use.model_copy(update={"searches": 0}) == _USUAL:
        return None
    if price and price.factor(use) is not None:
        return None
    what = f"speed {use.speed}, service tier {use.tier}, region {use.region}"
    return BudgetRefusal("unknown_price", _UNPRICED.format(model=question.model[:100], what=what[:200]))
