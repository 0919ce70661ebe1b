"""`scylla-gha collect`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.collect import collect, collect_from
from scylla_gha.model.intake import Intake


@click.command()
@options.experiment
@options.runs
@click.option("--from", "source", type=click.Path(path_type=Path), metavar="DIR",
              help="Take rows from artifacts that jobs sent, one folder each, not from the run's trials.")  # fmt: skip
@click.option("--attempt", type=click.IntRange(1), envvar="GITHUB_RUN_ATTEMPT", show_envvar=True,
              help="Of this workflow run: no artifact can be of a later one.")  # fmt: skip
def command(experiment: str, runs: Path, source: Path | None, attempt: int | None) -> None:
    """Write results.jsonl of EXPERIMENT: one flat row per trial.

    With --from, each artifact is checked before anything in it is believed, and taken or refused whole: what came of it
    stands in refused.json and in the report.

    \b
    scylla-gha collect quickstart
    scylla-gha collect quickstart --from artifacts
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    plan = options.stored_plan(folder)
    if source is None:
        collect(plan, folder, options.library())
    else:
        _tell(collect_from(plan, folder, source, attempt))
    click.echo(str(folder.results))


def _tell(made: Intake) -> None:
    """Say on standard error what was taken."""
    click.echo(f"{made.rows} rows of {made.artifacts} artifacts, {made.reused} reused", err=True)
    for one in made.refused:
        click.echo(f"refused: {one.artifact}: {one.reason}", err=True)
    if made.missing:
        click.echo(f"{len(made.missing)} cells are missing", err=True)
