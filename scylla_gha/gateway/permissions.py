"""Permissions of a session: its models, provider's tools, tokens, turns and requests.

The first request for an answer starts the session's main conversation. A later request belongs to it if its first
message is the same, or if the client's session and the system prompt are (a client that compacts its history writes a
new first message). Sub-agents and other processes of the client have a first message, and a system prompt or a session,
of their own.
"""

from dataclasses import dataclass, field
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.gateway.settings import Session
from scylla_gha.model.traffic import ModelInfo, ServerToolUse, Tokens
from scylla_gha.providers.base import ConversationDigests, ModelRequest

_CHARACTERS_PER_TOKEN: Final = 3  # few enough to estimate code and JSON from above
_USUAL: Final = ServerToolUse()


@dataclass(frozen=True, slots=True)
class RequestRefusal:
    """The reason to refuse a request: an error name for the log, a sentence for the client.

    The sentence does not reveal an evaluation to an agent.
    """

    error: str
    message: str


LOG_IS_FULL: Final = RequestRefusal("budget_exceeded:trial_journal", "this key has made as many requests as it allows")


def forbidden_reason(request: ModelRequest, session: Session, model: ModelInfo | None) -> RequestRefusal | None:
    """Return the reason to refuse a request of this session; None if it is allowed. Other sessions play no part."""
    terms = request.terms
    if session.models is not None:
        unknown = [name for name in (request.model, *terms.fallbacks) if name not in session.models]
        if unknown:
            allowed = ", ".join(session.models) or "none"
            message = f"this key may not use the model {unknown[0][:100]}; it may use {allowed}"
            return RequestRefusal("model_not_allowed", message)
    if tools := ", ".join(sorted(terms.tools - set(session.server_tools))):
        return RequestRefusal("server_tool_not_allowed", f"this key may not use server tools: {tools[:200]}")
    if terms.edits:
        message = f"this key may not use context edits: {', '.join(terms.edits)[:200]}"
        return RequestRefusal("context_edit_not_allowed", message)
    if not _is_priced(terms.use, model):
        options = f"speed {terms.use.speed}, service tier {terms.use.tier}, region {terms.use.region}"
        message = f"{request.model[:100]} is not available to this key with {options[:200]}"
        return RequestRefusal("unknown_price", message)
    return None


def _is_priced(use: ServerToolUse, model: ModelInfo | None) -> bool:
    """Tell if speed, tier and region have a known price. An unknown price of the model itself is not forbidden here."""
    if use == _USUAL or use.model_copy(update={"searches": 0}) == _USUAL:
        return True
    price = model.price if model else None
    return price is not None and price.factor(use) is not None


@dataclass
class TokenCounter:
    """A trial's token budget (None: unlimited), and the tokens of its answers so far.

    Requests in flight are not counted. An answer of unknown length counts with a high guess from its request.
    """

    budget: int | None
    spent: int = 0

    def add(self, tokens: Tokens | None, characters: int) -> None:
        """Count the tokens of a request that has ended; None is unknown."""
        self.spent += characters // _CHARACTERS_PER_TOKEN if tokens is None else tokens.total

    def refusal(self) -> RequestRefusal | None:
        """Return the reason to refuse further requests, or None."""
        if self.budget is None or self.spent < self.budget:
            return None
        message = f"the limit of {counted(self.budget, 'token')} of this key is reached ({self.spent} so far)"
        return RequestRefusal("budget_exceeded:trial_tokens", message)


@dataclass
class Conversation:
    """One session's requests for answers, counted. A limit of None does not limit."""

    turn_limit: int | None = None
    request_limit: int | None = None
    requests: int = 0
    turns: int = 0
    _main: ConversationDigests | None = None
    _turns: dict[bytes, int] = field(default_factory=dict)

    def count(self, digests: ConversationDigests | None) -> tuple[int | None, RequestRefusal | None]:
        """Count a request (None: a probe, which belongs to no conversation).

        Returns its turn of the main conversation, or None if it belongs to another one, and why it is refused. A
        repeated request is the same turn.
        """
        self.requests += 1
        turn = self._turn(digests) if digests else None
        return turn, self._refusal(turn)

    def _turn(self, digests: ConversationDigests) -> int | None:
        self._main = self._main or digests
        is_same_session = bool(digests.session) and digests.session == self._main.session
        if digests.opening != self._main.opening and not is_same_session:
            return None
        if digests.messages not in self._turns:
            self.turns += 1
            self._turns[digests.messages] = self.turns
        return self._turns[digests.messages]

    def _refusal(self, turn: int | None) -> RequestRefusal | None:
        if self.turn_limit is not None and turn is not None and turn > self.turn_limit:
            message = f"the conversation has had the {counted(self.turn_limit, 'turn')} that this key allows"
            return RequestRefusal("budget_exceeded:trial_turns", message)
        if self.request_limit is not None and self.requests > self.request_limit:
            requests = counted(self.request_limit, "request")
            message = f"this key has made the {requests} that it allows, including sub-agents and other processes"
            return RequestRefusal("budget_exceeded:trial_requests", message)
        return None
