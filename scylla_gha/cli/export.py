"""`scylla-gha export`."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.atif import atif_trajectory
from scylla_gha.interop.exporters.inspect_log import inspect_logs
from scylla_gha.interop.exporters.junit import junit
from scylla_gha.interop.exporters.profile_rows import profile_rows
from scylla_gha.interop.exporters.rows import write_csv, write_parquet
from scylla_gha.model.plan import Plan, UnstartedCells
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Attempt, Trajectory, Trial
from scylla_gha.pipeline.report import stored_plan
from scylla_gha.store.records import atomic, read_lines, read_record, write_bytes
from scylla_gha.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class Given:
    """A run's folder and what it holds."""

    folder: RunFolder
    plan: Plan
    rows: list[Result]


def _csv(given: Given, target: Path) -> None:
    with atomic(target) as place:
        write_csv(given.rows, place)


def _parquet(given: Given, target: Path) -> None:
    with atomic(target) as place:
        write_parquet(given.rows, place)


def _junit(given: Given, target: Path) -> None:
    unstarted = read_record(given.folder.unstarted, UnstartedCells)
    write_bytes(target, junit(given.plan, given.rows, unstarted.cells if unstarted else {}))


def _inspect(given: Given, target: Path) -> None:
    for log in inspect_logs(given.plan, given.rows, _when(given)):
        write_bytes(target / log.name, log.content)


def _when(given: Given) -> datetime.datetime:
    """When the first trial began; where no row tells, when the plan was written."""
    known = [row.started_at for row in given.rows if row.started_at and row.started_at.tzinfo]
    written = given.folder.plan.stat().st_mtime
    return min(known) if known else datetime.datetime.fromtimestamp(written, tz=datetime.UTC)


def _atif(given: Given, target: Path) -> None:
    written = 0
    for row in given.rows:
        attempt, trajectory = _attempt(given.folder, row), None
        if attempt:
            place = given.folder.cell(row.cell).attempt(attempt.number)
            trajectory = read_record(place.file("trajectory.json"), Trajectory)
        made = atif_trajectory(trajectory, attempt, row) if attempt and trajectory else None
        if made is not None:
            write_bytes(target / f"{row.cell}.json", made)
            written += 1
    if not written:
        raise ConfigError(f"{given.folder.root}: no trial has a trajectory with a step, so there is nothing for ATIF; "
                          "agents that are built in or imported have none")  # fmt: skip
    if written < len(given.rows):
        click.echo(
            f"no trajectory, so no file, of {len(given.rows) - written} of {counted(len(given.rows), 'trial')}",
            err=True,
        )


def _attempt(folder: RunFolder, row: Result) -> Attempt | None:
    """The attempt that stands, where the trial is that of the row."""
    trial = read_record(folder.cell(row.cell).trial, Trial)
    return trial.last if trial and trial.key == row.key else None


def _profile(given: Given, target: Path) -> None:
    def attempts() -> Iterator[tuple[str, Attempt]]:
        for row in given.rows:
            attempt = _attempt(given.folder, row)
            if attempt:
                yield row.cell, attempt

    write_bytes(target, profile_rows(given.rows, dict(attempts())))


# What it writes by default, in the run's folder, and by what.
_FORMATS: Final[Mapping[str, tuple[str, Callable[[Given, Path], None]]]] = {
    "csv": ("results.csv", _csv), "parquet": ("results.parquet", _parquet), "junit": ("junit.xml", _junit),
    "inspect": ("inspect", _inspect), "atif": ("atif", _atif), "profile": ("profile-rows.jsonl", _profile),
}  # fmt: skip
_FOLDERS: Final = frozenset({"inspect", "atif"})


@click.command()
@options.experiment
@click.option("--to", "form", required=True, type=click.Choice(list(_FORMATS)), help="The format.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file, or the folder of inspect and atif.  "
              "[default: in the run's folder]")  # fmt: skip
@options.runs
def command(experiment: str, form: str, output: Path | None, runs: Path) -> None:
    """Write the rows of EXPERIMENT (a run's folder name) in a format that other tools read.

    inspect writes a log per arm, and atif a trajectory per trial, into a folder; the others write one file.

    \b
    scylla-gha export quickstart --to csv -o results.csv
    scylla-gha export quickstart --to junit
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    name, write = _FORMATS[form]
    target = output or folder.root / name
    if target.exists() and target.is_dir() != (form in _FOLDERS):
        raise ConfigError(f"-o {target}: is {'a folder' if target.is_dir() else 'a file'}, and {form} writes "
                          f"{'a folder' if form in _FOLDERS else 'a file'}")  # fmt: skip
    write(Given(folder, stored_plan(folder), list(read_lines(folder.results, Result))), target)
    click.echo(str(target))
