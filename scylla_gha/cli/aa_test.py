"""`scylla-gha aa-test`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.compare.result_set import plan_beside, read_rows, rows_file
from scylla_gha.plan.notes import require_statistics


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
    scylla-gha aa-test quickstart
    scylla-gha aa-test runs/hello-claude --resamples 2000 --json
    """  # noqa: D301
    require_statistics()
    from scylla_gha.analysis.aa_test import AATestOptions, aa_test
    from scylla_gha.analysis.frame import build_frame
    from scylla_gha.report.plain_text import equal_arms_text

    place = rows_file(experiment, runs)
    plan, rows = plan_beside(place), read_rows(place)
    frame = build_frame(rows, dict.fromkeys(cell.arm for cell in plan.cells) if plan else ())
    asked = plan.experiment if plan else None
    how = AATestOptions(family=max(1, len(frame.arms) - 1), resamples=resamples,
                 margin=asked.margin if asked else options.MARGIN, seed=asked.seed if asked else 0)  # fmt: skip
    made = aa_test(frame, rows[0].experiment, how)
    click.echo(made.model_dump_json() if as_json else equal_arms_text(made))
