"""`scylla-gha run`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.evaluate import open_journey, work
from scylla_gha.cli.planning import tell
from scylla_gha.plan import Choice, refuse_above_budget
from scylla_gha.store import write_record


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs
@options.fresh
@options.yes
def command(
    experiment: str,
    choice: Choice,
    runs: Path,
    jobs: int,
    *,
    fresh: bool,
    yes: bool,
) -> None:
    """Let the agents of EXPERIMENT work on its cells; nothing is judged.

    \b
    scylla-gha run quickstart --only '001-*'
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    journey = open_journey(experiment, choice, folder, fresh=fresh, yes=yes)
    tell(journey.plan, jobs)
    refuse_above_budget(journey.plan)
    write_record(folder.plan, journey.plan)
    journey.judging = False
    work(journey, jobs)
