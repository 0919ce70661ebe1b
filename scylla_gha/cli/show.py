"""`scylla-gha show`."""

import io
import json
import os
import sys
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.log import read_traffic
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Attempt, Trajectory, Trial
from scylla_gha.report.trial import TrialViewOptions, trial_text
from scylla_gha.report.trial_parts import AttemptRecord, CellRecord
from scylla_gha.store.find_cell import CellRef, find_cell
from scylla_gha.store.records import read_record, require_digest
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, AttemptFolder


@click.command()
@click.argument("cell")
@click.option("--experiment", help="The experiment, where several have such a cell.")
@options.runs
@click.option("--attempt", type=click.IntRange(1), help="Which attempt's work to show.", show_default="the last")
@click.option("--diff", is_flag=True, help="Show the patch too.")
@click.option("--full", is_flag=True, help="Cut nothing.")
@options.as_json
def command(
    cell: str, experiment: str | None, runs: Path, attempt: int | None, *, diff: bool, full: bool, as_json: bool
) -> None:
    """Show what happened in CELL: verdict, trajectory, diff, checks, rubric, judges, traffic.

    CELL is a cell's id, the beginning of one, or a glob.

    \b
    scylla-gha show 001-hello-world--oracle--r01
    scylla-gha show '004-*--oracle--r01' --diff
    """  # noqa: D301
    found = find_cell(runs, cell, experiment)
    dossier = gather(found)
    numbers = [work.number for work in dossier.works]
    if attempt is not None and attempt not in numbers:
        there = ", ".join(map(str, numbers)) or "none"
        raise ConfigError(f"{found.id}: there is no attempt {attempt}; there are: {there}")
    _say(_as_json(dossier) if as_json else _as_text(dossier, TrialViewOptions(full, diff, attempt)))
    click.echo(f"records: {found.folder.root}", err=True)


def gather(found: CellRef) -> CellRecord:
    """Read all that is stored of a cell.

    Raises:
        ConfigError: a record is not what it must be.
    """
    plan = read_record(found.run.plan, Plan)
    planned = {cell.id: cell for cell in plan.cells} if plan else {}
    cell = read_record(found.folder.cell, Cell) or planned.get(found.id)
    arms = {arm.id: arm for arm in plan.arms} if plan else {}
    trial = read_record(found.folder.trial, Trial)
    return CellRecord(
        experiment=found.run.root.name,
        id=found.id,
        cell=cell,
        arm=arms.get(cell.arm) if cell else None,
        trial=trial,
        judgment=read_record(found.folder.judgment, Judgment),
        works=tuple(_work(folder, trial) for folder in found.folder.attempts()),
    )


def _work(folder: AttemptFolder, trial: Trial | None) -> AttemptRecord:
    told = {attempt.number: attempt for attempt in trial.attempts} if trial else {}
    attempt = read_record(folder.file("attempt.json"), Attempt) or told.get(folder.number)
    for name in ("diff.patch", "trajectory.json", "traffic.jsonl"):
        require_digest(folder.file(name), attempt.files.get(name) if attempt else None)
    patch = folder.file("diff.patch")
    return AttemptRecord(
        number=folder.number,
        attempt=attempt,
        trajectory=read_record(folder.file("trajectory.json"), Trajectory),
        patch=patch.read_text(encoding="utf-8", errors="replace") if patch.is_file() else None,
        traffic=tuple(read_traffic(folder.file("traffic.jsonl"))),
        judge_traffic=tuple(read_traffic(folder.file(JUDGE_TRAFFIC))),
    )


def _as_json(dossier: CellRecord) -> str:
    """In ASCII: beyond it there are characters that a terminal obeys; within it, JSON leaves one, DEL, as it is."""
    return json.dumps(dossier.model_dump(mode="json")).replace("\x7f", "\\u007f") + "\n"


def _as_text(dossier: CellRecord, view: TrialViewOptions) -> str:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in trial_text(dossier, view):
            console.print(part, soft_wrap=not console.is_terminal)
    return captured.get()


def _say(text: str) -> None:
    """Print it all, in whatever encoding there is, or as much as somebody reads."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains at its end
