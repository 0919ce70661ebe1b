"""The page as HTML: a template, one style sheet and one script, allowed by their hashes and nothing else.

All text of agents, scenarios, models and judges is hostile. In the template it is escaped; trials and the table of them
are data that the script puts into the page as text only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from scylla_gha.model.readiness import ReadinessReport
from scylla_gha.model.report import Report
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.document import Section, link
from scylla_gha.report.page.answer import key_figures
from scylla_gha.report.page.blocks import sections_html
from scylla_gha.report.page.html import PagePlace, html, packed
from scylla_gha.report.page.readiness_answer import readiness_answer
from scylla_gha.report.page.trajectories import EmbeddedTrial
from scylla_gha.report.page.trial_table import TrialTable, trial_columns
from scylla_gha.report.sections import excluded, failures, headline, not_possible, questions, warnings
from scylla_gha.report.summary import COUNTS_NOTE, HEADINGS, arm_row, main_chart
from scylla_gha.report.view import ReportView, marks, notes

_MOST_VERDICTS: Final = 10


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
    report, answer = view.report, headline(view, _MOST_VERDICTS)
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
        banner=answer.banner,
        headline=answer,
        figures=list(key_figures(view)),
        arm_rows=[(arm.arm, arm_row(view, arm, wide=True)) for arm in view.arms],
        marks=marks(notes(view)),
        sections=sections_html(_sections(replace(view, trial=lambda cell: _trial(cell, names)))),
        trials=list(parts.trials),
        rows="" if site else packed(trial_columns(parts.table)),
    )


def _trial(cell: str, names: Mapping[str, str]) -> str:
    return link(cell, f"#cell={cell}", names[cell]) if cell in names else cell


def _sections(view: ReportView) -> dict[str, Section]:
    """Return the sections below the charts, by their anchor."""
    return {
        "questions": questions(view),
        "failures": failures(view),
        "warnings": warnings(view, len(view.report.warnings)),
        "not-possible": not_possible(view),
        "excluded": excluded(view),
    }


def _totals(report: Report) -> str:
    trials = report.counts
    proved = f"; delivery proved in {report.delivery[0]} of {report.delivery[1]}" if report.delivery else ""
    return f"{trials.planned} planned, {trials.ran} ran, {trials.judged} judged, {trials.scored} scored{proved}"
