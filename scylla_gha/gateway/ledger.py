"""Budgets: what is spent, what is in flight, and whether one more request may go out.

A request is reserved at its worst case before it goes out, in every budget at once, and settled by what it cost: so no
budget is exceeded, but by the error of the estimate of a prompt. Where a request does not fit, it is lowered: its
answer may be as long as the money buys. Where even the shortest does not fit beside what is in flight, it waits for
that, and later requests of its session wait behind it; where it would not fit alone either, it is refused. An answer
whose cost is not known counts with a high guess here, and stays unknown in the journal.

One event loop: nothing is awaited between a check and its reservation.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.gateway.terms import Worst
from scylla_gha.model.traffic import Role, Tokens

Scope = Literal["trial", "role", "experiment"]
SHARED_BUDGETS: Final = frozenset({"budget_exceeded:role", "budget_exceeded:experiment", "budget_exceeded:trial_share"})
_CHARACTERS_PER_TOKEN: Final = 3  # few enough to estimate code and JSON from above
_LOOK_SECONDS: Final = 0.5  # a client that has left wakes nobody who waits


@dataclass(eq=False)
class Purse:
    """A budget in USD (None: unlimited) and what was taken from it.

    Attributes:
        share: of the budgets that a trial without a limit has in common with others; beyond it a refusal is its own.
    """

    scope: Scope
    budget: float | None
    spent: float = 0.0
    in_flight: float = 0.0
    share: float | None = None


@dataclass
class Tally:
    """A trial's budget of tokens (None: unlimited), and those of its answers so far.

    What is in flight is not counted: its length is known when it has ended. An answer of unknown length, which was cut,
    counts with a high guess of its request.
    """

    budget: int | None
    spent: int = 0

    def add(self, tokens: Tokens | None, characters: int) -> None:
        """A request has ended with so many tokens; None is unknown."""
        self.spent += characters // _CHARACTERS_PER_TOKEN if tokens is None else tokens.total

    def refusal(self) -> "Refusal | None":
        """Why no further request goes out, where the budget is spent."""
        if self.budget is None or self.spent < self.budget:
            return None
        return Refusal("budget_exceeded:trial_tokens", _USED_UP.format(budget=self.budget, spent=self.spent))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request does not go out: an error name for the journal, a sentence for the client."""

    error: str
    message: str


@dataclass(frozen=True, slots=True)
class Spender:
    """Who asks: a role of a cell, with the budget of its trial."""

    trial: Purse
    role: Role
    cell: str


@dataclass
class Hold:
    """What of the experiment's budget is kept for the judges of a cell, and is not yet in flight or spent."""

    left: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is set aside for a request in flight, in which purses. `tokens` is what its answer may have."""

    usd: float
    tokens: int
    purses: tuple[Purse, ...]
    settled: Callable[[], None]
    hold: Hold | None = None
    of_hold: float = 0.0

    def settle(self, usd: float | None) -> None:
        """The request has ended, and cost this much; None is unknown, and counts as reserved."""
        charged = self.usd if usd is None else usd
        for purse in self.purses:
            purse.in_flight -= self.usd
            purse.spent += charged
        if self.hold is not None:
            self.hold.left += max(0.0, self.of_hold - charged)
        self.settled()


@dataclass(eq=False)
class _Waiting:
    """A request that fits alone, and not beside what is in flight."""

    spender: Spender
    worst: Worst
    answer: asyncio.Future[Reservation | Refusal]


@dataclass
class Ledger:
    """The purses of the experiment and of its roles; a lane's own purse comes along with each request."""

    experiment: Purse
    roles: dict[Role, Purse] = field(default_factory=dict)
    holds: dict[str, Hold] = field(default_factory=dict)
    _queue: list[_Waiting] = field(default_factory=list)

    @classmethod
    def opened(cls, total: float | None, by_role: Mapping[Role, float], spent: Mapping[Role, float]) -> "Ledger":
        """A ledger of these budgets, with what is spent already."""
        roles: tuple[Role, ...] = ("agent", "judge")
        return cls(
            Purse("experiment", total, sum(spent.values())),
            {role: Purse("role", by_role.get(role), spent.get(role, 0.0)) for role in roles},
        )

    def hold(self, cell: str, usd: float) -> None:
        """Keep so much for the judges of a cell, or nothing more with 0."""
        self.holds.pop(cell, None)
        if usd > 0:
            self.holds[cell] = Hold(usd)
        self._serve()

    async def reserve(
        self, spender: Spender, worst: Worst | None, is_gone: Callable[[], bool]
    ) -> Reservation | Refusal:
        """Set aside what the request may cost, or refuse it; it may wait for others until its client `is_gone`.

        Args:
            spender: who asks.
            worst: what it may cost; None: its price is not known.
            is_gone: whether nobody waits for the answer any more.
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
                    return Refusal("client_gone", "the client left while its request waited for the spend limit")
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
        """Answer all who need not wait, in their order; behind one who has to, only its own session waits."""
        short: set[Purse] = set()
        for waiting in list(self._queue):
            if waiting.spender.trial not in short:
                made = self._try(waiting.spender, waiting.worst)
                if made is None:
                    short.add(waiting.spender.trial)
                else:
                    self._queue.remove(waiting)
                    waiting.answer.set_result(made)

    def _try(self, spender: Spender, worst: Worst) -> Reservation | Refusal | None:
        """A reservation or a refusal; None: it has to wait."""
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

    def _take(self, spender: Spender, usd: float, tokens: int) -> Reservation:
        purses = self._purses(spender)
        for purse in purses:
            purse.in_flight += usd
        hold = self.holds.get(spender.cell) if spender.role == "judge" else None
        of_hold = min(hold.left, usd) if hold else 0.0
        if hold:
            hold.left -= of_hold
        return Reservation(usd, tokens, purses, self._serve, hold, of_hold)

    def _purses(self, spender: Spender) -> tuple[Purse, ...]:
        return spender.trial, self.roles[spender.role], self.experiment

    def _left(self, purse: Purse, spender: Spender) -> float:
        """What could be spent of a budget, were nothing in flight."""
        kept = 0.0
        if purse.scope == "experiment":
            own = spender.cell if spender.role == "judge" else None
            kept = sum(hold.left for cell, hold in self.holds.items() if cell != own)
        return (purse.budget or 0.0) - purse.spent - kept

    def _unpriced(self, spender: Spender) -> Reservation | Refusal:
        for purse in self._purses(spender):
            if purse.budget is not None:
                scope = _said(purse.scope, spender.role)
                return Refusal("unknown_price", _UNKNOWN.format(budget=purse.budget, scope=scope))
        return Reservation(0.0, 0, (), self._serve)


def _refused(purse: Purse, spender: Spender, worst: Worst, left: float) -> Refusal:
    message = _SPENT.format(
        budget=purse.budget or 0.0, scope=_said(purse.scope, spender.role), spent=purse.spent, left=max(0.0, left),
        need=worst.usd(worst.least), tokens=worst.least,
    )  # fmt: skip
    return Refusal(f"budget_exceeded:{'trial_share' if _is_own(spender.trial, worst) else purse.scope}", message)


def _is_own(trial: Purse, worst: Worst) -> bool:
    """Whether the request, beside what the trial spent, is more than its share of what it has in common with others."""
    return trial.share is not None and trial.spent + trial.in_flight + worst.usd(worst.least) > trial.share


_SPENT: Final = (
    "the spend limit of ${budget:g} of {scope} is reached (${spent:.4f}; ${left:.4f} left), and this request may cost "
    "${need:.4f} with an answer of {tokens} tokens"
)
_USED_UP: Final = "the limit of {budget} tokens of this key is reached ({spent} so far)"
_UNKNOWN: Final = "this model has no known price, so the spend limit of ${budget:g} of {scope} cannot be kept"


def _said(scope: Scope, role: Role) -> str:
    """Whose limit it is, in words that tell an agent nothing of an evaluation."""
    return {"trial": "this key", "role": f"keys of this kind ({role})", "experiment": "this account"}[scope]
