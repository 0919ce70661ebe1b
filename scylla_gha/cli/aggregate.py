"""`scylla-gha aggregate`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.pipeline.report import aggregate_run, stored_plan


@click.command()
@options.experiment
@options.runs
def command(experiment: str, runs: Path) -> None:
    """Write report.json of EXPERIMENT from its results.jsonl.

    \b
    scylla-gha aggregate quickstart
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    aggregate_run(stored_plan(folder), folder)
    click.echo(str(folder.report("json")))
