"""`scylla-gha aa`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.foresight import require_statistics
from scylla_gha.cli.rows import place_of, plan_beside, rows_in


@click.command()
@options.experiment
@options.runs
@click.option("--resamples", type=click.IntRange(2, 100_000), default=500, show_default=True, help="Random halves.")
@options.as_json
def command(experiment: str, runs: Path, resamples: int, *, as_json: bool) -> None:
    """Hold each arm of EXPERIMENT (a run, its folder, or its rows) against itself.

    Its repetitions are split in halves, as they were run and at random, and each pair of halves gets a verdict.
    Whatever is found there is false: it should be at most 5 %.

    \b
    scylla-gha aa quickstart
    scylla-gha aa runs/hello-claude --resamples 2000 --json
    """  # noqa: D301
    require_statistics()
    from scylla_gha.analysis.equal_arms import Trying, equal_arms
    from scylla_gha.analysis.frame import read
    from scylla_gha.render.equal_arms import told

    place = place_of(experiment, runs)
    plan, rows = plan_beside(place), rows_in(place)
    frame = read(rows, dict.fromkeys(cell.arm for cell in plan.cells) if plan else ())
    asked = plan.experiment if plan else None
    how = Trying(family=max(1, len(frame.arms) - 1), resamples=resamples,
                 margin=asked.margin if asked else options.MARGIN, seed=asked.seed if asked else 0)  # fmt: skip
    made = equal_arms(frame, rows[0].experiment, how)
    click.echo(made.model_dump_json() if as_json else told(made))
