"""`scylla-gha collect`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.collect.read_artifacts import collect_from
from scylla_gha.collect.rows import collect
from scylla_gha.counting import counted
from scylla_gha.github.actions import escape_command
from scylla_gha.model.plan import CollectReport
from scylla_gha.pipeline.report import stored_plan


@click.command()
@options.experiment
@options.runs
@click.option("--from", "source", type=click.Path(path_type=Path), metavar="DIR",
              help="Take rows from artifacts that jobs sent, as download-artifact lays them: a folder for each, or "
                   "the files of the only one. Without it, rows are made of the run's trials.")  # fmt: skip
@click.option("--prefix", default="", metavar="TEXT", help="Text before the names of artifacts (default: none).")
@click.option("--since", type=click.IntRange(1), default=1, metavar="N",
              help="Attempt of this workflow run that made the plan (default 1); artifacts of earlier attempts are "
                   "passed over, since the plan took their rows over.")  # fmt: skip
@click.option("--attempt", type=click.IntRange(1), envvar="GITHUB_RUN_ATTEMPT", show_envvar=True,
              help="Attempt of this workflow run, else any: no artifact can be of a later one.")  # fmt: skip
def command(experiment: str, runs: Path, source: Path | None, *, prefix: str, since: int, attempt: int | None) -> None:
    """Write results.jsonl of EXPERIMENT: one flat row per trial.

    With --from, each artifact is checked before anything in it is believed, and taken or refused whole: what came of it
    stands in refused.json and in the report.

    \b
    scylla-gha collect quickstart
    scylla-gha collect quickstart --from artifacts
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    plan = stored_plan(folder)
    if source is None:
        collect(plan, folder, options.library())
    else:
        _tell(collect_from(plan, folder, source, attempt, prefix=prefix, since=since))
    click.echo(str(folder.results))


def _tell(made: CollectReport) -> None:
    """Say on standard error what was taken."""
    click.echo(f"{counted(made.rows, 'row')} of {counted(made.artifacts, 'artifact')}, {made.reused} reused", err=True)
    for one in made.refused:
        click.echo(escape_command(f"refused: {one.artifact}: {one.reason}"), err=True)
    if made.missing:
        click.echo(f"missing: {counted(len(made.missing), 'cell')}", err=True)
