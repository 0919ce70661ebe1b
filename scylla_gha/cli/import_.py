"""`scylla-gha import`."""

from dataclasses import replace
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.import_options import import_options, read_foreign
from scylla_gha.interop.importers.rows import ImportOptions
from scylla_gha.model.plan import Plan
from scylla_gha.model.record import slug
from scylla_gha.pipeline.report import aggregate_and_render, print_report
from scylla_gha.store.records import read_record, write_lines, write_record
from scylla_gha.store.run_folder import RunFolder


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@import_options
@click.option("--name", help="Of the run folder.  [default: the file's name]")
@click.option("--baseline", help="The arm that the others are compared with.  [default: that of the first row]")
@options.runs
@options.as_json
def command(
    file: Path, how: ImportOptions, name: str | None, baseline: str | None, runs: Path, *, as_json: bool
) -> None:
    """Take in the rows of FILE as the run folder runs/NAME, and report on them.

    FILE is a CSV, JSON lines or Parquet file, a Harbor job folder, or an Inspect log in JSON (or a folder of them).
    Columns that have a field's own name need no --map. The report says that the rows are not verified.

    \b
    scylla-gha import bench.csv --map scenario=task --map arm=model --passed-if 'score>=0.6'
    scylla-gha import jobs/2026-01-02__03-04-05 --name harbor-run
    """  # noqa: D301
    run = name or slug(file.stem)
    if not run or run != slug(run):
        raise ConfigError(f"--name {run!r}: is no name of a run; use small letters, digits and dashes, as my-run")
    folder = RunFolder(runs.resolve() / run)
    _refuse_a_run(folder)
    mapping = how.mapping.model_copy(update={"baseline": baseline or how.mapping.baseline})
    loaded = read_foreign(file, replace(how, mapping=mapping), run)
    write_record(folder.plan, loaded.plan)
    write_lines(folder.results, loaded.rows)
    made = aggregate_and_render(loaded.plan, folder)
    _tell(loaded.plan)
    print_report(made, folder, as_json=as_json)


def _refuse_a_run(folder: RunFolder) -> None:
    """What was run here was paid for."""
    there = folder.root.exists() and any(folder.root.iterdir())
    plan = read_record(folder.plan, Plan) if there else None
    if there and (plan is None or plan.imported is None):
        raise ConfigError(f"{folder.root}: holds a run that was not imported, and is left alone; give another --name")


def _tell(plan: Plan) -> None:
    source = plan.imported
    if source is None:
        return
    click.echo(f"{source.file}: {counted(len(plan.cells), 'row')}, {counted(len(plan.arms), 'arm')}; "
               f"baseline: {plan.experiment.baseline}", err=True)  # fmt: skip
    renamed = [f"{field} = {column}" for field, column in source.columns.items() if field != column]
    if renamed:
        click.echo(f"taken: {', '.join(renamed)}", err=True)
    if source.ignored:
        click.echo(f"columns that are ignored: {', '.join(source.ignored)}", err=True)
