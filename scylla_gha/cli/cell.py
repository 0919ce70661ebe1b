"""`scylla-gha cell`: one job of a workflow run, which works on the cells of one shard."""

import time
from pathlib import Path

import click

from scylla_gha.cli import actions, options
from scylla_gha.cli.assignment import Assignment, assignment
from scylla_gha.cli.duty import Duty, Left, Terms, perform
from scylla_gha.cli.gathering import Gathering
from scylla_gha.cli.occupancy import occupy
from scylla_gha.cli.planning import refuse_changed_fixtures
from scylla_gha.cli.sources import Sources
from scylla_gha.errors import BudgetError, IncompleteError
from scylla_gha.reuse import reusable
from scylla_gha.shelves import Shelves


@click.command()
@options.experiment
@click.option("--shard", "number", type=click.IntRange(0), required=True, help="Which of those in shards.json.")
@options.runs
@actions.option
@click.option("--jobs", type=click.IntRange(1, 256), help="Cells at once; else as many as were planned.")
@click.option("--minutes", type=click.FloatRange(0), help="After which no cell is started; else as it was planned.")
@actions.done
@options.head
@options.yes("paid requests")
@options.exposed("agents work")
def command(
    experiment: str,
    number: int,
    runs: Path,
    *,
    github: bool,
    jobs: int | None,
    minutes: float | None,
    done: tuple[Path, ...],
    head: Path | None,
    yes: bool,
    allow_exposed_keys: bool,
) -> None:
    """Run and judge the cells of one shard of EXPERIMENT, and write their rows to runs/EXPERIMENT/shards/NNN/.

    The plan is the stored one: where its keys do not hold on this machine, nothing is run. Faults of cells stand in
    their rows and do not fail the command; nor does it when time is over, and cells are left.

    \b
    scylla-gha cell quickstart --shard 0
    """  # noqa: D301
    began = time.monotonic()
    run = actions.facts() if github else None
    folder, library = options.run_folder(runs, experiment), options.library()
    given = assignment(folder, number)
    refuse_changed_fixtures({cell.scenario for cell in given.plan.cells}, library)
    shelf = Shelves(folder.root).shard(number)
    occupy(folder.root, shared=True)
    occupy(shelf.root)
    if run is not None:  # at once, so that what there is can be uploaded whatever happens
        actions.give(run, {"experiment": folder.root.name, "number": given.shard.name, "rows": shelf.root})
    taken = reusable(done, given.plan, library) if done else {}
    gathering = Gathering(given.packing, given.shard, run.attempt if run else 1, shelf, taken)
    until = began + 60 * (given.packing.minutes if minutes is None else minutes)
    terms = Terms(jobs or given.packing.lanes, until, yes=yes or github, exposed=allow_exposed_keys)
    left = perform(Duty(given, folder, Sources.of(library, head), gathering), taken, terms)
    if run is not None:
        actions.give(run, {"count": gathering.count, "unstarted": len(left.cells)})
    click.echo(str(shelf.rows))
    _end(given, left, github=github)


def _end(given: Assignment, left: Left, *, github: bool) -> None:
    """Say what is missing; only what another attempt could mend is a failure.

    Raises:
        BudgetError: the shard's part of a budget is spent.
        IncompleteError: a disk is full, or a provider refuses an arm.
    """
    if not left.cells and not left.is_budget_spent:
        return
    lack = f"shard {given.shard.name}: {len(left.cells)} of {len(given.shard.cells)} cells have no row"
    if left.is_budget_spent:
        raise BudgetError(f"{lack}: its part of a budget is spent; raise --budget-usd of the plan, and run again")
    if left.fault:
        raise IncompleteError(f"{lack}: {left.fault}; mend that, and re-run the failed jobs")
    why = next(iter(left.cells.values()))
    message = f"{lack}: {why}; the next wave, or the same experiment again, fills them"
    if github:
        actions.say("notice", message, given.packing.experiment)
    else:
        click.echo(message, err=True)
