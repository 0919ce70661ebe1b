"""`scylla-gha report`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.conclude import show
from scylla_gha.errors import ConfigError
from scylla_gha.model.report import Report
from scylla_gha.report import report
from scylla_gha.store import read_record


@click.command()
@options.experiment
@options.runs
@options.as_json
def command(experiment: str, runs: Path, *, as_json: bool) -> None:
    """Show the report of EXPERIMENT, and write report.md from report.json.

    \b
    scylla-gha report quickstart
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    made = read_record(folder.report("json"), Report)
    if made is None:
        raise ConfigError(f"{folder.report('json')}: there is no report; run `scylla-gha aggregate {experiment}` first")
    report(made, folder)
    show(made, folder, as_json=as_json)
