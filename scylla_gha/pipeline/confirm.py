"""Confirmation of costs before the first paid request."""

import sys
from collections.abc import Iterator

import click

from scylla_gha.counting import counted
from scylla_gha.errors import RefusedError
from scylla_gha.model.plan import Cell, Estimate
from scylla_gha.pipeline.context import RunContext
from scylla_gha.pipeline.model_access import RecordingOptions, spent_usd
from scylla_gha.plan.build import history_of
from scylla_gha.plan.estimate import DueCells, estimate_cells, is_for_judges

_NO_LIMIT = float("inf")


def confirm_spending(context: RunContext, recording: RecordingOptions, *, yes: bool, controls: int = 0) -> None:
    """Ask the user to confirm the paid work of a run that is not stored yet; ask nothing if there is none.

    Every command that runs agents or judges calls it.

    Args:
        context: of the run; `judging` and `fresh` change which work is due.
        recording: a replay costs nothing.
        yes: the user gave --yes.
        controls: number of control questions to judges, in addition to the trials.

    Raises:
        RefusedError: the user declines, standard input is not a terminal, or a budget is spent.
    """
    due = due_work(context)
    if recording.replay is not None or not (due.trials or due.judgments or controls):
        return
    plan = context.plan
    experiment = plan.experiment.model_copy(update={"judges": context.judges})
    estimate = estimate_cells(experiment, context.library, plan.arms, due, history_of(context.folder.results))
    limit_usd = _limit(context, due)
    controls_text = f", and {counted(controls, 'control')} of judges" if controls else ""
    work_text = f"{counted(len(due.trials), 'trial')} to run and {len(due.judgments)} to judge with paid models"
    question = f"{work_text}{controls_text}: spend {_amount(estimate, limit_usd)}?"
    if yes:
        return
    if not sys.stdin.isatty():
        raise RefusedError(f"{question} Standard input is not a terminal; give --yes to confirm")
    if not confirm(question):
        raise RefusedError("not confirmed; nothing was run")


def confirm(question: str) -> bool:
    """Ask on the terminal; False also if nobody is there to answer."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False


def due_work(context: RunContext) -> DueCells:
    """Return the cells whose trial or judgment needs a paid model and is not stored under its key."""
    trials = [
        cell for cell in context.plan.cells if context.plan.arm(cell.arm).model and not context.stored_trial(cell)
    ]
    return DueCells(trials, list(_unjudged_cells(context)))


def _unjudged_cells(context: RunContext) -> Iterator[Cell]:
    if not context.judging or not context.judges:
        return
    for cell in context.plan.cells:
        trial = context.stored_trial(cell)
        is_due = trial is None or context.needs_judgment(cell, trial)
        if is_due and is_for_judges(context.scenario(cell.scenario).rubric):
            yield cell


def _limit(context: RunContext, due: DueCells) -> float:
    """Return the USD at which the gateway stops the run; infinite without a budget.

    Raises:
        RefusedError: a budget is spent.
    """
    experiment, spent = context.plan.experiment, spent_usd(context.folder)
    roles = experiment.role_budget_usd
    left_usd = _remaining("budget_usd", experiment.budget_usd, sum(spent.values()))
    agents = judges = 0.0
    if due.trials:
        per_trial_usd = (experiment.limits.usd or _NO_LIMIT) * experiment.retry.attempts
        agents = min(_remaining("role_budget_usd.agent", roles.agent, spent["agent"]), per_trial_usd * len(due.trials))
    if due.judgments or not due.trials:
        judges = _remaining("role_budget_usd.judge", roles.judge, spent["judge"])
    return min(left_usd, agents + judges)


def _remaining(field: str, budget: float | None, spent: float) -> float:
    if budget is None:
        return _NO_LIMIT
    if spent >= budget:
        raise RefusedError(f"{field} of ${budget:.2f} is spent: all traffic in the run's folder, old/ included, "
                           f"cost ${spent:.2f}; raise it, or begin another folder with --runs")  # fmt: skip
    return budget - spent


def _amount(estimate: Estimate, limit_usd: float) -> str:
    usd = estimate.usd
    likely = "an unknown sum" if usd.likely is None else f"likely ${usd.likely:.2f}"
    if limit_usd < _NO_LIMIT:
        return f"up to ${limit_usd:.2f} ({likely})"
    high = "" if usd.high is None else f", perhaps ${usd.high:.2f},"
    return f"{likely}{high} with no budget to stop at"
