"""Planning of cells and waves, and the power of a plan: `scylla-gha plan`, `power` and `next-wave`."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.agents import find_agents
from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.counting import counted, dollars
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.run_experiment import print_plan
from scylla_gha.github_api.actions import JobFacts
from scylla_gha.model.experiment import SandboxName
from scylla_gha.model.plan import MOST_SHARDS, Plan
from scylla_gha.model.result import Result
from scylla_gha.plan import PlanRequest, make_plan, past_costs, wall_minutes
from scylla_gha.plan.budget import refuse_above_budget
from scylla_gha.plan.checks import reject_impossible_gate, require_statistics
from scylla_gha.plan.selection import CellSelection
from scylla_gha.plan.wave import Wave, WaveLimits, WaveOptions, make_wave
from scylla_gha.publish import actions_output
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store import read_lines, read_record, without_garbage_collection, write_lines, write_record
from scylla_gha.store.run_folder import RunFolder, WavePaths, stored_plan

if TYPE_CHECKING:
    from scylla_gha.github_api.client import GitHubRepository


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs("trials, as the estimate of minutes assumes,")
@options.as_json
@click.option("--dry-run", is_flag=True, help="Write no plan, and start no agent to ask for its version.")
@click.option(
    "--sandbox",
    type=click.Choice(list(SANDBOXES)),
    help="Sandbox of all agents and checks, built-in ones too (default: the experiment's).",
)
@actions_output.option
@click.option(
    "--most-shards",
    type=int,
    default=MOST_SHARDS,
    show_default=True,
    help="With --github: maximum number of jobs of a wave.",
)
@click.option(
    "--lanes", type=int, default=4, show_default=True, help="With --github: number of cells at once in a job."
)
@click.option(
    "--minutes",
    type=float,
    default=300.0,
    show_default=True,
    help="With --github: minutes after which a job starts no further cell.",
)
@click.option(
    "--campaign",
    default="",
    help="With --github: name of the campaign (default: the experiment and the id of the workflow run).",
)
@click.option(
    "--wave",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --github: number of the wave within the campaign.",
)
@actions_output.done
@without_garbage_collection()
def plan(
    experiment: str,
    choice: CellSelection,
    runs: Path,
    jobs: int,
    *,
    as_json: bool,
    dry_run: bool,
    sandbox: SandboxName | None,
    github: bool,
    most_shards: int,
    lanes: int,
    minutes: float,
    campaign: str,
    wave: int,
    done: tuple[Path, ...],
) -> None:
    """Expand EXPERIMENT into cells, with their keys and an estimate, and write runs/EXPERIMENT/plan.json.

    With --github, shards.json is written too: it assigns cells to the jobs of a workflow run; cells that do not fit are
    left for later waves. Cells with rows in --done are not run: their rows go to reused.jsonl.

    \b
    scylla-gha plan quickstart --dry-run
    scylla-gha plan hello-claude --repetitions 5 --json
    """  # noqa: D301
    if github and dry_run:
        raise click.UsageError("--dry-run writes no plan, but the jobs of --github need one; remove one of the options")
    job = actions_output.actions_job() if github else None
    with actions_output.refusals(job):
        folder, library = options.run_folder(runs, experiment), options.library()
        request = PlanRequest(experiment, library, choice, folder, sandbox, done)
        agents = find_agents(request.experiment, install=not dry_run)
        history = past_costs(folder, done)
        planned = make_plan(request, agents, build_images=not dry_run, history=history)
        print_plan(planned, jobs)
        if job is None:
            refuse_above_budget(planned)
        reject_impossible_gate(planned, folder, choice)
        if not dry_run:
            write_record(folder.plan, planned)
        if job is not None:
            name, limits = campaign or f"{folder.root.name}-{job.run_id}", WaveLimits(most_shards, lanes, minutes)
            wave_options = WaveOptions(limits, name, wave, done)
            sources = ConfigSources.of(library, choice.head)
            _write_wave(job, planned, folder, make_wave(planned, folder, sources, agents, history, wave_options))
        if as_json or job is None:
            click.echo(_plan_json(planned, jobs) if as_json else "\n".join(cell.id for cell in planned.cells))


def _plan_json(planned: Plan, jobs: int) -> str:
    """Return a plan as JSON, with the minutes in the printed text."""
    minutes = wall_minutes(planned, jobs).model_dump()
    return json.dumps({**planned.model_dump(mode="json"), "jobs": jobs, "wall_minutes": minutes})


def _write_wave(job: JobFacts, planned: Plan, folder: RunFolder, wave: Wave) -> None:
    """Write the wave's files, then the job outputs with the jobs to start."""
    paths, packing = WavePaths(folder.root), wave.packing
    write_lines(paths.reused, wave.reused)
    write_record(paths.packing, packing)
    click.echo(
        f"wave {packing.wave} of {packing.campaign}: {counted(packing.cells, 'cell')} in "
        f"{counted(len(packing.shards), 'job')}, {packing.lanes} at once in each; likely "
        f"{dollars(wave.usd)} and {packing.makespan:.1f} minutes (at least {packing.bound:.1f}); reused: "
        f"{counted(len(packing.reused), 'row')}, left for later waves: {counted(len(packing.left), 'cell')}; "
        f"the arms' mean starts differ from the overall mean by at most {100 * packing.drift:.1f} % of that time",
        err=True,
    )
    if packing.makespan > packing.minutes:
        longest = counted(packing.makespan, "minute", form=".0f")
        message = (
            f"a cell is expected to take {longest}, and a job starts cells for {packing.minutes:g}: make sure "
            "that the job's own limit is longer"
        )
        actions_output.annotate("warning", message, packing.experiment)
    actions_output.write_job_outputs(
        job,
        {
            "experiment": packing.experiment,
            "shards": json.dumps([shard.number for shard in packing.shards], separators=(",", ":")),
            "cells": packing.cells,
            "left": len(packing.left),
            "planned": len(planned.cells),
            "needs_model": "true" if planned.needs_model else "false",
            "reused": len(packing.reused),
            "wave": packing.wave,
            "campaign": packing.campaign,
            "usd": None if wave.usd is None else f"{wave.usd:.4f}",
            "minutes": f"{packing.makespan:.1f}",
        },
    )


@click.command()
@options.experiment
@options.runs
@click.option(
    "--effect",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    help="Difference of pass rates to detect: 0.1 is 10 points.",
)
@click.option("--pilot", metavar="RUN", help="Result set for variances and costs (default: the experiment's own rows).")
@options.as_json
def power(experiment: str, runs: Path, effect: float, pilot: str | None, *, as_json: bool) -> None:
    """Compute the smallest effect that EXPERIMENT can detect, and its cost, by scenarios and repetitions.

    Variances and costs come from a pilot's rows; without rows, variances are typical ones, and costs are unknown.

    \b
    scylla-gha power quickstart
    scylla-gha power hello-claude --effect 0.05 --pilot runs/hello-claude
    """  # noqa: D301
    require_statistics()
    from scylla_gha.analysis import design
    from scylla_gha.analysis.frame import build_frame
    from scylla_gha.compare.result_set import read_rows, rows_file
    from scylla_gha.report.plain_text import design_table

    folder = options.run_folder(runs, experiment)
    planned = read_record(folder.plan, Plan)
    if planned is None:
        request = PlanRequest(experiment, options.library(), CellSelection(), folder)
        planned = make_plan(request, find_agents(request.experiment, install=False), build_images=False)
    arms = list(dict.fromkeys(cell.arm for cell in planned.cells))
    question = design.PowerQuestion(
        experiment=planned.experiment.id,
        arms=len(arms),
        scenarios=len({cell.scenario for cell in planned.cells}),
        repetitions=max(cell.repetition for cell in planned.cells),
        effect=effect,
        comparisons=max(1, len(design.planned_comparisons(planned, ()))),
    )
    file = rows_file(pilot, runs) if pilot else folder.results
    if pilot or file.is_file():
        frame = build_frame(read_rows(file), ())
        variances = design.pair_variances(frame, planned.pairs)
        basis = f"the pilot's rows, {file}" if variances else f"{design.USUAL_BASIS} in {file}"
        answer = design.power(question, variances, design.repetition_cost(frame, arms), basis)
    else:
        answer = design.power(question, (), design.RepetitionCost(), design.USUAL_BASIS)
    click.echo(answer.model_dump_json() if as_json else design_table(answer))


@click.command("next-wave")
@options.experiment
@options.runs
@options.workflow
@click.option(
    "--most-waves",
    type=click.IntRange(1, 1000),
    default=40,
    show_default=True,
    help="Maximum number of waves of a campaign.",
)
@click.option("--tag-only", is_flag=True, help="Only tag the commit of this campaign, and start nothing.")
@options.event("File in which the runner describes the event; the next wave gets the same inputs.")
def next_wave(
    experiment: str, runs: Path, *, workflow: str, most_waves: int, tag_only: bool, event: Path | None
) -> None:
    """Start the next wave of EXPERIMENT's campaign, if cells are left for it.

    Cells are left if the plan postponed them, or if a job had no time to start them. All waves run on the commit of the
    first: it is tagged scylla/CAMPAIGN, with --tag-only before its cells run. No wave is started if this one measured
    nothing, if the budget is spent, or after --most-waves.

    \b
    scylla-gha next-wave quickstart
    """  # noqa: D301
    from scylla_gha.github_api.actions import write_outputs
    from scylla_gha.github_api.client import open_repository
    from scylla_gha.github_api.pulls import dispatch_workflow
    from scylla_gha.plan.wave import inputs_of, pending_cells, read_wave, remaining_budget, why_stop

    folder = options.run_folder(runs, experiment)
    stored, wave = stored_plan(folder), read_wave(folder)
    if tag_only:
        with open_repository() as repository:
            click.echo(f"{_tag(repository, wave.campaign)}: all waves run on its commit", err=True)
        return
    cells = pending_cells(folder, wave)
    rows = list(read_lines(folder.results, Result)) if cells else []
    left_usd = remaining_budget(stored, wave, rows)
    reason = why_stop(wave, cells, rows, left_usd, most_waves)
    if reason is not None:
        click.echo(f"no further wave: {reason}", err=True)
        write_outputs(os.environ, {"dispatched": "false", "why": reason})
        return
    inputs = inputs_of(stored, wave, event, left_usd.usd)
    with open_repository() as repository:
        run = dispatch_workflow(repository, workflow, _tag(repository, wave.campaign), inputs)
    write_outputs(os.environ, {"dispatched": "true", "run": run.html_url})
    click.echo(f"wave {wave.wave + 1} of {wave.campaign}: {run.html_url}", err=True)


def _tag(repository: "GitHubRepository", campaign: str) -> str:
    """Tag this run's commit with the campaign's name, unless the tag exists; return the tag."""
    from scylla_gha.github_api.pulls import pin_commit

    sha, tag = os.environ.get("GITHUB_SHA", ""), f"scylla/{campaign}"
    if not sha:
        raise ConfigError("GITHUB_SHA is not set; set it to the commit that this wave ran on")
    tagged = pin_commit(repository, tag, sha)
    if tagged != sha:
        raise ConfigError(
            f"the tag {tag} is at {tagged[:7]}, but this wave ran on {sha[:7]}: another campaign has "
            "that name; plan with another --campaign"
        )
    return tag
