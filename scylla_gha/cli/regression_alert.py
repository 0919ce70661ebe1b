"""`scylla-gha regression-alert`."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.pipeline.report import stored_plan

if TYPE_CHECKING:
    from scylla_gha.model.publication import ArmVerdict
    from scylla_gha.publish.regression_issue import RegressionPost, RegressionSuite

_file = click.Path(path_type=Path, dir_okay=False)


@click.command()
@options.experiment
@options.runs
@click.option("--from", "found", type=_file, help="What was measured: a report.json, or the JSON of `compare` or "
              "`history` against a pinned result; else the run's report.json.")  # fmt: skip
@click.option("--confirmed", type=_file, help="The same, of the confirming run.")
@click.option("--suite", metavar="KEY", help="One issue each; else the experiment's id.")
@options.author
def command(
    experiment: str, runs: Path, *, found: Path | None, confirmed: Path | None, suite: str | None, author: str | None
) -> None:
    """Tell of a regression of EXPERIMENT, once it is confirmed, in one issue.

    The first alarm opens nothing: its output `confirm` names the cells to be measured again. Given --confirmed, arms
    that do worse in both open the issue, or bring it up to date. A run without an alarm closes it, where every arm that
    it names is shown to be no worse.

    \b
    scylla-gha regression-alert quickstart
    scylla-gha regression-alert quickstart --confirmed confirming/report.json
    """  # noqa: D301
    from scylla_gha.compare.arm_verdicts import arm_globs, arm_verdicts, worse_arms
    from scylla_gha.github.actions import write_outputs
    from scylla_gha.publish.post import run_page_from
    from scylla_gha.publish.regression_issue import RegressionPost, RegressionSuite

    folder = options.run_folder(runs, experiment)
    first = arm_verdicts(found or folder.report("json"))
    alarms, confirm = worse_arms(first), ""
    if alarms and confirmed is None:
        told, confirm = RegressionPost("alarm"), arm_globs(alarms, (cell.arm for cell in stored_plan(folder).cells))
    else:
        ours = RegressionSuite(suite or folder.root.name, folder.root.name, author or "", run_page_from(os.environ))
        told = _conclude(ours, first, confirmed)
    write_outputs(os.environ, {"state": told.state, "alarm": str(bool(alarms)).lower(), "confirm": confirm,
                               "issue": told.url})  # fmt: skip
    for one in alarms:
        click.echo(f"{one.arm} does worse than {one.against}: {one.why}", err=True)
    again = f"to be measured again: {confirm}" if confirm else ""
    click.echo(": ".join(filter(None, (told.state, told.url, again))), err=True)


def _conclude(suite: "RegressionSuite", first: "Sequence[ArmVerdict]", confirmed: Path | None) -> "RegressionPost":
    from scylla_gha.compare.arm_verdicts import arm_verdicts, worse_arms
    from scylla_gha.github.client import open_repository
    from scylla_gha.github.issues import own_login
    from scylla_gha.publish.regression_issue import RegressionPost, close_regression, open_regression

    alarms = {one.arm for one in worse_arms(first)}
    both = [one for one in worse_arms(arm_verdicts(confirmed)) if one.arm in alarms] if confirmed and alarms else []
    if alarms and not both:
        return RegressionPost("unconfirmed")
    with open_repository() as channel:
        ours = replace(suite, author=suite.author or own_login(channel))
        return open_regression(channel, ours, first, both) if both else close_regression(channel, ours, first)
