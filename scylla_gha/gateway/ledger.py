"""Budgets: what is spent, what is in flight, and whether one more request may go out.

What is in flight counts with its input alone, since nobody knows an answer's length before it is there: a budget can
be exceeded by the answers in flight, not by a request that begins later. An answer whose cost is not known counts with
a high guess here, and stays unknown in the journal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.model.pricing import Price
from scylla_gha.model.traffic import Role, Tokens

Scope = Literal["trial", "role", "experiment"]
SHARED_BUDGETS: Final = frozenset({"budget_exceeded:role", "budget_exceeded:experiment"})  # not the agent's doing
_CHARACTERS_PER_TOKEN: Final = 3  # few enough to estimate code and JSON from above


@dataclass
class Purse:
    """A budget in USD (None: unlimited) and what was taken from it."""

    scope: Scope
    budget: float | None
    spent: float = 0.0
    in_flight: float = 0.0


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
class Reservation:
    """What is set aside for a request in flight, in which purses."""

    usd: float
    purses: tuple[Purse, ...]

    def settle(self, usd: float | None) -> None:
        """The request has ended, and cost this much; None is unknown."""
        for purse in self.purses:
            purse.in_flight -= self.usd
            purse.spent += self.usd if usd is None else usd


@dataclass
class Ledger:
    """The purses of the experiment and of its roles; a lane's own purse comes along with each request."""

    experiment: Purse
    roles: dict[Role, Purse] = field(default_factory=dict)

    @classmethod
    def opened(cls, total: float | None, by_role: Mapping[Role, float], spent: Mapping[Role, float]) -> "Ledger":
        """A ledger of these budgets, with what is spent already."""
        roles: tuple[Role, ...] = ("agent", "judge")
        return cls(
            Purse("experiment", total, sum(spent.values())),
            {role: Purse("role", by_role.get(role), spent.get(role, 0.0)) for role in roles},
        )

    def reserve(self, trial: Purse, role: Role, price: Price | None, characters: int) -> Reservation | Refusal:
        """Set aside what the request's input costs, or refuse it."""
        purses = (trial, self.roles[role], self.experiment)
        for purse in purses:
            if purse.budget is not None and price is None:
                return Refusal("unknown_price", _UNKNOWN.format(budget=purse.budget, scope=_said(purse.scope, role)))
            if purse.budget is not None and purse.spent + purse.in_flight >= purse.budget:
                message = _SPENT.format(budget=purse.budget, scope=_said(purse.scope, role), spent=purse.spent)
                return Refusal(f"budget_exceeded:{purse.scope}", message)
        estimate = price.usd_at_most(Tokens(input=characters // _CHARACTERS_PER_TOKEN)) if price else 0.0
        for purse in purses:
            purse.in_flight += estimate
        return Reservation(estimate, purses)


_SPENT: Final = (
    "scylla-gha: the budget of ${budget:g} for {scope} is spent (${spent:.4f}, and what is in flight); "
    "raise it in the experiment's limits to go on"
)
_USED_UP: Final = (
    "scylla-gha: the budget of {budget} tokens for this trial is spent ({spent} so far); raise limits.tokens of the "
    "experiment to go on"
)
_UNKNOWN: Final = (
    "scylla-gha: this model has no known price, so the budget of ${budget:g} for {scope} cannot be kept; "
    "add its price to config/models, or take the budget away"
)


def _said(scope: Scope, role: Role) -> str:
    return f"the role '{role}'" if scope == "role" else f"this {scope}"
