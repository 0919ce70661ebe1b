"""Permissions and budgets of a session: models, tools, turns, requests and money that it may use.

Before a request is sent, its worst case is reserved in every budget; afterwards the reservation is settled with the
real cost. So a budget is exceeded at most by the error of a prompt's estimate. If a request does not fit, its answer is
limited to what the money buys. If even the shortest answer does not fit together with the open requests, the request
waits, and so do later requests of its session; if it does not fit alone either, it is refused. An answer of unknown
cost is charged a high guess here, and stays unknown in the log.

Not thread-safe: nothing is awaited between a check and its reservation.

Conversations: the first request for an answer starts the session's main conversation. A later request belongs to it if
it has the same first message, or the same client session and system prompt (a client that compacts its history writes
a new first message). Sub-agents and other processes of the client differ in both.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.counting import counted, dollars
from scylla_gha.gateway.breaker import RequestBreaker
from scylla_gha.gateway.evidence import CLIENT_GONE
from scylla_gha.gateway.settings import Session
from scylla_gha.model.traffic import ModelInfo, Role, ServerToolUse, Tokens
from scylla_gha.providers.base import ConversationDigests, ModelRequest, WorstCase

_CHARACTERS_PER_TOKEN: Final = 3  # so low that tokens of code and JSON are overestimated
_STANDARD_USE: Final = ServerToolUse()
Scope = Literal["trial", "role", "experiment"]
SHARED_BUDGETS: Final = frozenset({"budget_exceeded:role", "budget_exceeded:experiment", "budget_exceeded:trial_share"})
_CHECK_SECONDS: Final = 0.5  # between checks whether the client has left


@dataclass(frozen=True, slots=True)
class RequestRefusal:
    """The reason to refuse a request: an error name for the log, a sentence for the client.

    The sentence does not reveal an evaluation to an agent.
    """

    error: str
    message: str


LOG_IS_FULL: Final = RequestRefusal("budget_exceeded:trial_journal", "this key has made as many requests as it allows")

SESSION_ENDED: Final = RequestRefusal("session_ended", "the conversation of this key has ended")


def forbidden_reason(request: ModelRequest, session: Session, model: ModelInfo | None) -> RequestRefusal | None:
    """Return the reason why the session's settings forbid a request; None if they allow it."""
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
    """Tell if speed, tier and region have a known price. The ledger checks the price of the model itself."""
    if use == _STANDARD_USE or use.model_copy(update={"searches": 0}) == _STANDARD_USE:
        return True
    price = model.price if model else None
    return price is not None and price.factor(use) is not None


@dataclass
class TokenCounter:
    """A trial's token budget (None: unlimited), and the tokens of its answers so far.

    Requests in flight are not counted. For an answer of unknown length, a high guess from its request is counted.
    """

    budget: int | None
    spent: int = 0

    def add(self, tokens: Tokens | None, characters: int) -> None:
        """Count the tokens of a request that has ended; if they are unknown (None), guess from its characters."""
        self.spent += characters // _CHARACTERS_PER_TOKEN if tokens is None else tokens.total

    def refusal(self) -> RequestRefusal | None:
        """Return the reason to refuse further requests, or None."""
        if self.budget is None or self.spent < self.budget:
            return None
        message = f"the limit of {counted(self.budget, 'token')} of this key is reached ({self.spent} so far)"
        return RequestRefusal("budget_exceeded:trial_tokens", message)


@dataclass
class Conversation:
    """Counter of one session's requests for answers. A limit of None: unlimited."""

    turn_limit: int | None = None
    request_limit: int | None = None
    requests: int = 0
    turns: int = 0
    _main: ConversationDigests | None = None
    _turns: dict[bytes, int] = field(default_factory=dict)
    _breaker: RequestBreaker = field(default_factory=RequestBreaker)

    def count(self, digests: ConversationDigests | None) -> tuple[int | None, RequestRefusal | None]:
        """Count a request, given by its digests (None: a probe, which belongs to no conversation).

        Returns the number of its turn in the main conversation (None: it belongs to another), and the reason to refuse
        it (None: accepted). A repeated request is the same turn.
        """
        self.requests += 1
        turn = self._turn(digests) if digests else None
        return turn, self._refusal(turn, digests.messages if digests else None)

    def answered(self, digests: ConversationDigests, *, is_whole: bool) -> None:
        """Note if a request got a whole answer of the provider."""
        self._breaker.answered(digests.messages, is_whole=is_whole)

    def is_foreign(self, digests: ConversationDigests) -> bool:
        """Tell if another client than the main conversation's sent a request; its sub-agents are the same client."""
        main = self._main.client if self._main else b""
        return bool(main) and digests.client != main

    def _turn(self, digests: ConversationDigests) -> int | None:
        self._main = self._main or digests
        is_same_session = bool(digests.session) and digests.session == self._main.session
        if self._main.opening not in (digests.opening, *digests.shorter) and not is_same_session:
            return None
        if digests.messages not in self._turns:
            self.turns += 1
            self._turns[digests.messages] = self.turns
        return self._turns[digests.messages]

    def _refusal(self, turn: int | None, messages: bytes | None) -> RequestRefusal | None:
        if self.turn_limit is not None and turn is not None and turn > self.turn_limit:
            message = f"the conversation has had the {counted(self.turn_limit, 'turn')} that this key allows"
            return RequestRefusal("budget_exceeded:trial_turns", message)
        if messages is not None and (refusal := self._breaker.refusal(messages, is_main=turn is not None)):
            return RequestRefusal(*refusal)
        if self.request_limit is not None and self.requests > self.request_limit:
            requests = counted(self.request_limit, "request")
            message = f"this key has made the {requests} that it allows, including sub-agents and other processes"
            return RequestRefusal("budget_exceeded:trial_requests", message)
        return None


@dataclass(eq=False)
class Budget:
    """A budget in USD, with the amounts spent and reserved.

    Attributes:
        limit: maximum in USD; None: unlimited.
        share: a trial's share of the shared budgets, in USD; a trial that exceeds it caused a refusal itself.
    """

    scope: Scope
    limit: float | None
    spent: float = 0.0
    in_flight: float = 0.0
    share: float | None = None


@dataclass(frozen=True, slots=True)
class SessionBudget:
    """A session as the ledger sees it: its cell, its role and the budget of its trial."""

    trial: Budget
    role: Role
    cell: str


@dataclass(eq=False)
class _JudgeReserve:
    """The part of the experiment's budget that is reserved for the judges of a cell and not yet in use."""

    left: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """Reservation in several budgets for an open request. `tokens` is the limit of its answer."""

    usd: float
    tokens: int
    budgets: tuple[Budget, ...]
    on_settled: Callable[[], None]
    judge_reserve: _JudgeReserve | None = None
    from_judge_reserve: float = 0.0

    def settle(self, usd: float | None) -> None:
        """Replace the reservation by the real cost; if that is unknown (None), charge the reserved amount."""
        charged = self.usd if usd is None else usd
        for budget in self.budgets:
            budget.in_flight -= self.usd
            budget.spent += charged
        if self.judge_reserve is not None:
            self.judge_reserve.left += max(0.0, self.from_judge_reserve - charged)
        self.on_settled()


@dataclass(eq=False)
class _Waiting:
    """A request that fits the budgets alone, but not together with those in flight."""

    session: SessionBudget
    worst: WorstCase
    answer: asyncio.Future[Reservation | RequestRefusal]


class BudgetLedger:
    """The budgets of the experiment and its roles; each request brings its trial's budget."""

    def __init__(self, total: float | None, by_role: Mapping[Role, float], spent: Mapping[Role, float]) -> None:
        """Create a ledger with the USD spent so far."""
        roles: tuple[Role, ...] = ("agent", "judge")
        self.experiment = Budget("experiment", total, sum(spent.values()))
        self.roles = {role: Budget("role", by_role.get(role), spent.get(role, 0.0)) for role in roles}
        self._judge_reserves: dict[str, _JudgeReserve] = {}
        self._queue: list[_Waiting] = []

    def reserve_for_judges(self, cell: str, usd: float) -> None:
        """Reserve this amount for the judges of a cell; 0 removes the reservation."""
        self._judge_reserves.pop(cell, None)
        if usd > 0:
            self._judge_reserves[cell] = _JudgeReserve(usd)
        self._serve_queue()

    async def reserve(
        self, session: SessionBudget, worst: WorstCase | None, is_over: Callable[[], bool]
    ) -> Reservation | RequestRefusal:
        """Reserve what the request may cost, or refuse it.

        Args:
            session: the session that asks.
            worst: its highest cost; None: its price is not known.
            is_over: tells if the request need not wait any longer: its client has left, or its session has ended.
        """
        if worst is None:
            return self._unpriced(session)
        if not self._queue and (answer := self._try(session, worst)) is not None:
            return answer
        waiting = _Waiting(session, worst, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._serve_queue()
        try:
            while not waiting.answer.done():
                await asyncio.wait({waiting.answer}, timeout=_CHECK_SECONDS)
                if not waiting.answer.done() and is_over():
                    return RequestRefusal(CLIENT_GONE, "the client left while its request waited for the spend limit")
        except asyncio.CancelledError:
            if waiting.answer.done() and isinstance(reservation := waiting.answer.result(), Reservation):
                reservation.settle(0.0)
            raise
        finally:
            if waiting in self._queue:
                self._queue.remove(waiting)
                self._serve_queue()
        return waiting.answer.result()

    def _serve_queue(self) -> None:
        """Answer waiting requests in order; one that must wait longer delays only its own session's requests."""
        waiting_trials: set[Budget] = set()
        for waiting in list(self._queue):
            if waiting.session.trial not in waiting_trials:
                answer = self._try(waiting.session, waiting.worst)
                if answer is None:
                    waiting_trials.add(waiting.session.trial)
                else:
                    self._queue.remove(waiting)
                    waiting.answer.set_result(answer)

    def _try(self, session: SessionBudget, worst: WorstCase) -> Reservation | RequestRefusal | None:
        """Return a reservation or a refusal; None if the request has to wait."""
        tokens = worst.asked
        budgets = self._budgets(session)
        for budget in budgets:
            if budget.limit is None:
                continue
            alone = self._left(budget, budget.limit, session)
            if worst.fits(alone) < worst.least:
                return _refusal(budget, budget.limit, session, worst, alone)
            tokens = min(tokens, worst.fits(alone - budget.in_flight))
        if tokens < worst.least:
            return None
        usd = worst.usd(tokens)
        for budget in budgets:
            budget.in_flight += usd
        reserve = self._judge_reserves.get(session.cell) if session.role == "judge" else None
        from_reserve = min(reserve.left, usd) if reserve else 0.0
        if reserve:
            reserve.left -= from_reserve
        return Reservation(usd, tokens, budgets, self._serve_queue, reserve, from_reserve)

    def _budgets(self, session: SessionBudget) -> tuple[Budget, ...]:
        return session.trial, self.roles[session.role], self.experiment

    def _left(self, budget: Budget, limit: float, session: SessionBudget) -> float:
        """Return the amount of a budget that is neither spent nor reserved for judges; open requests are ignored."""
        reserved = 0.0
        if budget.scope == "experiment":
            judged_cell = session.cell if session.role == "judge" else None
            reserved = sum(reserve.left for cell, reserve in self._judge_reserves.items() if cell != judged_cell)
        return limit - budget.spent - reserved

    def _unpriced(self, session: SessionBudget) -> Reservation | RequestRefusal:
        for budget in self._budgets(session):
            if budget.limit is not None:
                message = (
                    f"this model has no known price, so the spend limit of {dollars(budget.limit)} of "
                    f"{_limit_name(budget.scope, session.role)} cannot be enforced"
                )
                return RequestRefusal("unknown_price", message)
        return Reservation(0.0, 0, (), self._serve_queue)


def _refusal(budget: Budget, limit: float, session: SessionBudget, worst: WorstCase, left: float) -> RequestRefusal:
    need, trial = worst.usd(worst.least), session.trial
    exceeds_share = trial.share is not None and trial.spent + trial.in_flight + need > trial.share
    message = (
        f"the spend limit of {dollars(limit)} of {_limit_name(budget.scope, session.role)} is reached "
        f"({dollars(budget.spent)}; {dollars(max(0.0, left))} left), and this request may cost "
        f"{dollars(need)} with an answer of {counted(worst.least, 'token')}"
    )
    return RequestRefusal(f"budget_exceeded:{'trial_share' if exceeds_share else budget.scope}", message)


def _limit_name(scope: Scope, role: Role) -> str:
    """Name the limit in words that do not reveal an evaluation to an agent."""
    return {"trial": "this key", "role": f"keys of this kind ({role})", "experiment": "this account"}[scope]
