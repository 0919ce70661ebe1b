"""`scylla-gha plan`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.foresight import refuse_futile_gate
from scylla_gha.cli.planning import find_agents, make_plan, tell
from scylla_gha.plan import Choice, refuse_above_budget
from scylla_gha.store import write_record


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs
@options.as_json
@click.option("--dry-run", is_flag=True, help="Write no plan, and start no agent to ask for its version.")
def command(
    experiment: str,
    choice: Choice,
    runs: Path,
    jobs: int,
    *,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Unfold EXPERIMENT into cells, with their keys and an estimate, and write runs/EXPERIMENT/plan.json.

    \b
    scylla-gha plan quickstart --dry-run
    scylla-gha plan hello-claude --repetitions 5 --json
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    library = options.library()
    agents = find_agents(library.experiment(experiment), install=not dry_run)
    made = make_plan(experiment, library, agents, choice, folder, draw=not dry_run)
    tell(made, jobs)
    refuse_above_budget(made)
    refuse_futile_gate(made, folder, choice)
    if not dry_run:
        write_record(folder.plan, made)
    click.echo(made.model_dump_json() if as_json else "\n".join(cell.id for cell in made.cells))
