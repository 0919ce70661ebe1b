"""Commands on rows of other tools: `scylla-gha import` and `scylla-gha export`."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.export_run import DEFAULT_NAMES, ExportFormat, RunExport
from scylla_gha.interop.import_options import import_options, read_foreign
from scylla_gha.interop.importers.rows import ImportOptions
from scylla_gha.model.plan import Plan
from scylla_gha.model.record import slug
from scylla_gha.pipeline.report import aggregate_and_render, print_report, stored_plan
from scylla_gha.store.records import read_record, write_lines, write_record
from scylla_gha.store.run_folder import RunFolder


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@import_options
@click.option("--name", help="Name of the run folder (default: the file's name).")
@click.option("--baseline", help="Arm that the others are compared with (default: that of the first row).")
@options.runs
@options.as_json
def import_(
    file: Path, how: ImportOptions, name: str | None, baseline: str | None, runs: Path, *, as_json: bool
) -> None:
    """Import the rows of FILE as the run folder runs/NAME, and report on them.

    FILE is a CSV, JSON lines or Parquet file, a Harbor job folder, or an Inspect log in JSON (or a folder of them).
    Columns that have a field's own name need no --map. The report says that the rows are not verified.

    \b
    scylla-gha import bench.csv --map scenario=task --map arm=model --passed-if 'score>=0.6'
    scylla-gha import jobs/2026-01-02__03-04-05 --name harbor-run
    """  # noqa: D301
    run = name or slug(file.stem)
    if not run or run != slug(run):
        raise ConfigError(f"--name {run!r}: is not a name of a run; use small letters, digits and dashes, as my-run")
    folder = RunFolder(runs.resolve() / run)
    _require_imported(folder)
    mapping = how.mapping.model_copy(update={"baseline": baseline or how.mapping.baseline})
    imported = read_foreign(file, replace(how, mapping=mapping), run)
    write_record(folder.plan, imported.plan)
    write_lines(folder.results, imported.rows)
    report = aggregate_and_render(imported.plan, folder)
    _print_source(imported.plan)
    print_report(report, folder, as_json=as_json)


def _require_imported(folder: RunFolder) -> None:
    """Refuse to overwrite a run that was paid for."""
    if not folder.root.exists() or not any(folder.root.iterdir()):
        return
    plan = read_record(folder.plan, Plan)
    if plan is None or plan.imported is None:
        raise ConfigError(f"{folder.root}: holds a run that was not imported, and is not overwritten; "
                          "give another --name")  # fmt: skip


def _print_source(plan: Plan) -> None:
    source = plan.imported
    if source is None:
        return
    click.echo(f"{source.file}: {counted(len(plan.cells), 'row')}, {counted(len(plan.arms), 'arm')}; "
               f"baseline: {plan.experiment.baseline}", err=True)  # fmt: skip
    renamed = [f"{field} = {column}" for field, column in source.columns.items() if field != column]
    if renamed:
        click.echo(f"mapped: {', '.join(renamed)}", err=True)
    if source.ignored:
        click.echo(f"ignored columns: {', '.join(source.ignored)}", err=True)


@click.command()
@options.experiment
@click.option("--to", "form", required=True, type=click.Choice(get_args(ExportFormat)), help="Format to write.")
@click.option("-o", "--output", type=click.Path(path_type=Path), show_default="in the run's folder",
              help="File to write, or the folder for inspect and atif.")  # fmt: skip
@options.runs
def export(experiment: str, form: ExportFormat, output: Path | None, runs: Path) -> None:
    """Write the rows of EXPERIMENT (a run's folder name) in a format that other tools read.

    inspect writes a log per arm, and atif a trajectory per trial, into a folder; the others write one file.

    \b
    scylla-gha export quickstart --to csv -o results.csv
    scylla-gha export quickstart --to junit
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    target = output or folder.root / DEFAULT_NAMES[form]
    note = RunExport(folder, stored_plan(folder), target).write(form)
    if note:
        click.echo(note, err=True)
    click.echo(str(target))
