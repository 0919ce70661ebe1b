"""`scylla-gha cell`: one job of a workflow run, which works on the cells of one shard."""

import time
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.counting import counted
from scylla_gha.errors import BudgetError, IncompleteError
from scylla_gha.pipeline.shard_worker import (
    ShardCells,
    ShardJob,
    ShardOptions,
    ShardOutcome,
    ShardWriter,
    load_shard,
    run_shard,
)
from scylla_gha.plan.build import refuse_changed_fixtures
from scylla_gha.plan.reuse_results import reusable
from scylla_gha.publish import actions_output
from scylla_gha.store.run_folder import WavePaths, lock_run


@click.command()
@options.experiment
@click.option("--shard", "number", type=click.IntRange(0), required=True, help="Which of those in shards.json.")
@options.runs
@actions_output.option
@click.option("--jobs", type=click.IntRange(1, 256), help="Cells at once; else as many as were planned.")
@click.option("--minutes", type=click.FloatRange(0), help="After which no cell is started; else as it was planned.")
@actions_output.done
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
    started = time.monotonic()
    run = actions_output.actions_job() if github else None
    folder, library = options.run_folder(runs, experiment), options.library()
    shard_cells = load_shard(folder, number)
    refuse_changed_fixtures({cell.scenario for cell in shard_cells.plan.cells}, library)
    paths = WavePaths(folder.root).shard(number)
    lock_run(folder.root, shared=True)
    lock_run(paths.root)
    if run is not None:  # at once, so that what there is can be uploaded whatever happens
        actions_output.write_job_outputs(
            run, {"experiment": folder.root.name, "number": shard_cells.shard.name, "rows": paths.root}
        )
    reused = reusable(done, shard_cells.plan, library) if done else {}
    writer = ShardWriter(shard_cells.packing, shard_cells.shard, run.attempt if run else 1, paths, reused)
    deadline = started + 60 * (shard_cells.packing.minutes if minutes is None else minutes)
    shard_options = ShardOptions(
        jobs or shard_cells.packing.lanes, deadline, yes=yes or github, exposed=allow_exposed_keys
    )
    outcome = run_shard(ShardJob(shard_cells, folder, ConfigSources.of(library, head), writer), reused, shard_options)
    if run is not None:
        actions_output.write_job_outputs(run, {"count": writer.count, "unstarted": len(outcome.cells)})
    click.echo(str(paths.rows))
    _end(shard_cells, outcome, github=github)


def _end(shard_cells: ShardCells, outcome: ShardOutcome, *, github: bool) -> None:
    """Say what is missing; only what another attempt could mend is a failure.

    Raises:
        BudgetError: the shard's part of a budget is spent.
        IncompleteError: a disk is full, or a provider refuses an arm.
    """
    if not outcome.cells and not outcome.is_budget_spent:
        return
    shard = shard_cells.shard
    missing = f"shard {shard.name}: no row of {len(outcome.cells)} of {counted(len(shard.cells), 'cell')}"
    if outcome.is_budget_spent:
        raise BudgetError(f"{missing}: its part of a budget is spent; raise --budget-usd of the plan, and run again")
    if outcome.fault:
        raise IncompleteError(f"{missing}: {outcome.fault}; mend that, and re-run the failed jobs")
    why = next(iter(outcome.cells.values()))
    message = f"{missing}: {why}; the next wave, or the same experiment again, fills them"
    if github:
        actions_output.annotate("notice", message, shard_cells.packing.experiment)
    else:
        click.echo(message, err=True)
