"""Orchestration that commands share: a stored plan, and the last steps of a run, which are imported when called."""

import contextlib
import gc
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import JudgeControl
from scylla_gha.model.plan import CollectReport, Plan, UnstartedCells
from scylla_gha.model.result import Result
from scylla_gha.store.records import read_lines, read_record, write_record
from scylla_gha.store.run_folder import RunFolder

if TYPE_CHECKING:
    from scylla_gha.aggregate import Analyse
    from scylla_gha.model.analysis import Analysis
    from scylla_gha.model.report import Report


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch off the search for reference cycles while many records are made.

    No record refers to itself, and the search takes a fifth to a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def stored_plan(folder: RunFolder) -> Plan:
    """Read the plan in a run's folder.

    Raises:
        ConfigError: the folder has no plan.
    """
    plan = read_record(folder.plan, Plan)
    if plan is None:
        raise ConfigError(f"{folder.plan}: there is no plan; run `scylla-gha evaluate {folder.root.name}` first, or "
                          "`plan`, to run it step by step")  # fmt: skip
    return plan


def finish_run(plan: Plan, folder: RunFolder, library: Library) -> "Report":
    """Collect, aggregate and render the stored records, complete or not."""
    from scylla_gha.collect import collect

    collect(plan, folder, library)
    return aggregate_and_render(plan, folder)


def aggregate_and_render(plan: Plan, folder: RunFolder) -> "Report":
    """Aggregate and render the rows that a folder holds."""
    from scylla_gha.pipeline.render import render_report

    report = aggregate_run(plan, folder)
    render_report(report, folder, plan)
    return report


def aggregate_run(plan: Plan, folder: RunFolder) -> "Report":
    """Aggregate the rows that a folder holds, and write `report.json`."""
    from scylla_gha.aggregate import aggregate

    rows, unstarted = read_lines(folder.results, Result), read_record(folder.unstarted, UnstartedCells)
    collected = read_record(folder.refused, CollectReport)
    controls = read_lines(folder.controls, JudgeControl) if folder.controls.exists() else ()
    with without_garbage_collection():
        report = aggregate(plan, rows, controls, unstarted, analysis_of(plan), collected)
    write_record(folder.report("json"), report)
    return report


def print_report(report: "Report", folder: RunFolder, *, as_json: bool) -> None:
    """Print the report on standard output, and the paths of its files on standard error."""
    if as_json:
        click.echo(report.model_dump_json())
    else:
        from rich.console import Console

        from scylla_gha.report.terminal import terminal_report

        terminal_report(report, Console())
    click.echo(f"report: {folder.report('md')}", err=True)
    click.echo(f"page: {folder.report('html')}", err=True)


def analysis_of(plan: Plan) -> "Analyse | None":
    """Return the function that computes the analysis of a plan's rows; None without the extra `report`."""
    from scylla_gha.plan.notes import has_statistics

    if not has_statistics():
        return None

    def analyse(rows: Iterable[Result]) -> "Analysis":
        from scylla_gha.analysis import analyse as analysis
        from scylla_gha.analysis.frame import build_frame
        from scylla_gha.analysis.interactions import mode_and_model_parts, treatment_parts

        experiment = plan.experiment
        question = analysis.Question(
            baseline=experiment.baseline,
            models={arm.id: arm.model for arm in plan.arms},
            margin=experiment.margin,
            seed=experiment.seed,
            pairs=plan.pairs,
            family=plan.family,
            parts=treatment_parts(plan),
            modes={arm.id: arm.mode.id for arm in plan.arms if arm.mode},
            crossed=mode_and_model_parts(plan),
        )
        variants = {arm.id: arm.variant.id for arm in plan.arms if arm.variant}
        return analysis.analyse(build_frame(rows, dict.fromkeys(cell.arm for cell in plan.cells), variants), question)

    return analyse
