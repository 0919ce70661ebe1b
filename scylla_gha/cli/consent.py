"""Before the first paid request: what is to be paid for, how much that may be, and whether it is wanted."""

import sys
from collections.abc import Iterator

import click

from scylla_gha.cli.access import spent_usd
from scylla_gha.cli.journey import Journey, stored_trial
from scylla_gha.cli.options import Tape
from scylla_gha.cli.planning import history_of
from scylla_gha.counting import counted
from scylla_gha.errors import RefusedError
from scylla_gha.model.plan import Cell, Estimate
from scylla_gha.plan import Work, expect
from scylla_gha.store import find_judgment

_NO_LIMIT = float("inf")


def ask_to_spend(journey: Journey, tape: Tape, *, yes: bool, controls: int = 0) -> None:
    """Ask whether the work of a journey that is not stored yet may be paid for; nothing, where nothing is to be paid.

    For every command that runs agents or judges; `journey.judging` and `journey.fresh` say what it does. `controls` are
    further questions to judges, beside those of the trials.

    Raises:
        RefusedError: it may not, nobody is there to say so, or a budget is spent.
    """
    due = due_work(journey)
    if tape.replay is not None or not (due.trials or due.judgments or controls):
        return
    plan = journey.plan
    experiment = plan.experiment.model_copy(update={"judges": journey.judges})
    guess = expect(experiment, journey.library, plan.arms, due, history_of(journey.folder.results))
    most = _most(journey, due)
    asked = f", and {counted(controls, 'control')} of judges" if controls else ""
    what = f"{counted(len(due.trials), 'trial')} to run and {len(due.judgments)} to judge with paid models{asked}"
    question = f"{what}: spend {_amount(guess, most)}?"
    if yes:
        return
    if not sys.stdin.isatty():
        raise RefusedError(f"{question} Nobody is at a terminal to say so; give --yes to spend it without being asked")
    if not click.confirm(question, err=True):
        raise RefusedError("not confirmed; nothing was run")


def due_work(journey: Journey) -> Work:
    """The cells whose trial, and those whose judgment, needs a paid model and is not stored under its key."""
    trials = [cell for cell in journey.plan.cells if journey.plan.arm(cell.arm).model and not _is_run(journey, cell)]
    return Work(trials, list(_to_judge(journey)))


def _is_run(journey: Journey, cell: Cell) -> bool:
    return not journey.fresh and stored_trial(cell, journey.folder.cell(cell.id), journey.plan.not_before) is not None


def _to_judge(journey: Journey) -> Iterator[Cell]:
    if not journey.judging or not journey.judges:
        return
    for cell in journey.plan.cells:
        if all(item.checks for item in journey.scenario(cell.scenario).rubric.items):
            continue  # code decides all of it
        place = journey.folder.cell(cell.id)
        trial = stored_trial(cell, place, journey.plan.not_before)
        judgment = find_judgment(place, journey.key(cell, trial)) if trial else None
        if journey.fresh or judgment is None or judgment.error:
            yield cell


def _most(journey: Journey, due: Work) -> float:
    """USD at which the gateway stops it; infinite without a budget.

    Raises:
        RefusedError: nothing is left of a budget.
    """
    experiment, spent = journey.plan.experiment, spent_usd(journey.folder)
    roles = experiment.role_budget_usd
    left = _left("budget_usd", experiment.budget_usd, sum(spent.values()))
    agents = judges = 0.0
    if due.trials:
        each = (experiment.limits.usd or _NO_LIMIT) * experiment.retry.attempts
        agents = min(_left("role_budget_usd.agent", roles.agent, spent["agent"]), each * len(due.trials))
    if due.judgments or not due.trials:
        judges = _left("role_budget_usd.judge", roles.judge, spent["judge"])
    return min(left, agents + judges)


def _left(field: str, budget: float | None, spent: float) -> float:
    if budget is None:
        return _NO_LIMIT
    if spent >= budget:
        raise RefusedError(f"{field} of ${budget:.2f} is spent: all traffic in the run's folder, old/ included, "
                           f"cost ${spent:.2f}; raise it, or begin another folder with --runs")  # fmt: skip
    return budget - spent


def _amount(guess: Estimate, most: float) -> str:
    usd = guess.usd
    likely = "an unknown sum" if usd.likely is None else f"likely ${usd.likely:.2f}"
    if most < _NO_LIMIT:
        return f"up to ${most:.2f} ({likely})"
    high = "" if usd.high is None else f", perhaps ${usd.high:.2f},"
    return f"{likely}{high} with no budget to stop at"
