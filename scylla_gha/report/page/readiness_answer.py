"""Render the readiness answer at the top of its page: score bars, flipped and missed anchors, limits.

Each anchor links to the trial of its session, which is on the same page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.readiness import (
    DIMENSIONS,
    AnchorChange,
    AnchorScore,
    DimensionScore,
    ReadinessReport,
    scenario_id,
)
from scylla_gha.report.document import Columns, Markdown, Section, escape, section, table_of
from scylla_gha.report.page.html import PageLocation, html, sections_html
from scylla_gha.report.readiness_text import (
    associations,
    change_text,
    dimension_cells,
    flipped,
    headline,
    limits,
    subject_line,
    twins,
    worst_files,
    yields,
)

_HEAD: Final = "head"  # side of the commit that is compared with the measured one
_MOST_FLIPPED: Final = 100
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class ScoreBar:
    """A dimension's row: its texts, and score and interval clamped to 0 to 100 (None: unknown)."""

    cells: tuple[str, str, str, str]
    score: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, row: DimensionScore) -> "ScoreBar":
        """Return the bar of a dimension."""
        return cls(dimension_cells(row), _bounded(row.score), _bounded(row.low), _bounded(row.high))


@dataclass(frozen=True, slots=True)
class ReadinessAnswer:
    """Texts at the top of the page, and its sections (title and HTML) by HTML anchor."""

    report: ReadinessReport
    headline: str
    subject: str
    change: str
    cost: str
    bars: Sequence[ScoreBar]
    sections: dict[str, tuple[str, str]]


def readiness_answer(report: ReadinessReport, cells: Mapping[str, str]) -> ReadinessAnswer:
    """Return the answer of a measurement.

    Args:
        report: report of the measurement.
        cells: cells on the page, by scenario.
    """
    sections = {
        "flipped": flipped(report, _MOST_FLIPPED, lambda change: _trials_of(report, change, cells)),
        "twins": twins(report),
        "worst": worst_files(report),
        "associations": associations(report),
        **_anchors(report, cells),
        "yields": yields(report),
        "limits": limits(report),
    }
    return ReadinessAnswer(
        report=report,
        headline=headline(report),
        subject=subject_line(report),
        change=change_text(report.comparison) if report.comparison else "",
        cost=dollars(report.usd if report.score else 0),
        bars=[ScoreBar.of(row) for row in report.score.dimensions] if report.score else (),
        sections=sections_html(sections),
    )


def unavailable_page(report: ReadinessReport) -> str:
    """Return the page of a measurement without trials, since no agent was asked."""
    return html(
        "readiness.html.j2",
        "basics.js",
        "plain.js",
        location=PageLocation("readiness"),
        banner="",
        site=None,
        readiness=readiness_answer(report, {}),
    )


def _anchors(report: ReadinessReport, cells: Mapping[str, str]) -> dict[str, Section]:
    """Return sections of the missed anchors and of all others, lowest score first, with links to their trials."""
    columns: Columns[tuple[AnchorScore, str]] = {
        "anchor": lambda row: _anchor_name(*row, cells),
        "dimension": lambda row: DIMENSIONS[row[0].dimension],
        "score": lambda row: "-" if row[0].score is None else f"{_PERCENT * row[0].score:.0f}",
        "parts": lambda row: _anchor_parts(row[0]),
    }
    scores = ((report.score, ""), (report.head, _HEAD))
    rows = [
        (anchor, side)
        for score, side in scores
        if score
        for anchor in sorted(score.anchors, key=lambda anchor: (anchor.score is None, anchor.score or 0.0, anchor.item))
    ]
    missed = [row for row in rows if row[0].is_solved is False]
    others = [row for row in rows if row[0].is_solved is not False]
    counts = f"{len(missed)} of {counted(len(rows), 'anchor')}"
    solved_title = f"Solved anchors, and those without a score: {len(others)}"
    return {
        "anchors": section(f"Missed anchors: {counts}", table_of(missed, columns)),
        "others": section(solved_title, table_of(others, columns)),
    }


def _anchor_name(anchor: AnchorScore, side: str, cells: Mapping[str, str]) -> str:
    cell = cells.get(scenario_id(anchor.item, side), "")
    name = Markdown("[{}](#cell={})").fill(anchor.anchor, Markdown(cell)) if cell else escape(anchor.anchor)
    return Markdown("{} ({})").fill(name, side) if side else name


def _anchor_parts(anchor: AnchorScore) -> str:
    parts = ", ".join(f"{part} {_PERCENT * share:.0f}" for part, share in anchor.parts.items())
    return parts or ", ".join(anchor.outcomes) or "not run"


def _trials_of(report: ReadinessReport, change: AnchorChange, cells: Mapping[str, str]) -> str:
    """Return links to the trials of an anchor in both commits."""
    links = [
        f"[{name}](#cell={cells[scenario]})"
        for name, side, score in (("before", "", report.score), ("after", _HEAD, report.head))
        for anchor in (score.anchors if score else ())
        if (anchor.dimension, anchor.anchor) == (change.dimension, change.anchor)
        and (scenario := scenario_id(anchor.item, side)) in cells
    ]
    return f": {', '.join(links)}" if links else ""


def _bounded(number: float | None) -> float | None:
    return None if number is None else round(min(100.0, max(0.0, number)), 1)
