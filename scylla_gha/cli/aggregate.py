"""`scylla-gha aggregate`."""

from pathlib import Path

import click

from scylla_gha.aggregate import aggregate
from scylla_gha.cli import options
from scylla_gha.cli.analysing import analysis_of
from scylla_gha.cli.conclude import stored_probes
from scylla_gha.model.intake import Intake
from scylla_gha.model.plan import Unstarted
from scylla_gha.model.result import Result
from scylla_gha.store import read_lines, read_record, write_record


@click.command()
@options.experiment
@options.runs
def command(experiment: str, runs: Path) -> None:
    """Write report.json of EXPERIMENT from its results.jsonl.

    \b
    scylla-gha aggregate quickstart
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    rows, unstarted = read_lines(folder.results, Result), read_record(folder.unstarted, Unstarted)
    plan = options.stored_plan(folder)
    intake = read_record(folder.refused, Intake)
    made = aggregate(plan, rows, stored_probes(folder), unstarted, analysis_of(plan), intake)
    write_record(folder.report("json"), made)
    click.echo(str(folder.report("json")))
