"""`scylla-gha plan`."""

import json
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.counting import counted
from scylla_gha.github.actions import JobFacts
from scylla_gha.model.experiment import SandboxName
from scylla_gha.model.plan import MOST_SHARDS, Plan
from scylla_gha.pipeline.report import without_garbage_collection
from scylla_gha.plan.budget import refuse_above_budget
from scylla_gha.plan.build import find_agents, history_of, make_plan, print_plan
from scylla_gha.plan.cells import CellSelection
from scylla_gha.plan.notes import reject_impossible_gate
from scylla_gha.plan.shards import WaveLimits
from scylla_gha.plan.wave import Wave, WaveOptions, make_wave
from scylla_gha.publish import actions_output
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.records import write_lines, write_record
from scylla_gha.store.run_folder import RunFolder, WavePaths


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs("trials, as the estimate of minutes assumes,")
@options.as_json
@click.option("--dry-run", is_flag=True, help="Write no plan, and start no agent to ask for its version.")
@click.option("--sandbox", type=click.Choice(list(SANDBOXES)),
              help="Sandbox of all agents and checks, built-in ones too (default: the experiment's).")  # fmt: skip
@actions_output.option
@click.option("--most-shards", type=int, default=MOST_SHARDS, show_default=True, help="Jobs of a wave. [--github]")
@click.option("--lanes", type=int, default=4, show_default=True, help="Cells at once in a job. [--github]")
@click.option("--minutes", type=float, default=300.0, show_default=True,
              help="After which a job starts no cell. [--github]")  # fmt: skip
@click.option("--campaign", default="", help="Whose wave it is; else a name by the run's id. [--github]")
@click.option("--wave", type=click.IntRange(1), default=1, show_default=True, help="Of the campaign. [--github]")
@actions_output.done
@without_garbage_collection()
def command(
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
    """Unfold EXPERIMENT into cells, with their keys and an estimate, and write runs/EXPERIMENT/plan.json.

    With --github also shards.json: which job of a workflow run runs which cells; what does not fit is left for later
    waves. Cells whose rows are found by --done are not run: their rows go to reused.jsonl.

    \b
    scylla-gha plan quickstart --dry-run
    scylla-gha plan hello-claude --repetitions 5 --json
    """  # noqa: D301
    if github and dry_run:
        raise click.UsageError("--dry-run writes no plan, and with --github jobs work by it; leave one of them out")
    run = actions_output.actions_job() if github else None
    with actions_output.refusals(run):
        folder, library = options.run_folder(runs, experiment), options.library()
        agents = find_agents(choice.apply(library.experiment(experiment)), install=not dry_run)
        history = history_of(folder.results, done)
        made = make_plan(experiment, library, agents, choice, folder, build_images=not dry_run, history=history,
                         sandbox=sandbox)  # fmt: skip
        print_plan(made, jobs)
        if run is None:
            refuse_above_budget(made)
        reject_impossible_gate(made, folder, choice)
        if not dry_run:
            write_record(folder.plan, made)
        if run is not None:
            limits = WaveLimits(most_shards, lanes, minutes)
            wave_options = WaveOptions(limits, campaign or f"{folder.root.name}-{run.run_id}", wave, done)
            sources = ConfigSources.of(library, choice.head)
            _write_wave(run, made, folder, make_wave(made, folder, sources, agents, history, wave_options))
        if as_json or run is None:
            click.echo(made.model_dump_json() if as_json else "\n".join(cell.id for cell in made.cells))


def _write_wave(run: JobFacts, plan: Plan, folder: RunFolder, wave: Wave) -> None:
    """Write the wave's files, then the outputs of the job, from which the workflow makes the next jobs."""
    paths, made = WavePaths(folder.root), wave.packing
    write_lines(paths.reused, wave.reused)
    write_record(paths.packing, made)
    _print_wave(wave)
    actions_output.write_job_outputs(run, {
        "experiment": made.experiment,
        "shards": json.dumps([shard.number for shard in made.shards], separators=(",", ":")),
        "cells": made.cells,
        "left": len(made.left),
        "planned": len(plan.cells),
        "needs_model": "true" if plan.needs_model else "false",
        "reused": len(made.reused),
        "wave": made.wave,
        "campaign": made.campaign,
        "usd": None if wave.usd is None else f"{wave.usd:.4f}",
        "minutes": f"{made.makespan:.1f}",
    })  # fmt: skip


def _print_wave(wave: Wave) -> None:
    made = wave.packing
    usd = "unknown" if wave.usd is None else f"{wave.usd:.2f}"
    click.echo(f"wave {made.wave} of {made.campaign}: {counted(made.cells, 'cell')} in "
               f"{counted(len(made.shards), 'job')}, {made.lanes} at once in each; likely ${usd} and "
               f"{made.makespan:.1f} minutes (at least {made.bound:.1f}); taken over: "
               f"{counted(len(made.reused), 'row')}, left for later waves: {counted(len(made.left), 'cell')}; arms "
               f"start at most {100 * made.drift:.1f} % of that time apart from the mean", err=True)  # fmt: skip
    if made.makespan > made.minutes:
        actions_output.annotate(
            "warning",
            f"a cell is expected to take {counted(made.makespan, 'minute', form='.0f')}, and a "
            "job starts cells for "
            f"{made.minutes:g}: see that the job's own limit is longer",
            made.experiment,
        )
