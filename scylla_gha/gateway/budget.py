"""Budgets: what is spent and reserved, and whether one more request may be sent.

Before a request is sent, its worst case is reserved in every budget; afterwards the reservation is settled with the
real cost. So a budget is exceeded at most by the error of the estimate of a prompt. If a request does not fit, its
answer is limited to what the money buys. If even the shortest answer does not fit beside what is in flight, the request
waits, and later requests of its session wait behind it; if it would not fit alone either, it is refused. An answer of
unknown cost counts with a high guess here, and stays unknown in the log.

Not thread-safe: nothing is awaited between a check and its reservation.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.counting import counted
from scylla_gha.model.traffic import Role, Tokens
from scylla_gha.providers.base import WorstCase

Scope = Literal["trial", "role", "experiment"]
SHARED_BUDGETS: Final = frozenset({"budget_exceeded:role", "budget_exceeded:experiment", "budget_exceeded:trial_share"})
_CHARACTERS_PER_TOKEN: Final = 3  # few enough to estimate code and JSON from above
_LOOK_SECONDS: Final = 0.5  # between checks if the client has left


@dataclass(eq=False)
class TrialBudget:
    """A budget in USD (None: unlimited), and what was spent and reserved of it.

    Attributes:
        share: a trial's share of the budgets that it has in common with others; beyond it a refusal is its own.
    """

    scope: Scope
    budget: float | None
    spent: float = 0.0
    in_flight: float = 0.0
    share: float | None = None


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

    def refusal(self) -> "BudgetRefusal | None":
        """Return the reason to refuse further requests, or None."""
        if self.budget is None or self.spent < self.budget:
            return None
        return BudgetRefusal(
            "budget_exceeded:trial_tokens", _USED_UP.format(tokens=counted(self.budget, "token"), spent=self.spent)
        )


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """The reason to refuse a request: an error name for the log, a sentence for the client."""

    error: str
    message: str


@dataclass(frozen=True, slots=True)
class SessionBudget:
    """The session that spends: a role of a cell, with the budget of its trial."""

    trial: TrialBudget
    role: Role
    cell: str


@dataclass
class JudgeReserve:
    """The part of the experiment's budget that is reserved for the judges of a cell and not yet in use."""

    left: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """The reservation of a request in flight, in these budgets. `tokens` is the limit of its answer."""

    usd: float
    tokens: int
    purses: tuple[TrialBudget, ...]
    settled: Callable[[], None]
    hold: JudgeReserve | None = None
    of_hold: float = 0.0

    def settle(self, usd: float | None) -> None:
        """Replace the reservation by the real cost; None is unknown, and counts as reserved."""
        charged = self.usd if usd is None else usd
        for purse in self.purses:
            purse.in_flight -= self.usd
            purse.spent += charged
        if self.hold is not None:
            self.hold.left += max(0.0, self.of_hold - charged)
        self.settled()


@dataclass(eq=False)
class _Waiting:
    """A request that fits alone, but not beside what is in flight."""

    spender: SessionBudget
    worst: WorstCase
    answer: asyncio.Future[Reservation | BudgetRefusal]


@dataclass
class BudgetLedger:
    """The budgets of the experiment and its roles; a trial's own budget comes with each request."""

    experiment: TrialBudget
    roles: dict[Role, TrialBudget] = field(default_factory=dict)
    holds: dict[str, JudgeReserve] = field(default_factory=dict)
    _queue: list[_Waiting] = field(default_factory=list)

    @classmethod
    def opened(cls, total: float | None, by_role: Mapping[Role, float], spent: Mapping[Role, float]) -> "BudgetLedger":
        """Create a ledger with what is spent already."""
        roles: tuple[Role, ...] = ("agent", "judge")
        return cls(
            TrialBudget("experiment", total, sum(spent.values())),
            {role: TrialBudget("role", by_role.get(role), spent.get(role, 0.0)) for role in roles},
        )

    def hold(self, cell: str, usd: float) -> None:
        """Reserve this amount for the judges of a cell; 0 removes the reservation."""
        self.holds.pop(cell, None)
        if usd > 0:
            self.holds[cell] = JudgeReserve(usd)
        self._serve()

    async def reserve(
        self, spender: SessionBudget, worst: WorstCase | None, is_gone: Callable[[], bool]
    ) -> Reservation | BudgetRefusal:
        """Reserve what the request may cost, or refuse it; it may wait until its client `is_gone`.

        Args:
            spender: the session that asks.
            worst: its highest cost; None: its price is not known.
            is_gone: tells if the client has left.
        """
        if worst is None:
            return self._unpriced(spender)
        waiting = _Waiting(spender, worst, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._serve()
        try:
            while not waiting.answer.done():
                await asyncio.wait({waiting.answer}, timeout=_LOOK_SECONDS)
                if not waiting.answer.done() and is_gone():
                    return BudgetRefusal("client_gone", "the client left while its request waited for the spend limit")
        except asyncio.CancelledError:
            if waiting.answer.done() and isinstance(granted := waiting.answer.result(), Reservation):
                granted.settle(0.0)
            raise
        finally:
            if waiting in self._queue:
                self._queue.remove(waiting)
                self._serve()
        return waiting.answer.result()

    def _serve(self) -> None:
        """Answer all requests that need not wait, in order; behind one that waits, only its own session waits."""
        short: set[TrialBudget] = set()
        for waiting in list(self._queue):
            if waiting.spender.trial not in short:
                result = self._try(waiting.spender, waiting.worst)
                if result is None:
                    short.add(waiting.spender.trial)
                else:
                    self._queue.remove(waiting)
                    waiting.answer.set_result(result)

    def _try(self, spender: SessionBudget, worst: WorstCase) -> Reservation | BudgetRefusal | None:
        """Return a reservation or a refusal; None if the request has to wait."""
        tokens = worst.asked
        for purse in self._purses(spender):
            if purse.budget is None:
                continue
            alone = self._left(purse, spender)
            if worst.fits(alone) < worst.least:
                return _refused(purse, spender, worst, alone)
            tokens = min(tokens, worst.fits(alone - purse.in_flight))
        if tokens < worst.least:
            return None
        return self._take(spender, worst.usd(tokens), tokens)

    def _take(self, spender: SessionBudget, usd: float, tokens: int) -> Reservation:
        purses = self._purses(spender)
        for purse in purses:
            purse.in_flight += usd
        hold = self.holds.get(spender.cell) if spender.role == "judge" else None
        of_hold = min(hold.left, usd) if hold else 0.0
        if hold:
            hold.left -= of_hold
        return Reservation(usd, tokens, purses, self._serve, hold, of_hold)

    def _purses(self, spender: SessionBudget) -> tuple[TrialBudget, ...]:
        return spender.trial, self.roles[spender.role], self.experiment

    def _left(self, purse: TrialBudget, spender: SessionBudget) -> float:
        """Return what could be spent of a budget if nothing were in flight."""
        reserved = 0.0
        if purse.scope == "experiment":
            own = spender.cell if spender.role == "judge" else None
            reserved = sum(hold.left for cell, hold in self.holds.items() if cell != own)
        return (purse.budget or 0.0) - purse.spent - reserved

    def _unpriced(self, spender: SessionBudget) -> Reservation | BudgetRefusal:
        for purse in self._purses(spender):
            if purse.budget is not None:
                scope = _limit_name(purse.scope, spender.role)
                return BudgetRefusal("unknown_price", _UNKNOWN.format(budget=purse.budget, scope=scope))
        return Reservation(0.0, 0, (), self._serve)


def _refused(purse: TrialBudget, spender: SessionBudget, worst: WorstCase, left: float) -> BudgetRefusal:
    message = _SPENT.format(
        budget=purse.budget or 0.0, scope=_limit_name(purse.scope, spender.role), spent=purse.spent,
        left=max(0.0, left), need=worst.usd(worst.least), tokens=counted(worst.least, "token"),
    )  # fmt: skip
    return BudgetRefusal(f"budget_exceeded:{'trial_share' if _is_own(spender.trial, worst) else purse.scope}", message)


def _is_own(trial: TrialBudget, worst: WorstCase) -> bool:
    """Tell if the request, with what the trial has spent, exceeds its share of the common budgets."""
    return trial.share is not None and trial.spent + trial.in_flight + worst.usd(worst.least) > trial.share


_SPENT: Final = (
    "the spend limit of ${budget:g} of {scope} is reached (${spent:.4f}; ${left:.4f} left), and this request may cost "
    "${need:.4f} with an answer of {tokens}"
)
_USED_UP: Final = "the limit of {tokens} of this key is reached ({spent} so far)"
_UNKNOWN: Final = "this model has no known price, so the spend limit of ${budget:g} of {scope} cannot be kept"


def _limit_name(scope: Scope, role: Role) -> str:
    """Name the limit in words that do not reveal an evaluation to an agent."""
    return {"trial": "this key", "role": f"keys of this kind ({role})", "experiment": "this account"}[scope]
