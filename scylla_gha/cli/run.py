"""`scylla-gha run`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.pipeline.model_access import gateway_for_run
from scylla_gha.pipeline.run_experiment import approve_run, open_run, require_complete_run, run_all_cells, store_plan
from scylla_gha.plan.cells import CellSelection
from scylla_gha.prepare.keep import Keep


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs("trials")
@options.fresh
@options.yes("paid requests, nor before --fresh runs trials again")
@options.record
@options.replay
@options.keep
@options.exposed("agents work")
def command(
    experiment: str,
    choice: CellSelection,
    runs: Path,
    jobs: int,
    *,
    fresh: bool,
    yes: bool,
    record: Path | None,
    replay: bool,
    keep: Keep,
    allow_exposed_keys: bool,
) -> None:
    """Run the agents of EXPERIMENT on its cells, without judging.

    \b
    scylla-gha run quickstart --only '001-*'
    """  # noqa: D301
    folder = options.run_folder(runs, experiment, replay=replay)
    recording = options.recording(experiment, record, replay=replay)
    context = open_run(experiment, options.library(), choice, folder, recording, fresh=fresh)
    context.judging, context.keep = False, keep
    approve_run(context, choice, recording, jobs, yes=yes, exposed=allow_exposed_keys)
    store_plan(context, experiment, choice)
    with gateway_for_run(context, recording):
        run_all_cells(context, jobs)
    require_complete_run(context)
