"""`scylla-gha evaluate`: the whole journey on this machine."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.access import reach, require_access
from scylla_gha.cli.conclude import conclude, show
from scylla_gha.cli.consent import ask_to_spend
from scylla_gha.cli.exposure import guard_keys
from scylla_gha.cli.foresight import refuse_futile_gate
from scylla_gha.cli.gate import hold_gate
from scylla_gha.cli.journey import Journey, stored_trial
from scylla_gha.cli.kept import Keep
from scylla_gha.cli.occupancy import occupy
from scylla_gha.cli.planning import check_names, find_agents, make_plan, require_git, tell
from scylla_gha.cli.progress import Progress
from scylla_gha.cli.sources import Sources
from scylla_gha.cli.travel import travel
from scylla_gha.counting import counted
from scylla_gha.errors import BudgetError, IncompleteError, RefusedError
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan, Unstarted
from scylla_gha.model.report import Report
from scylla_gha.model.trial import Trial
from scylla_gha.plan import Choice, refuse_above_budget
from scylla_gha.proc import Cancel
from scylla_gha.sandboxes import SANDBOXES, temporary
from scylla_gha.seeding.workspace import reap
from scylla_gha.store import RunFolder, read_record, write_record


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs("Trials")
@options.fresh
@options.yes("paid requests, nor before --fresh runs trials again")
@options.as_json
@options.record
@options.replay
@options.keep
@options.exposed("agents work")
@click.option("--dry-run", is_flag=True, help="Plan and estimate only; nothing is started or written.")
def command(
    experiment: str,
    choice: Choice,
    runs: Path,
    jobs: int,
    *,
    fresh: bool,
    yes: bool,
    as_json: bool,
    dry_run: bool,
    record: Path | None,
    replay: bool,
    keep: Keep,
    allow_exposed_keys: bool,
) -> None:
    """Plan, prepare, run, judge and report EXPERIMENT (an id, or a YAML file).

    What is stored under the same key is taken as it is; so the same command goes on after an interruption.

    \b
    scylla-gha evaluate
    scylla-gha evaluate hello-claude --only '*--r01' --jobs 2
    """  # noqa: D301
    folder = options.run_folder(runs, experiment, replay=replay)
    if dry_run:
        _dry_run(experiment, choice, folder, jobs)
        return
    tape = options.tape(experiment, record, replay=replay)
    journey = open_journey(experiment, choice, folder, tape, fresh=fresh, yes=yes)
    tell(journey.plan, jobs)
    refuse_above_budget(journey.plan)
    refuse_futile_gate(journey.plan, folder, choice)
    guard_keys(journey, tape, SANDBOXES[journey.plan.sandbox], allowed=allow_exposed_keys)
    ask_to_spend(journey, tape, yes=yes)
    journey.keep = keep
    whole = settle(journey, experiment, choice)
    try:
        with reach(journey, tape):
            work(journey, jobs)
    finally:
        made = conclude(whole, folder, journey.library)
    show(made, folder, as_json=as_json)
    _end(journey, made, choice)


def settle(journey: Journey, experiment: str, choice: Choice) -> Plan:
    """Hold the run's folder, and write the plan that its report is of: also of what else was planned there before.

    Raises:
        RefusedError: another command is at work in the folder.
    """
    folder = journey.folder
    occupy(folder.root)
    earlier = read_record(folder.plan, Plan) if choice.only else None
    kept = {(cell.id, cell.key) for cell in earlier.cells} if earlier else set()
    mine = {(cell.id, cell.key) for cell in journey.plan.cells}
    found = journey.plan
    if kept - mine:
        whole = make_plan(experiment, journey.library, journey.agents, replace(choice, only=()), folder)
        cells = tuple(cell for cell in whole.cells if (cell.id, cell.key) in kept | mine)
        same = {"replayed": found.replayed, "estimate": found.estimate}
        found = whole.model_copy(
            update={**same, "cells": cells, "only": choice.only if len(cells) < len(whole.cells) else ()}
        )
        click.echo(f"note: {len(cells) - len(mine)} further cells of the earlier plan stay in the report", err=True)
    write_record(folder.plan, found)
    return found


def _end(journey: Journey, made: Report, choice: Choice) -> None:
    """Say what is missing, or that the gate does not hold; a part of an experiment is not held against it."""
    mine = {cell.id for cell in journey.plan.cells}
    missing = sum(1 for cell in made.excluded if cell.cell in mine)
    if missing:
        lack = f"{missing} of {len(mine)} cells have no judged trial"
        refused = "; ".join(f"{arm} was stopped: {reason}" for arm, reason in journey.stopped.items())
        end_for_budget(journey, lack)
        why = journey.full or journey.halted or refused or "the report lists them, with reasons"
        raise IncompleteError(f"{lack}: {why}; {kept(journey)}; the same command fills the rest")
    if not choice.only:
        hold_gate(journey.plan.experiment, made)


def end_for_budget(journey: Journey, lack: str) -> None:
    """Say that the money is at its end, where it is.

    Raises:
        BudgetError: a budget kept a cell from being started, or cut one.
    """
    if journey.is_budget_spent:
        raise BudgetError(f"{lack}: a budget is spent, and the report lists what was not done; {kept(journey)}; "
                          "raise it in the experiment, and run the same command again to go on")  # fmt: skip


def kept(journey: Journey) -> str:
    """What is stored of the planned cells, and where, so that nobody fears for what was paid."""
    folder, plan = journey.folder, journey.plan
    stored = sum(1 for cell in plan.cells if stored_trial(cell, folder.cell(cell.id), plan.not_before))
    return f"{stored} of {counted(len(plan.cells), 'trial')} are kept in {folder.root}"


def _dry_run(experiment: str, choice: Choice, folder: RunFolder, jobs: int) -> None:
    library = options.library()
    agents = find_agents(library.experiment(experiment), install=False)
    made = make_plan(experiment, library, agents, choice, folder, draw=False)
    tell(made, jobs)
    for cell in made.cells:
        click.echo(cell.id)
    refuse_above_budget(made)
    refuse_futile_gate(made, folder, choice)


def open_journey(
    experiment: str, choice: Choice, folder: RunFolder, tape: options.Tape, *, fresh: bool, yes: bool
) -> Journey:
    """Plan with the agents that are here, once all that is needed before a first cell is there.

    Raises:
        RefusedError: the user does not want to pay again.
        ToolError: an agent or its access is missing.
    """
    reap()
    temporary.reap()
    library = options.library()
    require_git()
    named = check_names(experiment, library, choice)
    require_access(named, library.experiment(experiment).judges, tape)
    agents = find_agents(library.experiment(experiment), install=True)
    made = make_plan(experiment, library, agents, choice, folder)
    if tape.replay:
        made = made.model_copy(update={"replayed": True, "estimate": made.estimate.unpaid})
    taken = (stored_trial(cell, folder.cell(cell.id), made.not_before) for cell in made.cells)
    stored = [trial for trial in taken if trial]
    if fresh:
        _ask(stored, yes=yes)
    elif stored:
        click.echo(f"{len(stored)} of {len(made.cells)} trials are stored under their keys, and are taken as they are",
                   err=True)  # fmt: skip
    journey = Journey(made, folder, Sources.of(library, choice.head), agents, Cancel(), fresh=fresh)
    journey.boxes.make_ready(made)
    return journey


def _ask(stored: Sequence[Trial], *, yes: bool) -> None:
    """Say which stored trials would be run, and perhaps paid for, again."""
    costs = [attempt.usage.usd for trial in stored for attempt in trial.attempts]
    known = sum(cost for cost in costs if cost is not None)
    unknown = f", and {counted(costs.count(None), 'attempt')} of unknown cost" if None in costs else ""
    click.echo(f"--fresh runs {counted(len(stored), 'stored trial')} again; they cost ${known:.2f}{unknown}", err=True)
    if stored and not yes and not options.confirmed("Run them again?"):
        raise RefusedError("not confirmed; nothing was run")


def work(journey: Journey, jobs: int) -> None:
    """Travel with all cells, telling the progress, and note which of them were not started."""
    mine = {cell.id for cell in journey.plan.cells}
    before = read_record(journey.folder.unstarted, Unstarted) or Unstarted(cells={})
    try:
        _work(journey, jobs)
    finally:
        others = {name: why for name, why in before.cells.items() if name not in mine}
        left = {**others, **journey.unstarted}
        if left:
            write_record(journey.folder.unstarted, Unstarted(cells=left))
        else:
            journey.folder.unstarted.unlink(missing_ok=True)


def _work(journey: Journey, jobs: int) -> None:
    with Progress(len(journey.plan.cells), journey.plan.experiment.budget_usd) as progress:

        def told(cell: Cell, trial: Trial, judgment: Judgment | None) -> None:  # noqa: ARG001
            passed = judgment is not None and judgment.result is not None and judgment.result.passed
            progress.advance(trial.usage.usd, passed=passed)

        travel(journey, journey.plan.cells, jobs, told)
