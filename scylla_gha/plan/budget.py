"""Budgets of a plan: compared with the estimate, split over shards, and reduced by what stored rows cost."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import RefusedError
from scylla_gha.model.experiment import Experiment, RoleBudgets
from scylla_gha.model.plan import CostRange, Plan
from scylla_gha.model.result import Result

_NOTHING_USD: Final = 1e-9  # a sum of likely costs below it is rounding, not a cost
_LEAST_SHARE: Final = 1e-6  # of the whole: a shard that is likely to cost nothing has a budget as well


def refuse_above_budget(plan: Plan) -> None:
    """Compare the estimate with the budgets of the experiment and of its roles.

    Raises:
        RefusedError: a likely cost is above its budget, or unknown.
    """
    experiment, estimate = plan.experiment, plan.estimate
    _refuse_above("budget_usd", experiment.budget_usd, "", estimate.usd)
    _refuse_above("role_budget_usd.agent", experiment.role_budget_usd.agent, " of the agents", estimate.agents.usd)
    _refuse_above("role_budget_usd.judge", experiment.role_budget_usd.judge, " of the judges", estimate.judges.usd)


def _refuse_above(field: str, budget: float | None, whose: str, usd: CostRange) -> None:
    if budget is None:
        return
    if usd.likely is None:
        raise RefusedError(f"the cost{whose} cannot be estimated (a model's price is unknown), so {field} cannot be "
                           f"kept; add the price in config/models/, or remove {field}")  # fmt: skip
    if usd.likely > budget:
        raise RefusedError(f"the likely cost{whose}, ${usd.likely:.2f}, is above the budget of ${budget:.2f}; "
                           f"plan fewer cells (--only, --repetitions), or raise {field}")  # fmt: skip


@dataclass(frozen=True, slots=True)
class BudgetClaim:
    """Claim of a shard: the USD that one of its cells may need, its likely cost (None: unknown), number of cells."""

    need: float
    usd: float | None
    cells: int


def split_budget(field: str, budget: float | None, claims: Sequence[BudgetClaim]) -> list[float | None]:
    """Split a budget over shards: to each what one of its cells may need, and of the rest a part by likely cost.

    Args:
        field: of the experiment, for the message.
        budget: in USD, without what is spent already; None: all parts are None.
        claims: of the shards, in their order.

    Raises:
        RefusedError: a shard could not start a single cell with its part.
    """
    if budget is None:
        return [None] * len(claims)
    needs = math.fsum(claim.need for claim in claims)
    rest = budget - needs
    if rest < 0 or budget <= 0:
        raise RefusedError(f"{field}: ${max(budget, 0):.2f} are for {counted(len(claims), 'job')}, each of which may "
                           f"need limits.usd for a single cell, ${needs:.2f} together, so some could start none; raise "
                           "--budget-usd, lower limits.usd, or plan fewer jobs (--most-shards)")  # fmt: skip
    weights = _weights(claims)
    whole = math.fsum(weights)
    return [claim.need + rest * weight / whole for claim, weight in zip(claims, weights, strict=True)]


def _weights(claims: Sequence[BudgetClaim]) -> list[float]:
    """Return the likely costs, or numbers of cells if a cost is unknown or nothing is likely to cost anything."""
    costs = [claim.usd for claim in claims if claim.usd is not None]
    total = math.fsum(costs)
    if len(costs) < len(claims) or total < _NOTHING_USD:
        return [float(claim.cells) for claim in claims]
    return [max(usd, _LEAST_SHARE * total) for usd in costs]


def budgets_left(experiment: Experiment, paid: Iterable[Result]) -> Experiment:
    """Return the experiment with what rows that were paid leave of its budgets.

    Raises:
        RefusedError: nothing is left of a budget.
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
        raise RefusedError(f"{field} of ${budget:.2f} is spent: the rows that are there cost ${spent:.2f}; raise it "
                           "to go on")  # fmt: skip
    return None if budget is None else budget - spent
