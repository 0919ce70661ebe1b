"""The report of readiness as a page (`readiness.html`): score bars, flipped anchors, evidence and limits."""

from dataclasses import dataclass

from scylla_gha.model.readiness import DIMENSIONS
from scylla_gha.model.readiness_report import ReadinessReport
from scylla_gha.model.readiness_score import DimensionScore
from scylla_gha.report.numbers import usd
from scylla_gha.report.page.html import html
from scylla_gha.report.readiness_text import (
    change_text,
    dimension_cells,
    flipped_lines,
    headline,
    subject_line,
    twin_text,
)


@dataclass(frozen=True, slots=True)
class ScoreBar:
    """A dimension's row: its texts, and the ends of bar and interval within 0 to 100."""

    cells: tuple[str, str, str, str]
    score: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, row: DimensionScore) -> "ScoreBar":
        """Return the bar of a dimension."""
        return cls(dimension_cells(row), _bounded(row.score), _bounded(row.low), _bounded(row.high))


def readiness_page(report: ReadinessReport) -> str:
    """Return the page of a measurement."""
    return html(
        "readiness.html.j2",
        report=report,
        headline=headline(report),
        subject=subject_line(report),
        change=change_text(report.comparison) if report.comparison else "",
        cost=usd(report.usd) if report.score else "$0.00",
        bars=[ScoreBar.of(row) for row in report.score.dimensions] if report.score else (),
        flipped=flipped_lines(report.comparison) if report.comparison else (),
        twins=[twin_text(twin) for twin in report.twins],
        names=DIMENSIONS,
    )


def _bounded(number: float | None) -> float | None:
    return None if number is None else round(min(100.0, max(0.0, number)), 1)
