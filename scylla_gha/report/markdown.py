"""The report as Markdown, for a file and for a step summary: the answer first, then its evidence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from scylla_gha.model.publication import RunPage
from scylla_gha.model.report import Report
from scylla_gha.report import comparisons, metrics, outcomes, tiers
from scylla_gha.report.next_command import command_for_more_data
from scylla_gha.report.numbers import REPLAYED, totals
from scylla_gha.report.questions import five_answers
from scylla_gha.report.summary import (
    COUNTS_NOTE,
    HEADINGS,
    LOWER_IS_BETTER,
    arm_row,
    hypothesis_line,
    verdict_counts,
    verdict_lines,
)
from scylla_gha.report.templates import Markdown, Table, escape, render
from scylla_gha.report.view import ReportNote, ReportView, marks, note_text, notes, report_view

if TYPE_CHECKING:
    from scylla_gha.report.charts.theme import Chart

_MOST_VERDICTS: Final = 10
_MOST_SUMMARY_VERDICTS: Final = 5
_MOST_SUMMARY_ARMS: Final = 10


def markdown(report: Report, chart: "Chart | None" = None) -> str:
    """Render the whole report as a page; `chart` is shown from its file beside the page."""
    picture = Picture(f"charts/{chart.name}.svg", chart.alternative) if chart else None
    return _page(report_view(report), {"picture": picture, "links": None}, _MOST_VERDICTS)


@dataclass(frozen=True, slots=True)
class Picture:
    """Address of a picture, and its alternative text."""

    address: str
    alternative: str


@dataclass(frozen=True, slots=True)
class SummaryLinks:
    """Targets of links in a step summary: the run, the report's artifact and the results branch (empty: none)."""

    run: RunPage
    artifact: str
    branch: str = ""


def step_summary(report: Report, links: SummaryLinks, picture: Picture | None = None) -> str:
    """Render the report for a run's page on GitHub: at most 60 lines, and all sections folded."""
    view = report_view(report, _MOST_SUMMARY_ARMS, links.run.artifacts)
    return _page(view, {"picture": picture, "links": links}, _MOST_SUMMARY_VERDICTS)


def _page(view: ReportView, values: Mapping[str, Any], most_verdicts: int) -> str:
    report, numbered_notes = view.report, notes(view)
    return render(
        "report.md.j2",
        {
            **values,
            "is_page": values["links"] is None,
            "report": report,
            "view": view,
            "analysis": report.analysis,
            "totals": totals(report),
            "verdict_counts": verdict_counts(view, most_verdicts),
            "verdicts": list(verdict_lines(view, most_verdicts)),
            "hypothesis": hypothesis_line(report),
            "for_more_data": command_for_more_data(report),
            "has_family": report.answer != report.comparisons,
            "github": "the hub" if report.github == "hub" else report.github,
            "replayed": REPLAYED,
            "arms": _arms(view, numbered_notes),
            "counts_note": COUNTS_NOTE,
            "notes": numbered_notes,
            "note_text": note_text,
            "noted": any(note.arms for note in numbered_notes),
            **_comparison_values(view),
            **_metric_values(view),
            **_outcome_values(view),
        },
    )


def _arms(view: ReportView, numbered_notes: Sequence[ReportNote]) -> Table:
    """The main table; a raised number refers to a warning."""
    noted = marks(numbered_notes)
    rows = []
    for arm in view.arms:
        name, *values = arm_row(view, arm, wide=True)
        mark = f" <sup>{noted[arm.arm]}</sup>" if arm.arm in noted else ""
        rows.append((Markdown(f"{escape(name)}{mark}"), *values))
    headings = [f"{name} {metrics.LOWER_MARK}" if name in LOWER_IS_BETTER else name for name in HEADINGS]
    return Table(headings, rows, view.left_out, "arm")


def _comparison_values(view: ReportView) -> dict[str, Any]:
    return {
        "changes": comparisons.changes(view),
        "changes_are_filtered": len(view.changes) >= comparisons.FEW_ARMS,
        "tiers": tiers.tiers(view),
        "tier_steps": tiers.tier_steps(view),
        "best_subtests": tiers.best_subtests(view),
        "tier_tokens": tiers.tier_tokens(view),
        "tier_treatments": tiers.tier_treatments(view),
        "wholes": tiers.wholes(view),
        "treatment": tiers.TREATMENT,
        "modes_by_models": tiers.modes_by_models(view),
        "answers": five_answers(view),
        "families": comparisons.families(view),
        "statistics": comparisons.statistics(view, view.analysis) if view.analysis else {},
    }


def _metric_values(view: ReportView) -> dict[str, Any]:
    measured = (view.measure(arm.arm, "outcome_consistency") for arm in view.arms)
    return {
        "metric_table": metrics.metric_table,
        "above_zero": metrics.above_zero,
        "estimate": metrics.estimate,
        "value": metrics.value,
        "first_names": metrics.first_names,
        "tries": metrics.tries(view),
        "is_repeated": any(measure is not None and measure.value is not None for measure in measured),
        "tools": metrics.tool_calls(view),
        "frontier": view.analysis.frontier if view.analysis else None,
        "cheapest_shares": metrics.cheapest_shares(view),
    }


def _outcome_values(view: ReportView) -> dict[str, Any]:
    agreement = view.analysis.agreement if view.analysis else None
    judges = (
        {
            "alpha_text": outcomes.alpha_text(agreement),
            "agreement_measures": outcomes.agreement_measures(agreement),
            "judge_pairs": outcomes.judge_pairs(agreement),
            "scenario_alphas": outcomes.scenario_alphas(agreement),
        }
        if agreement
        else {}
    )
    return {
        "matrix": outcomes.scenario_matrix(view),
        "kinds": outcomes.kinds(view),
        "outcomes": outcomes.outcomes(view),
        "all_passed": all(arm.passed == arm.counts.judged for arm in view.report.arms),
        "all_completed": all(set(arm.outcomes) <= {"completed"} for arm in view.report.arms),
        "failures": outcomes.failures(view),
        "outliers": outcomes.outliers(view),
        "excused": outcomes.excused(view),
        "not_possible": outcomes.not_possible(view),
        "api_operations": outcomes.api_operations(view),
        "excluded": outcomes.excluded(view),
        "agreement": agreement,
        **judges,
        "alpha_good": outcomes.ALPHA_GOOD,
        "alpha_fair": outcomes.ALPHA_FAIR,
        "excluded_outcomes": Counter(cell.outcome for cell in view.report.excluded).most_common(),
    }


def glossary() -> str:
    """Return the page that explains the words, signs and methods of a report."""
    return render("glossary.md.j2", {})
