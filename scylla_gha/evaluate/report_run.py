"""Report of a run: rows are collected, aggregated, and rendered as `report.html`, `report.md` and charts."""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import replace

import click

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.collect import collect
from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.stored_cell import CellRef, stored_cell
from scylla_gha.model.judgment import JudgeControl
from scylla_gha.model.plan import CollectReport, Plan, UnstartedCells
from scylla_gha.model.readiness import REPORT_FILE, ReadinessReport
from scylla_gha.model.report import Report
from scylla_gha.model.result import CellRecord, Result
from scylla_gha.model.skill_help import HELP_FILE, SkillHelp
from scylla_gha.model.triggers import TRIGGERS_FILE, TriggerReport
from scylla_gha.report import glossary, markdown
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.document import Section
from scylla_gha.report.help_sections import help_markdown, help_page_sections
from scylla_gha.report.page import PageParts, page
from scylla_gha.report.page.trials import UnreadableCell, embedded_trials, failing_first, trial_table
from scylla_gha.report.summary import main_chart
from scylla_gha.report.trigger_sections import trigger_markdown, trigger_sections
from scylla_gha.report.view import report_view
from scylla_gha.store import read_lines, read_record, without_garbage_collection, write_record, write_text
from scylla_gha.store.run_folder import RunFolder


def finish_run(plan: Plan, folder: RunFolder, library: Library) -> Report:
    """Collect, aggregate and render the stored records, complete or not."""
    collect(plan, folder, library)
    return aggregate_and_render(plan, folder)


def aggregate_and_render(plan: Plan, folder: RunFolder) -> Report:
    """Aggregate and render the rows in a run's folder."""
    report = aggregate_run(plan, folder)
    render_report(report, folder, plan)
    return report


def aggregate_run(plan: Plan, folder: RunFolder) -> Report:
    """Aggregate the rows in a run's folder, and write `report.json`."""
    rows, unstarted = read_lines(folder.results, Result), read_record(folder.unstarted, UnstartedCells)
    collected = read_record(folder.refused, CollectReport)
    controls = read_lines(folder.controls, JudgeControl) if folder.controls.exists() else ()
    with without_garbage_collection():
        report = aggregate(plan, rows, controls, unstarted, question_of(plan), collected)
    write_record(folder.report("json"), report)
    return report


def print_report(report: Report, folder: RunFolder, *, as_json: bool) -> None:
    """Print the report on standard output, and the paths of its files on standard error."""
    if as_json:
        click.echo(report.model_dump_json())
    else:
        from rich.console import Console

        from scylla_gha.report.terminal import terminal_report

        terminal_report(report, Console())
    click.echo(f"report: {folder.report('md')}", err=True)
    click.echo(f"page: {folder.report('html')}", err=True)


def render_report(report: Report, folder: RunFolder, plan: Plan | None = None) -> None:
    """Write all renderings of a report into the folder of its run; without `plan`, the run's plan is read.

    Raises:
        ConfigError: a record beside the report is invalid.
    """
    charts = draw_charts(report)
    for chart in charts:
        write_text(folder.charts / f"{chart.name}.svg", chart.file)
    first = next((chart for chart in charts if chart.name == main_chart(report)), None)
    write_text(folder.report("md"), skill_markdown(folder) or markdown(report, first))
    write_text(folder.glossary, glossary())
    write_text(folder.report("html"), run_page(report, charts, folder, plan))


def draw_charts(report: Report) -> tuple[Chart, ...]:
    """Return the charts of a report; none without the extra `report`."""
    if not (importlib.util.find_spec("altair") and importlib.util.find_spec("vl_convert")):
        return ()
    from scylla_gha.report.charts import draw

    return draw(report_view(report))


def run_page(report: Report, charts: Sequence[Chart], folder: RunFolder, plan: Plan | None) -> str:
    """Return `report.html`, with records of failing trials first, then of others, as far as there is room.

    Args:
        report: the report of the run.
        charts: charts of the report.
        folder: folder of the run.
        plan: plan of the run, if it was read already; a plan of 50,000 cells takes 75 MB.

    Raises:
        ConfigError: the plan or the rows are invalid. Unreadable records of a trial are named in the page instead.
    """
    view = report_view(report)
    plan = plan or read_record(folder.plan, Plan)
    results = read_lines(folder.results, Result) if folder.results.exists() else ()
    table = trial_table(view, results, plan.cells if plan else (), has_files=False)
    stored = [] if report.imported else [cell for cell in failing_first(view, table) if _is_stored(folder, cell)]
    table = replace(table, has_files=bool(stored))
    # The records of a cell are read when the page has room for them, since all records can take gigabytes
    trials = embedded_trials(_records(folder, stored, plan))
    readiness = read_record(folder.root / REPORT_FILE, ReadinessReport)
    return page(view, PageParts(charts, table, trials, readiness, skill_sections(folder)))


def skill_markdown(folder: RunFolder) -> str:
    """Return the answer about a skill as Markdown; empty if the run is not about one."""
    answer = read_record(folder.root / HELP_FILE, SkillHelp)
    if answer is not None:
        return help_markdown(answer)
    triggers = read_record(folder.root / TRIGGERS_FILE, TriggerReport)
    return trigger_markdown(triggers) if triggers else ""


def skill_sections(folder: RunFolder) -> tuple[Section, ...]:
    """Return the sections of the answer about a skill, if the run is of its evals or of its trigger queries."""
    answer = read_record(folder.root / HELP_FILE, SkillHelp)
    if answer is not None:
        return help_page_sections(answer)
    triggers = read_record(folder.root / TRIGGERS_FILE, TriggerReport)
    return trigger_sections(triggers) if triggers else ()


def _is_stored(folder: RunFolder, cell: str) -> bool:
    return "/" not in cell and folder.cell(cell).trial.is_file()


def _records(folder: RunFolder, cells: Sequence[str], plan: Plan | None) -> Iterator[CellRecord | UnreadableCell]:
    for cell in cells:
        try:
            yield stored_cell(CellRef(folder, cell), plan)
        except ConfigError as error:
            yield UnreadableCell(cell, str(error))
