"""The permissions of a session: its models, the server tools that its variant declares, and priced options only."""

from typing import Final

from scylla_gha.gateway.ledger import Refusal
from scylla_gha.gateway.request import Question
from scylla_gha.gateway.settings import Lane
from scylla_gha.model.pricing import Model
from scylla_gha.model.traffic import Use

_MODEL: Final = "this key may not use the model {model}; it may use {allowed}"
_TOOL: Final = "this key may not use server tools: {tools}"
_EDIT: Final = "this key may not use context edits: {edits}"
_UNPRICED: Final = "{model} is not available to this key with {what}"


def forbidden(question: Question, lane: Lane, model: Model | None) -> Refusal | None:
    """Return the reason to refuse a request of this session; None if it is allowed. Other sessions play no part."""
    if lane.models is not None:
        strange = [name for name in (question.model, *question.terms.fallbacks) if name not in lane.models]
        if strange:
            allowed = ", ".join(lane.models) or "none"
            return Refusal("model_not_allowed", _MODEL.format(model=strange[0][:100], allowed=allowed))
    if tools := sorted(question.terms.tools - set(lane.server_tools)):
        return Refusal("server_tool_not_allowed", _TOOL.format(tools=", ".join(tools)[:200]))
    if question.terms.edits:
        return Refusal("context_edit_not_allowed", _EDIT.format(edits=", ".join(question.terms.edits)[:200]))
    return _unpriced(question, model)


def _unpriced(question: Question, model: Model | None) -> Refusal | None:
    use = question.terms.use
    price = model.price if model else None
    if use.model_copy(update={"searches": 0}) == Use() or (price and price.factor(use) is not None):
        return None
    what = f"speed {use.speed}, service tier {use.tier}, region {use.region}"
    return Refusal("unknown_price", _UNPRICED.format(model=question.model[:100], what=what[:200]))
