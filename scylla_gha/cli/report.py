"""`scylla-gha report`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.model.report import Report
from scylla_gha.pipeline.report import print_report
from scylla_gha.publish import actions_output
from scylla_gha.publish.actions_output import publish_on_run
from scylla_gha.report.markdown import write_report
from scylla_gha.report.summary import require_gate
from scylla_gha.store.records import read_record


@click.command()
@options.experiment
@options.runs
@options.as_json
@actions_output.option
def command(experiment: str, runs: Path, *, as_json: bool, github: bool) -> None:
    """Show the report of EXPERIMENT, and write report.md from report.json; ends with 10 where its gate does not hold.

    \b
    scylla-gha report quickstart
    """  # noqa: D301
    run = actions_output.actions_job() if github else None
    folder = options.run_folder(runs, experiment)
    made = read_record(folder.report("json"), Report)
    if made is None:
        raise ConfigError(f"{folder.report('json')}: there is no report; run `scylla-gha evaluate {experiment}` first, "
                          "or `aggregate`, where rows are there already")  # fmt: skip
    write_report(made, folder)
    if run is not None:
        publish_on_run(run, made, folder.report("md").read_text(encoding="utf-8"))
    if (
        run is None or as_json
    ):  # a table of strangers' words is nothing for a log in which the runner looks for commands
        print_report(made, folder, as_json=as_json)
    plan = read_record(folder.plan, Plan)
    if plan is not None:
        require_gate(plan.experiment, made)
