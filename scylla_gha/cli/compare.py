"""Commands on sets of rows: `scylla-gha compare`, `history`, `aa-test`, `import` and `export`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click

from scylla_gha import compare as comparison
from scylla_gha.cli import options
from scylla_gha.compare.result_set import MARGIN, history_of_files, load_result_set, plan_beside, read_rows, rows_file
from scylla_gha.config.installed_packages import require_extra
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters import DEFAULT_NAMES, ExportFormat, RunExport
from scylla_gha.interop.importers import ImportOptions, import_options, read_foreign
from scylla_gha.model import slug
from scylla_gha.model.plan import Plan
from scylla_gha.model.report import History, Metric
from scylla_gha.plan.checks import require_statistics
from scylla_gha.store import read_record, write_lines, write_record, write_text
from scylla_gha.store.run_folder import RunFolder

_share = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--metric",
    type=click.Choice(get_args(Metric)),
    default="pass_rate",
    show_default=True,
    help="Metric of the verdict.",
)
@click.option(
    "--arm",
    "same",
    multiple=True,
    metavar="ARM",
    help="Compare only this arm of both A and B; may be repeated.",
)
@click.option(
    "--arms",
    "pairs",
    multiple=True,
    metavar="A_ARM=B_ARM",
    help="Compare an arm of A with an arm of B with another name; may be repeated.",
)
@click.option(
    "--margin",
    type=_share,
    default=0.05,
    show_default=True,
    help="Largest difference that counts as none: 0.05 is 5 points, or 5 % of costs and times.",
)
@click.option(
    "--fail-on",
    "gate",
    type=click.Choice(get_args(comparison.FailOn)),
    help="Exit with code 10 if any arm has this verdict (default: no gate).",
)
@import_options
@options.runs
@options.as_json
def compare(
    a: str,
    b: str,
    *,
    how: ImportOptions,
    metric: Metric,
    same: tuple[str, ...],
    pairs: tuple[str, ...],
    margin: float,
    gate: comparison.FailOn | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Compare two sets of results, B with A: verdict, difference, fixed and broken scenarios.

    A and B are each the name of a run, a run's folder, a results.jsonl, or another tool's rows, which are read as
    `import` reads them. Arms are matched by name; if A and B have one arm each, these two are compared.

    \b
    scylla-gha compare quickstart candidate
    scylla-gha compare base.csv head.csv --map arm=model --fail-on worse
    """  # noqa: D301
    require_extra("numpy", "scipy", what="a comparison")
    arms = [(arm, arm) for arm in same]
    for text in pairs:
        a_arm, _, b_arm = text.partition("=")
        if not a_arm or not b_arm:
            raise click.BadParameter(f"{text!r} is not of the form A_ARM=B_ARM", param_hint="--arms")
        arms.append((a_arm, b_arm))
    compared = comparison.compare(load_result_set(a, runs, how), load_result_set(b, runs, how), arms, metric, margin)
    if as_json:
        click.echo(compared.model_dump_json())
    else:
        from rich.console import Console

        from scylla_gha.report.terminal import render_comparison

        render_comparison(compared, Console())
    if gate:
        comparison.require_verdicts(compared, gate)


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="RUN...")
@options.runs
@click.option("--baseline", metavar="RUN", help="Result set with which the others are compared (default: the oldest).")
@click.option(
    "--arm", "arms", multiple=True, metavar="ARM", help="Follow only this arm (default: all arms); may be repeated."
)
@click.option(
    "--margin", type=_share, help="Largest difference that counts as none (default: that of the newest plan, or 0.05)."
)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also draw the pass rates over time into this file.",
)
@options.as_json
def history(
    results: tuple[str, ...],
    runs: Path,
    baseline: str | None,
    arms: tuple[str, ...],
    margin: float | None,
    *,
    as_json: bool,
    svg: Path | None,
) -> None:
    """Follow arms over result sets RUN... (runs, their folders, or files of rows), oldest first.

    Rows of several epochs in one file are several result sets. Each set is compared with the baseline, paired by
    scenario; all sets together are tested for changes of level and for drift.

    \b
    scylla-gha history runs/monday runs/tuesday runs/wednesday
    scylla-gha history old.jsonl quickstart --baseline old.jsonl --arm oracle --json
    """  # noqa: D301
    require_statistics()
    from scylla_gha.report.plain_text import BLOCKS, DIGITS, history_text

    files = [rows_file(name, runs) for name in results]
    followed = history_of_files(files, rows_file(baseline, runs) if baseline else None, arms, margin)
    marks = BLOCKS if (sys.stdout.encoding or "").lower().startswith("utf") else DIGITS
    click.echo(followed.model_dump_json() if as_json else history_text(followed, marks))
    if svg:
        _draw_history(followed, svg)


def _draw_history(followed: History, path: Path) -> None:
    require_extra("altair", "vl_convert", what="--svg")
    from scylla_gha.report.charts.history import history as draw

    chart = draw(followed)
    if chart is None:
        click.echo(f"{path}: not written: the chart needs an arm with two result sets with a pass rate", err=True)
    else:
        write_text(path, chart.file)
        click.echo(f"chart: {path}", err=True)


@click.command("aa-test")
@options.experiment
@options.runs
@click.option(
    "--resamples",
    type=click.IntRange(2, 100_000),
    default=500,
    show_default=True,
    help="Number of random splits of the repetitions into halves.",
)
@options.as_json
def aa_test(experiment: str, runs: Path, resamples: int, *, as_json: bool) -> None:
    """Compare each arm of EXPERIMENT (a run, its folder, or its rows) with itself.

    The arm's repetitions are split into halves, in the order of the run and at random, and each pair of halves gets a
    verdict. Every claimed difference is false: at most 5 % of the verdicts should claim one.

    \b
    scylla-gha aa-test quickstart
    scylla-gha aa-test runs/hello-claude --resamples 2000 --json
    """  # noqa: D301
    require_statistics()
    from scylla_gha.analysis.design import planned_comparisons
    from scylla_gha.analysis.frame import build_frame
    from scylla_gha.analysis.simulated import AATestOptions
    from scylla_gha.analysis.simulated import aa_test as split_and_compare
    from scylla_gha.report.plain_text import equal_arms_text

    file = rows_file(experiment, runs)
    plan, rows = plan_beside(file), read_rows(file)
    frame = build_frame(rows, dict.fromkeys(cell.arm for cell in plan.cells) if plan else ())
    comparisons = len(planned_comparisons(plan, ())) if plan else len(frame.arms) - 1
    test = AATestOptions(
        family=max(1, comparisons),
        resamples=resamples,
        margin=plan.experiment.margin if plan else MARGIN,
        seed=plan.experiment.seed if plan else 0,
    )
    answer = split_and_compare(frame, rows[0].experiment, test)
    click.echo(answer.model_dump_json() if as_json else equal_arms_text(answer))


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@import_options
@click.option("--name", help="Name of the run folder (default: the file's name).")
@click.option("--baseline", help="Arm with which the others are compared (default: the first row's arm).")
@options.runs
@options.as_json
def import_(
    file: Path, how: ImportOptions, name: str | None, baseline: str | None, runs: Path, *, as_json: bool
) -> None:
    """Import the rows of FILE as the run folder runs/NAME, and report on them.

    FILE is a CSV, JSON lines or Parquet file, a Harbor job folder, an Inspect log in JSON (or a folder of them), or a
    workspace of skill-creator. Columns that have a field's own name need no --map. The report says that the rows are
    not verified.

    \b
    scylla-gha import bench.csv --map scenario=task --map arm=model --passed-if 'score>=0.6'
    scylla-gha import jobs/2026-01-02__03-04-05 --name harbor-run
    """  # noqa: D301
    from scylla_gha.evaluate.report_run import aggregate_and_render, print_report

    run = name or slug(file.stem)
    if not run or run != slug(run):
        raise ConfigError(f"--name {run!r}: is not valid; use small letters, digits and dashes, as in my-run")
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
    """Refuse to overwrite a run folder that `import` did not write, since its trials cost money."""
    if not folder.root.exists() or not any(folder.root.iterdir()):
        return
    plan = read_record(folder.plan, Plan)
    if plan is None or plan.imported is None:
        raise ConfigError(
            f"{folder.root}: contains a run that was not imported, and is not overwritten; give another --name"
        )


def _print_source(plan: Plan) -> None:
    source = plan.imported
    if source is None:
        return
    click.echo(
        f"{source.file}: {counted(len(plan.cells), 'row')}, {counted(len(plan.arms), 'arm')}; "
        f"baseline: {plan.experiment.baseline}",
        err=True,
    )
    renamed = [f"{field} = {column}" for field, column in source.columns.items() if field != column]
    if renamed:
        click.echo(f"mapped: {', '.join(renamed)}", err=True)
    if source.ignored:
        click.echo(f"ignored columns: {', '.join(source.ignored)}", err=True)


@click.command()
@options.experiment
@click.option("--to", "form", required=True, type=click.Choice(get_args(ExportFormat)), help="Format to write.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    show_default="in the run's folder",
    help="File to write, or the folder for inspect, atif and skill-creator.",
)
@click.option("--content", is_flag=True, help="With otel: add messages, and arguments and results of tools.")
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="GLOB",
    help="With junit: arm to write; may be repeated (default: all, the baseline included).",
)
@options.runs
def export(
    experiment: str, form: ExportFormat, output: Path | None, content: bool, arms: tuple[str, ...], runs: Path
) -> None:
    """Write the rows of EXPERIMENT (a run's folder name) in another tool's format.

    inspect writes a log per arm, atif a trajectory per trial, and skill-creator a workspace for its viewer, into a
    folder; the others write one file.

    \b
    scylla-gha export quickstart --to csv -o results.csv
    scylla-gha export quickstart --to junit --arm 'oracle*'
    """  # noqa: D301
    if content and form != "otel":
        raise click.UsageError(f"--content: applies to --to otel only; remove it for {form}")
    if arms and form != "junit":
        raise click.UsageError(f"--arm: applies to --to junit only; remove it for {form}")
    from scylla_gha.plan.selection import select
    from scylla_gha.store.run_folder import stored_plan

    folder = options.run_folder(runs, experiment)
    target = output or folder.root / DEFAULT_NAMES[form]
    plan = stored_plan(folder)
    chosen = tuple(select("--arm", arms, [arm.id for arm in plan.arms]))
    note = RunExport(folder, plan, target, content, chosen).write(form)
    if note:
        click.echo(note, err=True)
    click.echo(str(target))
