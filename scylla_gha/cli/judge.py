"""`scylla-gha judge`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.access import reach, require_access
from scylla_gha.cli.evaluate import work
from scylla_gha.cli.journey import Journey, stored_trial
from scylla_gha.proc import Cancel


@click.command()
@options.experiment
@options.runs
@options.jobs
def command(experiment: str, runs: Path, jobs: int) -> None:
    """Judge the stored trials of EXPERIMENT; no agent is started. Judgments under the same key are kept.

    \b
    scylla-gha judge quickstart
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    plan = options.stored_plan(folder)
    stored = tuple(cell for cell in plan.cells if stored_trial(cell, folder.cell(cell.id)))
    part = plan.model_copy(update={"cells": stored})
    journey = Journey(part, folder, options.library(), {}, Cancel())
    require_access({}, plan.experiment.judges, options.Tape())
    with reach(journey, options.Tape()):
        work(journey, jobs)
