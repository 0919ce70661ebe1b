"""The page of a run: the report, and the records of trials that lie beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scylla_gha.errors import ConfigError
from scylla_gha.model.cell_records import CellRecord
from scylla_gha.model.plan import Plan
from scylla_gha.model.readiness_report import REPORT_FILE, ReadinessReport
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.pipeline.stored_cell import CellRef, stored_cell
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.page.page import PageParts, page
from scylla_gha.report.page.trajectories import UnreadableCell, embedded_trials
from scylla_gha.report.page.trial_table import failing_first, trial_table
from scylla_gha.report.view import report_view
from scylla_gha.store.records import read_lines, read_record
from scylla_gha.store.run_folder import RunFolder


def run_page(report: Report, charts: Sequence[Chart], folder: RunFolder, plan: Plan | None) -> str:
    """Return `report.html`: failing trials are inside it first, then others, as far as there is room.

    Args:
        report: the report of the run.
        charts: its charts.
        folder: of the run.
        plan: of the run, if it was read already; a plan of 50,000 cells takes 75 MB.

    Raises:
        ConfigError: the plan or the rows are invalid; a trial's records that cannot be read are named in the page.
    """
    view = report_view(report)
    plan = plan or read_record(folder.plan, Plan)
    results = read_lines(folder.results, Result) if folder.results.exists() else ()
    table = trial_table(view, results, plan.cells if plan else (), has_files=False)
    stored = [] if report.imported else [cell for cell in failing_first(view, table) if _is_stored(folder, cell)]
    table = replace(table, has_files=bool(stored))
    trials = embedded_trials(_records(folder, stored, plan))
    return page(view, PageParts(charts, table, trials, read_record(folder.root / REPORT_FILE, ReadinessReport)))


def _is_stored(folder: RunFolder, cell: str) -> bool:
    return "/" not in cell and folder.cell(cell).trial.is_file()


def _records(folder: RunFolder, cells: Sequence[str], plan: Plan | None) -> Iterator[CellRecord | UnreadableCell]:
    for cell in cells:
        try:
            yield stored_cell(CellRef(folder, cell), plan)
        except ConfigError as error:
            yield UnreadableCell(cell, str(error))
