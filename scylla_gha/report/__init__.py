"""Render the report as Markdown, for a file or a step summary: the answer first, then its evidence."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.model.publication import RunPage
from scylla_gha.model.report import Report
from scylla_gha.report.document import folded, render, section_markdown, tidy, totals
from scylla_gha.report.sections import arm_table, counts_note, headline, report_sections
from scylla_gha.report.view import ReportView, notes, report_view

if TYPE_CHECKING:
    from scylla_gha.report.charts.theme import Chart

_MOST_VERDICTS: Final = 10
_MOST_SUMMARY_VERDICTS: Final = 5
_MOST_SUMMARY_ARMS: Final = 10
_NO_STATISTICS: Final = (
    "The statistics are not installed (extra `report`): these are Wilson intervals, which treat all trials as "
    "independent."
)


def markdown(report: Report, chart: "Chart | None" = None) -> str:
    """Render the whole report as a page; `chart` is shown from its file in the folder `charts` beside the page."""
    picture = Picture(f"charts/{chart.name}.svg", chart.alternative) if chart else None
    return _page(report_view(report), _MOST_VERDICTS, picture, None)


@dataclass(frozen=True, slots=True)
class Picture:
    """Address of a picture, and its alternative text."""

    address: str
    alternative: str


@dataclass(frozen=True, slots=True)
class SummaryLinks:
    """Targets of links in a step summary: the run, the report's artifact, and the results branch (empty: none)."""

    run: RunPage
    artifact: str
    branch: str = ""


def step_summary(report: Report, links: SummaryLinks, picture: Picture | None = None) -> str:
    """Render the report for a run's page on GitHub: at most 60 lines, with all sections folded."""
    view = report_view(report, _MOST_SUMMARY_ARMS, links.run.artifacts)
    return _page(view, _MOST_SUMMARY_VERDICTS, picture, links)


def _page(view: ReportView, most_verdicts: int, picture: Picture | None, links: SummaryLinks | None) -> str:
    """Return a report file with open sections, or, with `links`, a step summary with folded sections."""
    report, numbered_notes = view.report, notes(view)
    values = {
        "is_page": links is None,
        "links": links,
        "picture": picture,
        "report": report,
        "view": view,
        "headline": headline(view, most_verdicts),
        "totals": totals(report),
        "github": "the hub" if report.github == "hub" else report.github,
        "arms": arm_table(view, numbered_notes),
        "counts_note": counts_note(view, is_marked=any(note.arms for note in numbered_notes)),
    }
    sections = [section_markdown(part, is_open=part.is_news and links is None) for part in report_sections(view)]
    parts = [render("report.md.j2", values), *sections]
    if report.arms and view.analysis is None:
        parts.append(_NO_STATISTICS)
    if links is not None:
        parts.append(folded("Words, methods and signs", glossary()))
    return tidy("\n\n".join(parts))


def glossary() -> str:
    """Return the page that explains the words, signs and methods of a report."""
    return render("glossary.md.j2", {})
