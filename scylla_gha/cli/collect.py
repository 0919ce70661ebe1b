"""`scylla-gha collect`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.collect import collect


@click.command()
@options.experiment
@options.runs
def command(experiment: str, runs: Path) -> None:
    """Write results.jsonl of EXPERIMENT: one flat row per trial.

    \b
    scylla-gha collect quickstart
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    collect(options.stored_plan(folder), folder, options.library())
    click.echo(str(folder.results))
