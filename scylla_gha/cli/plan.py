"""`scylla-gha plan`."""

import json
import math
from pathlib import Path

import click

from scylla_gha.cli import actions, options
from scylla_gha.cli.foresight import refuse_futile_gate
from scylla_gha.cli.planning import find_agents, history_of, make_plan, tell
from scylla_gha.cli.sources import Sources
from scylla_gha.cli.wave import Basis, Wave, Wish, make_wave
from scylla_gha.gha.facts import Facts
from scylla_gha.model.experiment import SandboxName
from scylla_gha.model.plan import Plan
from scylla_gha.model.shards import MOST_SHARDS
from scylla_gha.packing import Room
from scylla_gha.plan import Choice, refuse_above_budget
from scylla_gha.shelves import Shelves
from scylla_gha.store import write_lines, write_record


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs("Trials, in the estimate of minutes,")
@options.as_json
@click.option("--dry-run", is_flag=True, help="Write no plan, and start no agent to ask for its version.")
@click.option("--budget-usd", type=click.FloatRange(0, min_open=True), help="Instead of the experiment's.")
@click.option("--sandbox", type=click.Choice(["docker", "bubblewrap", "host"]),
              help="Sandbox of all agents and checks, built-in ones too (default: the experiment's).")  # fmt: skip
@actions.option
@click.option("--most-shards", type=int, default=MOST_SHARDS, show_default=True, help="Jobs of a wave. [--github]")
@click.option("--lanes", type=int, default=4, show_default=True, help="Cells at once in a job. [--github]")
@click.option("--minutes", type=float, default=300.0, show_default=True,
              help="After which a job starts no cell. [--github]")  # fmt: skip
@click.option("--campaign", default="", help="Whose wave it is; else a name by the run's id. [--github]")
@click.option("--wave", type=click.IntRange(1), default=1, show_default=True, help="Of the campaign. [--github]")
@actions.done
@options.many_records()
def command(
    experiment: str,
    choice: Choice,
    runs: Path,
    jobs: int,
    *,
    as_json: bool,
    dry_run: bool,
    budget_usd: float | None,
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
    run = actions.facts() if github else None
    with actions.refusals(run):
        folder, library = options.run_folder(runs, experiment), options.library()
        agents = find_agents(library.experiment(experiment), install=not dry_run)
        history = history_of(folder.results, done)
        made = make_plan(experiment, library, agents, choice, folder, draw=not dry_run, history=history,
                         sandbox=sandbox)  # fmt: skip
        made = _with_budget(made, budget_usd)
        tell(made, jobs)
        if run is None:
            refuse_above_budget(made)
        refuse_futile_gate(made, folder, choice)
        if not dry_run:
            write_record(folder.plan, made)
        if run is not None:
            wish = Wish(Room(most_shards, lanes, minutes), campaign or f"{folder.root.name}-{run.run_id}", wave, done)
            _hand_out(run, Basis(made, folder, Sources.of(library, choice.head), agents, history), wish)
        if as_json or run is None:
            click.echo(made.model_dump_json() if as_json else "\n".join(cell.id for cell in made.cells))


def _with_budget(made: Plan, budget_usd: float | None) -> Plan:
    if budget_usd is None:
        return made
    if not math.isfinite(budget_usd):
        raise click.BadParameter(f"{budget_usd} is no sum", param_hint="--budget-usd")
    return made.model_copy(update={"experiment": made.experiment.model_copy(update={"budget_usd": budget_usd})})


def _hand_out(run: Facts, basis: Basis, wish: Wish) -> None:
    """Write the wave's files, then its outputs: which jobs there are to be."""
    wave = make_wave(basis, wish)
    shelves, made = Shelves(basis.folder.root), wave.packing
    write_lines(shelves.reused, wave.taken)
    write_record(shelves.packing, made)
    _tell(wave)
    actions.give(run, {
        "experiment": made.experiment,
        "shards": json.dumps([shard.number for shard in made.shards], separators=(",", ":")),
        "cells": made.cells,
        "left": len(made.left),
        "planned": len(basis.plan.cells),
        "needs_model": "true" if basis.plan.needs_model else "false",
        "reused": len(made.reused),
        "wave": made.wave,
        "campaign": made.campaign,
        "usd": None if wave.usd is None else f"{wave.usd:.4f}",
        "minutes": f"{made.makespan:.1f}",
    })  # fmt: skip


def _tell(wave: Wave) -> None:
    made = wave.packing
    usd = "unknown" if wave.usd is None else f"{wave.usd:.2f}"
    click.echo(f"wave {made.wave} of {made.campaign}: {made.cells} cells in {len(made.shards)} jobs, {made.lanes} at "
               f"once in each; likely ${usd} and {made.makespan:.1f} minutes (at least {made.bound:.1f}); "
               f"{len(made.reused)} rows are taken over, {len(made.left)} cells are left for later waves; "
               f"arms start at most {100 * made.drift:.1f} % of that time apart from the mean", err=True)  # fmt: skip
    if made.makespan > made.minutes:
        actions.say("warning", f"a cell is expected to take {made.makespan:.0f} minutes, and a job starts cells for "
                    f"{made.minutes:g}: see that the job's own limit is longer", made.experiment)  # fmt: skip
