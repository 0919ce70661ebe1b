"""The page as HTML: a template, one style sheet and one script, allowed by their hashes and nothing else.

All text of agents, scenarios, models and judges is hostile. In the template it is escaped; trials and the table of them
are data that the script puts into the page as text only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.readiness_score import ReadinessReport
from scylla_gha.model.report import Report
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.next_command import command_for_more_data
from scylla_gha.report.numbers import REPLAYED
from scylla_gha.report.page.answer import key_figures
from scylla_gha.report.page.html import PagePlace, html, packed
from scylla_gha.report.page.readiness_answer import readiness_answer
from scylla_gha.report.page.trajectories import EmbeddedTrial
from scylla_gha.report.page.trial_table import TrialTable, trial_columns
from scylla_gha.report.questions import five_answers
from scylla_gha.report.summary import (
    COUNTS_NOTE,
    HEADINGS,
    arm_row,
    hypothesis_line,
    main_chart,
    verdict_counts,
    verdict_lines,
)
from scylla_gha.report.tiers import mode_by_model_line
from scylla_gha.report.view import ReportView, marks, note_text, notes

_MOST_VERDICTS: Final = 10
_MOST_FAILURES: Final = 30
_MOST_EXCLUDED: Final = 100


@dataclass(frozen=True, slots=True)
class PageParts:
    """Parts of the page besides the report.

    Attributes:
        charts: pictures in their order; none without the extra `report`.
        table: the table of trials.
        trials: those that are inside the page.
        readiness: the measurement that the run is of, with whose answer the page begins; None: of none.
    """

    charts: Sequence[Chart]
    table: TrialTable
    trials: Iterable[EmbeddedTrial]
    readiness: ReadinessReport | None = None


@dataclass(frozen=True, slots=True)
class SiteLinks:
    """Links of a page of the site, which has no files of the run beside it.

    Attributes:
        location: of the page.
        glossary: address of the glossary.
        facts: of the run, such as its commit.
        run: address of its workflow run; empty: unknown.
    """

    location: PagePlace
    glossary: str
    facts: str
    run: str


def page(view: ReportView, parts: PageParts, site: SiteLinks | None = None) -> str:
    """Return the whole page; with `site`, as a page of a site."""
    report, numbered_notes = view.report, notes(view)
    names = {row.cell: f"{row.scenario} r{row.repetition:02d}" for row in parts.table.rows}
    by_scenario = {row.scenario: row.cell for row in reversed(parts.table.rows)}
    readiness = readiness_answer(parts.readiness, by_scenario) if parts.readiness else None
    return html(
        "page.html.j2",
        "basics.js",
        "side_by_side.js",
        "page.js",
        location=site.location if site else None,
        site=site,
        charts=sorted(parts.charts, key=lambda chart: chart.name != main_chart(report)),
        readiness=readiness,
        report=report,
        view=view,
        headings=HEADINGS,
        counts_note=COUNTS_NOTE,
        totals=_totals(report),
        banner=banner(report),
        verdict_counts=verdict_counts(view, _MOST_VERDICTS),
        verdicts=list(verdict_lines(view, _MOST_VERDICTS)),
        for_more_data=None if readiness else command_for_more_data(report),
        hypothesis=hypothesis_line(report),
        mode_by_model=mode_by_model_line(view),
        figures=list(key_figures(view)),
        answers=five_answers(view),
        arm_rows=[(arm.arm, arm_row(view, arm, wide=True)) for arm in view.arms],
        marks=marks(numbered_notes),
        notes=[(note.number, note_text(view, note)) for note in numbered_notes],
        failures=report.failures[:_MOST_FAILURES],
        excluded=report.excluded[:_MOST_EXCLUDED],
        names=names,
        trials=list(parts.trials),
        rows="" if site else packed(trial_columns(parts.table)),
    )


def _totals(report: Report) -> str:
    trials = report.counts
    proved = f"; delivery proved in {report.delivery[0]} of {report.delivery[1]}" if report.delivery else ""
    return f"{trials.planned} planned, {trials.ran} ran, {trials.judged} judged, {trials.scored} scored{proved}"


def banner(report: Report) -> str:
    """Return what a reader must know before any number: that nothing was measured here; empty: it was."""
    if report.replayed:
        return f"{REPLAYED}."
    return "Imported rows: this toolkit did not run these trials, and did not verify them." if report.imported else ""
