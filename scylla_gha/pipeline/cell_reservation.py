"""Reservation of money for single cells: the share of the agent, and the reserve for the judges."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.pipeline.cell_budget import CellNeed
from scylla_gha.pipeline.context import RunContext, stored_trial
from scylla_gha.plan.estimate import is_for_judges, panel_worst
from scylla_gha.store.run_folder import CellFolder, find_judgment


def reserve_cell(context: RunContext, cell: Cell) -> AbstractContextManager[str | None]:
    """Reserve the maximum cost of a cell until it is judged; the context's value is the reason if that is refused."""
    if context.budget is None:
        return nullcontext()
    limit = context.plan.experiment.limits.usd if context.plan.arm(cell.arm).model else None
    return context.budget.cell(cell.id, CellNeed(limit or 0.0, _judges_usd(context, cell)), context.cancel)


def reserve_judging(context: RunContext, cell: Cell, trial: Trial, folder: CellFolder) -> AbstractContextManager[None]:
    """Reserve the maximum cost of judging a stored trial, if it has no judgment yet."""
    if context.budget is None or not _is_unjudged(context, cell, trial, folder):
        return nullcontext()
    return context.budget.judging(cell.id, _judges_usd(context, cell))


def agent_share(context: RunContext, cell: Cell) -> float | None:
    """Return an equal share of the agents' budget for one trial, in USD.

    The reserve for the judges of all cells that run at once is not part of the agents' budget.

    Returns:
        None if the trial has a limit of its own, or if there is no budget.
    """
    experiment, cells = context.plan.experiment, len(context.plan.cells)
    if experiment.limits.usd is not None:
        return None
    judges_usd = _judges_usd(context, cell) * min(context.workers, cells)
    total = None if experiment.budget_usd is None else max(0.0, experiment.budget_usd - judges_usd)
    budgets = [budget for budget in (total, experiment.role_budget_usd.agent) if budget is not None]
    return min(budgets) / cells if budgets else None


def _judges_usd(context: RunContext, cell: Cell) -> float:
    """Return the maximum cost of one request to each judge of a cell; what it leaves over pays for a second one."""
    experiment = context.plan.experiment
    judges = experiment.judges if context.judging and is_for_judges(context.scenario(cell.scenario).rubric) else ()
    return panel_worst(judges, context.library.priced_models(experiment.prices))


def _is_unjudged(context: RunContext, cell: Cell, trial: Trial, folder: CellFolder) -> bool:
    """Return whether a stored trial has no valid judgment."""
    judgment = find_judgment(folder, context.key(cell, trial)) if trial.outcome.measures_agent else None
    return trial.outcome.measures_agent and (judgment is None or judgment.error is not None)


def unjudged_first(context: RunContext, cells: Sequence[Cell]) -> Iterable[Cell]:
    """Sort stored trials without a judgment first if there is a budget, so no new agent spends their judges' money."""
    if context.fresh or not context.judges or context.plan.experiment.budget_usd is None:
        return cells

    def is_later(cell: Cell) -> bool:
        folder = context.folder.cell(cell.id)
        trial = stored_trial(cell, folder, context.plan.not_before)
        return trial is None or not _is_unjudged(context, cell, trial, folder)

    return sorted(cells, key=is_later)
