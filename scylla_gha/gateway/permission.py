"""What a session may ask for: its models, the provider's tools that are allowed, and only what has a price."""

from typing import Final

from scylla_gha.gateway.ledger import Refusal
from scylla_gha.gateway.request import Question
from scylla_gha.gateway.settings import Lane
from scylla_gha.model.pricing import Model
from scylla_gha.model.traffic import Use

_MODEL: Final = (
    "scylla-gha: this session may not use the model {model}; it may use {allowed}. A variant declares further models "
    "in its treatment (models)"
)
_TOOL: Final = (
    "scylla-gha: this request uses {tools} of the provider, which reaches beyond the closed network; a variant "
    "declares what it needs of web_search, web_fetch and code_execution in its treatment (server_tools)"
)
_UNPRICED: Final = "scylla-gha: {model} has no known price for {what}; leave it away, or add its price to config/models"


def forbidden(question: Question, lane: Lane, model: Model | None) -> Refusal | None:
    """Why this session may not ask this; None where it may. It never depends on what others do."""
    if lane.models is not None:
        strange = [name for name in (question.model, *question.terms.fallbacks) if name not in lane.models]
        if strange:
            allowed = ", ".join(lane.models) or "none"
            return Refusal("model_not_allowed", _MODEL.format(model=strange[0][:100], allowed=allowed))
    if tools := sorted(question.terms.tools - set(lane.server_tools)):
        return Refusal("server_tool_not_allowed", _TOOL.format(tools=", ".join(tools)[:200]))
    return _unpriced(question, model)


def _unpriced(question: Question, model: Model | None) -> Refusal | None:
    use = question.terms.use
    price = model.price if model else None
    if use.model_copy(update={"searches": 0}) == Use() or (price and price.factor(use) is not None):
        return None
    what = f"speed {use.speed}, service tier {use.tier}, region {use.region}"
    return Refusal("unknown_price", _UNPRICED.format(model=question.model[:100], what=what[:200]))
