"""Budgets of an experiment: comparison with the estimate, split over shards, and reserves of running cells.

The gateway refuses each request above a budget; `CellBudget` keeps cells from starting that the gateway would
interrupt. A cell starts only if its limit fits into the unspent and unreserved money. Otherwise it waits
for other cells, since most cost less than their limit, and is refused when no running cell is left that
can release money.
"""

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.counting import counted, dollars
from scylla_gha.errors import RefusedError
from scylla_gha.model.experiment import Experiment, RoleBudgets
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.system.process import Cancel

if TYPE_CHECKING:
    from scylla_gha.gateway.client import GatewayProcess

_NOTHING_USD: Final = 1e-9  # smaller sums of likely costs are rounding errors
_LEAST_SHARE: Final = 1e-6  # share of the sum of likely costs, so that a shard that is probably free has a budget too
_POLL_SECONDS: Final = 0.5  # pause; an interruption does not wake a waiting thread


def refuse_above_budget(plan: Plan) -> None:
    """Compare the estimate with the budgets of the experiment and of its roles.

    Raises:
        RefusedError: a likely cost is unknown, or above its budget, or nothing limits a model without a known price.
    """
    experiment, estimate, roles = plan.experiment, plan.estimate, plan.experiment.role_budget_usd
    names = " and ".join(estimate.unpriced) or "a model"
    for field, budget, whose, usd in (
        ("budget_usd", experiment.budget_usd, "", estimate.usd),
        ("role_budget_usd.agent", roles.agent, " of the agents", estimate.agents.usd),
        ("role_budget_usd.judge", roles.judge, " of the judges", estimate.judges.usd),
    ):
        if budget is None:
            continue
        if usd.likely is None:
            raise RefusedError(
                f"the cost{whose} cannot be estimated (the price of {names} is unknown), so {field} "
                f"cannot be enforced; add the price in config/models/, or remove {field}"
            )
        if usd.likely > budget:
            raise RefusedError(
                f"the likely cost{whose}, {dollars(usd.likely)}, is above the budget of "
                f"{dollars(budget)}; plan fewer cells (--only, --repetitions), or raise {field}"
            )
    _refuse_unlimited(plan)


def _refuse_unlimited(plan: Plan) -> None:
    """Refuse a trial's limit in USD without a price, and a model without a price and without a limit in tokens."""
    limits, unpriced = plan.experiment.limits, plan.estimate.unpriced
    names = " and ".join(dict.fromkeys(arm.model for arm in plan.arms if arm.model and arm.model in unpriced))
    if names and (limits.usd is not None or limits.tokens is None):
        fault = "limits.usd cannot be enforced" if limits.usd is not None else "no budget in USD limits its trials"
        other = "replace limits.usd by limits.tokens" if limits.usd is not None else "set limits.tokens"
        raise RefusedError(f"{names}: there is no known price, so {fault}; add the price in config/models/, or {other}")


@dataclass(frozen=True, slots=True)
class BudgetClaim:
    """Claim of a shard on a budget."""

    need: float  # maximum cost of one of the shard's cells in USD
    usd: float | None  # likely cost; None: unknown
    cells: int


def split_budget(field: str, budget: float | None, claims: Sequence[BudgetClaim]) -> list[float | None]:
    """Split a budget over shards: each gets the need of one cell, and a share of the rest by its likely cost.

    Args:
        field: name of the budget's field, for the message.
        budget: unspent USD; None: all shares are None.
        claims: claims of the shards, in their order.

    Raises:
        RefusedError: a shard cannot start a single cell with its share.
    """
    if budget is None:
        return [None] * len(claims)
    needs = math.fsum(claim.need for claim in claims)
    rest = budget - needs
    if rest < 0 or budget <= 0:
        raise RefusedError(
            f"{field}: {dollars(max(budget, 0))} are left for {counted(len(claims), 'job')}, each of which "
            f"may need limits.usd for a single cell, {dollars(needs)} together, so some could start "
            "none; raise --budget-usd, lower limits.usd, or plan fewer jobs "
            "(--most-shards)"
        )
    costs = [claim.usd for claim in claims if claim.usd is not None]
    total = math.fsum(costs)
    if len(costs) < len(claims) or total < _NOTHING_USD:  # a cost is unknown, or all likely costs are 0
        weights = [float(claim.cells) for claim in claims]
    else:
        weights = [max(usd, _LEAST_SHARE * total) for usd in costs]
    whole = math.fsum(weights)
    return [claim.need + rest * weight / whole for claim, weight in zip(claims, weights, strict=True)]


def budgets_left(experiment: Experiment, paid: Iterable[Result]) -> Experiment:
    """Return the experiment with its budgets less the cost of paid rows.

    Raises:
        RefusedError: a budget is spent.
    """
    rows = list(paid)
    agents = math.fsum(row.usd or 0.0 for row in rows)
    judges = math.fsum(row.judge_usd or 0.0 for row in rows)
    roles = experiment.role_budget_usd
    left = RoleBudgets(
        agent=_left("role_budget_usd.agent", roles.agent, agents),
        judge=_left("role_budget_usd.judge", roles.judge, judges),
    )
    whole = _left("budget_usd", experiment.budget_usd, agents + judges)
    return experiment.model_copy(update={"budget_usd": whole, "role_budget_usd": left})


def _left(field: str, budget: float | None, spent: float) -> float | None:
    if budget is not None and spent >= budget:
        raise RefusedError(
            f"{field} of {dollars(budget)} is spent: the stored rows cost {dollars(spent)}; raise the budget to "
            "continue"
        )
    return None if budget is None else budget - spent


@dataclass(frozen=True, slots=True)
class CellNeed:
    """Maximum cost of a cell in USD."""

    agent: float  # limit of a trial
    judges: float  # cost with the longest evidence


class CellBudget:
    """The budgets of one run, shared by its worker threads."""

    def __init__(self, experiment: Experiment, gateway: "GatewayProcess") -> None:
        self._experiment = experiment
        self._gateway = gateway
        self._reserved: list[CellNeed] = []
        self._changed = threading.Condition()
        self._refused = False

    @property
    def is_spent(self) -> bool:
        """True if a cell or a request was refused."""
        return self._refused or self._gateway.overspent

    @contextmanager
    def cell(self, name: str, need: CellNeed, cancel: Cancel) -> Iterator[str | None]:
        """Reserve the maximum cost of a cell until it is judged; yield the reason if the budget is too small.

        No agent, not even the cell's own, can spend the judges' part.
        """
        refusal = self._reserve(need, cancel)
        if refusal is not None:
            yield refusal
            return
        with self._reserved_for_judges(name, need):
            yield None

    @contextmanager
    def judging(self, name: str, usd: float) -> Iterator[None]:
        """Reserve the maximum cost of the judges of a stored trial until it is judged."""
        need = CellNeed(0.0, usd)
        with self._changed:
            self._reserved.append(need)
        with self._reserved_for_judges(name, need):
            yield

    @contextmanager
    def _reserved_for_judges(self, name: str, need: CellNeed) -> Iterator[None]:
        """Reserve the judges' part at the gateway too; release all of `need` at the end."""
        try:
            with self._gateway.reserve_for_judges(name, need.judges):
                yield
        finally:
            with self._changed:
                self._reserved.remove(need)
                self._changed.notify_all()

    def _reserve(self, need: CellNeed, cancel: Cancel) -> str | None:
        with self._changed:
            while (reason := self._excess(need)) and self._reserved and not cancel.is_set:
                self._changed.wait(_POLL_SECONDS)
            if reason is None:
                self._reserved.append(need)
            elif not cancel.is_set:
                self._refused = True
            return reason

    def _excess(self, need: CellNeed) -> str | None:
        experiment, gateway = self._experiment, self._gateway
        roles = experiment.role_budget_usd
        agents = need.agent + sum(other.agent for other in self._reserved)
        judges = need.judges + sum(other.judges for other in self._reserved)
        return (
            _shortage("this experiment", experiment.budget_usd, gateway.spent_usd(), agents, judges)
            or _shortage("the role 'agent'", roles.agent, gateway.spent_usd("agent"), agents, 0.0)
            or _shortage("the role 'judge'", roles.judge, gateway.spent_usd("judge"), 0.0, judges)
            or ("a budget is spent: requests of earlier cells were refused" if gateway.overspent else None)
        )


def _shortage(whose: str, budget: float | None, spent: float, agents: float, judges: float) -> str | None:
    if budget is None or (spent < budget and spent + agents + judges <= budget):
        return None
    parts = [f"{dollars(agents)} (limits.usd)"] * bool(agents) + [f"{dollars(judges)} for its judges"] * bool(judges)
    need = f", and the cell may need {' and '.join(parts)}" if parts and spent < budget else ""
    return f"{dollars(spent)} of the budget of {dollars(budget)} for {whose} is spent{need}"
