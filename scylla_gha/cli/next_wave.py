"""`scylla-gha next-wave`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError
from scylla_gha.model.result import Result
from scylla_gha.pipeline.report import stored_plan
from scylla_gha.store.records import read_lines

if TYPE_CHECKING:
    from scylla_gha.github.client import GitHubRepository


@click.command()
@options.experiment
@options.runs
@click.option("--workflow", default="dispatch.yml", show_default=True, help="The workflow to dispatch.")
@click.option("--most-waves", type=click.IntRange(1, 1000), default=40, show_default=True,
              help="Waves of one campaign, after which none is started.")  # fmt: skip
@click.option("--tag-only", is_flag=True, help="Only tag the commit of this campaign, and start nothing.")
@click.option("--event", type=click.Path(path_type=Path, dir_okay=False), envvar="GITHUB_EVENT_PATH", show_envvar=True,
              help="The runner's file of the event, whose inputs the next wave gets too.")  # fmt: skip
def command(experiment: str, runs: Path, *, workflow: str, most_waves: int, tag_only: bool, event: Path | None) -> None:
    """Start the next wave of EXPERIMENT's campaign, where cells are left for it.

    Those are cells that were left to it, or that a job had no time to start. All waves run on the commit of the first:
    it is tagged scylla/CAMPAIGN, by --tag-only before its cells run. None is started where this one measured nothing,
    where the budget is spent, or after --most-waves.

    \b
    scylla-gha next-wave quickstart
    """  # noqa: D301
    from scylla_gha.github.actions import write_outputs
    from scylla_gha.github.client import open_repository
    from scylla_gha.github.dispatch import dispatch_workflow
    from scylla_gha.plan.wave import inputs_of, pending_cells, read_wave, remaining_budget, why_stop

    folder = options.run_folder(runs, experiment)
    plan, wave = stored_plan(folder), read_wave(folder)
    if tag_only:
        with open_repository() as channel:
            click.echo(f"{_tagged(channel, wave.campaign)}: all waves run on its commit", err=True)
        return
    cells = pending_cells(folder, wave)
    rows = list(read_lines(folder.results, Result)) if cells else []
    left_usd = remaining_budget(plan, wave, rows)
    why = why_stop(wave, cells, rows, left_usd, most_waves)
    if why is not None:
        click.echo(f"no further wave: {why}", err=True)
        write_outputs(os.environ, {"dispatched": "false", "why": why})
        return
    inputs = inputs_of(plan, wave, event, left_usd.usd)
    with open_repository() as channel:
        run = dispatch_workflow(channel, workflow, _tagged(channel, wave.campaign), inputs)
    write_outputs(os.environ, {"dispatched": "true", "run": run.html_url})
    click.echo(f"wave {wave.wave + 1} of {wave.campaign}: {run.html_url}", err=True)


def _tagged(channel: "GitHubRepository", campaign: str) -> str:
    """Tag the commit that this run is of with the campaign's name, unless it is tagged; return the tag.

    Raises:
        ConfigError: the commit is not known, or the tag is at another one.
    """
    from scylla_gha.github.dispatch import pin_commit

    sha, tag = os.environ.get("GITHUB_SHA", ""), f"scylla/{campaign}"
    if not sha:
        raise ConfigError("GITHUB_SHA is not set; set it to the commit that this wave ran on")
    at = pin_commit(channel, tag, sha)
    if at != sha:
        raise ConfigError(f"the tag {tag} is at {at[:7]}, and this wave ran on {sha[:7]}: another campaign has "
                          "that name; plan with another --campaign")  # fmt: skip
    return tag
