"""The report as Markdown: the answer first, then its evidence; sections without content are left out."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from scylla_gha.model.report import Report
from scylla_gha.report import comparisons, metrics, outcomes
from scylla_gha.report.numbers import totals
from scylla_gha.report.summary import COUNTS_NOTE, HEADINGS, arm_row, verdict_counts, verdict_lines
from scylla_gha.report.templates import Markdown, Table, escape, render
from scylla_gha.report.view import ReportNote, ReportView, marks, note_text, notes, report_view
from scylla_gha.store.records import write_text
from scylla_gha.store.run_folder import RunFolder

_MOST_VERDICTS: Final = 10


def markdown(report: Report) -> str:
    """Render the whole report."""
    view = report_view(report)
    numbered_notes = notes(view)
    return render("report.md.j2", {
        "report": report, "view": view, "analysis": report.analysis, "totals": totals(report),
        "verdict_counts": verdict_counts(view, _MOST_VERDICTS), "verdicts": list(verdict_lines(view, _MOST_VERDICTS)),
        "arms": _arms(view, numbered_notes), "counts_note": COUNTS_NOTE, "notes": numbered_notes,
        "note_text": note_text, "noted": any(note.arms for note in numbered_notes),
        **_comparison_values(view), **_metric_values(view), **_outcome_values(view),
    })  # fmt: skip


def _arms(view: ReportView, numbered_notes: Sequence[ReportNote]) -> Table:
    """The main table; a raised number refers to a warning."""
    noted = marks(numbered_notes)
    rows = []
    for arm in view.arms:
        name, *values = arm_row(view, arm, wide=True)
        mark = f" <sup>{noted[arm.arm]}</sup>" if arm.arm in noted else ""
        rows.append((Markdown(f"{escape(name)}{mark}"), *values))
    return Table(HEADINGS, rows, view.left_out, "arm")


def _comparison_values(view: ReportView) -> dict[str, Any]:
    return {
        "changes": comparisons.changes(view), "changes_are_filtered": len(view.changes) >= comparisons.FEW_ARMS,
        "tiers": comparisons.tiers(view), "tier_steps": comparisons.tier_steps(view),
        "best_subtests": comparisons.best_subtests(view), "families": comparisons.families(view),
        "statistics": comparisons.statistics(view, view.analysis) if view.analysis else {},
    }  # fmt: skip


def _metric_values(view: ReportView) -> dict[str, Any]:
    measured = (view.measure(arm.arm, "outcome_consistency") for arm in view.arms)
    return {
        "metric_table": metrics.metric_table, "above_zero": metrics.above_zero, "estimate": metrics.estimate,
        "value": metrics.value, "first_names": metrics.first_names, "tries": metrics.tries(view),
        "is_repeated": any(measure is not None and measure.value is not None for measure in measured),
        "tools": metrics.tool_calls(view), "frontier": view.analysis.frontier if view.analysis else None,
        "cheapest_shares": metrics.cheapest_shares(view),
    }  # fmt: skip


def _outcome_values(view: ReportView) -> dict[str, Any]:
    agreement = view.analysis.agreement if view.analysis else None
    judges = {
        "alpha_text": outcomes.alpha_text(agreement), "agreement_measures": outcomes.agreement_measures(agreement),
        "judge_pairs": outcomes.judge_pairs(agreement), "scenario_alphas": outcomes.scenario_alphas(agreement),
    } if agreement else {}  # fmt: skip
    return {
        "matrix": outcomes.scenario_matrix(view), "kinds": outcomes.kinds(view), "outcomes": outcomes.outcomes(view),
        "all_completed": all(set(arm.outcomes) <= {"completed"} for arm in view.report.arms),
        "failures": outcomes.failures(view), "outliers": outcomes.outliers(view), "excused": outcomes.excused(view),
        "excluded": outcomes.excluded(view), "agreement": agreement, **judges, "alpha_good": outcomes.ALPHA_GOOD,
        "alpha_fair": outcomes.ALPHA_FAIR,
        "excluded_outcomes": Counter(cell.outcome for cell in view.report.excluded).most_common(),
    }  # fmt: skip


def write_report(report: Report, folder: RunFolder) -> None:
    """Write `report.md` into a run folder."""
    write_text(folder.report("md"), markdown(report))
