"""From a run's records to its report: collect, aggregate, report."""

import contextlib
import gc
from collections.abc import Iterator

import click

from scylla_gha.aggregate import aggregate
from scylla_gha.cli.analysing import analysis_of
from scylla_gha.collect import collect
from scylla_gha.config.library import Library
from scylla_gha.model.intake import Intake
from scylla_gha.model.plan import Plan, Unstarted
from scylla_gha.model.probe import Probe
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.report import report
from scylla_gha.store import RunFolder, read_lines, read_record, write_record


def stored_probes(folder: RunFolder) -> Iterator[Probe]:
    """The rows of the controls; none where a run has no such file."""
    return read_lines(folder.controls, Probe) if folder.controls.exists() else iter(())


def conclude(plan: Plan, folder: RunFolder, library: Library) -> Report:
    """Collect, aggregate and render what there is, whole or not."""
    collect(plan, folder, library)
    return summarise(plan, folder)


def summarise(plan: Plan, folder: RunFolder) -> Report:
    """Aggregate and render the rows that a folder holds."""
    made = summary(plan, folder)
    report(made, folder)
    return made


def summary(plan: Plan, folder: RunFolder) -> Report:
    """Aggregate the rows that a folder holds, and write `report.json`."""
    rows, unstarted = read_lines(folder.results, Result), read_record(folder.unstarted, Unstarted)
    intake = read_record(folder.refused, Intake)
    with uncollected():
        made = aggregate(plan, rows, stored_probes(folder), unstarted, analysis_of(plan), intake)
    write_record(folder.report("json"), made)
    return made


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without the search for circular garbage, which records never are: of many rows it takes a fifth of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def show(made: Report, folder: RunFolder, *, as_json: bool) -> None:
    """Print the report on standard output, and where it lies on standard error."""
    if as_json:
        click.echo(made.model_dump_json())
    else:
        from rich.console import Console

        from scylla_gha.render.terminal import show as table

        table(made, Console())
    click.echo(f"report: {folder.report('md')}", err=True)
