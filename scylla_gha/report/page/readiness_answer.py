"""The answer of a readiness measurement at the head of its page: score bars, flipped and missed anchors, limits.

Each anchor leads to the trials of its session, which the same page holds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.readiness import DIMENSIONS, Dimension, scenario_id
from scylla_gha.model.readiness_score import (
    AnchorScore,
    DimensionScore,
    ReadinessReport,
    ReadinessScore,
    ScoreComparison,
)
from scylla_gha.report.page.html import PagePlace, html
from scylla_gha.report.readiness_text import (
    change_text,
    dimension_cells,
    flipped_text,
    headline,
    subject_line,
    twin_text,
)

_HEAD: Final = "head"  # side of the commit that is compared with the measured one
_MOST_FLIPPED: Final = 100
_PERCENT: Final = 100


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


@dataclass(frozen=True, slots=True)
class FlippedAnchor:
    """An anchor that is solved in one of two commits only; `links` are names and addresses of its trials."""

    text: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AnchorRow:
    """An anchor with its score of 100 in words, its parts or outcomes, and the cell of its trial, if there is one."""

    anchor: str
    dimension: str
    score: str
    parts: str
    cell: str
    side: str


@dataclass(frozen=True, slots=True)
class ReadinessAnswer:
    """Texts and rows that the page shows of a measurement; the template escapes them."""

    report: ReadinessReport
    headline: str
    subject: str
    change: str
    cost: str
    bars: Sequence[ScoreBar]
    flipped: Sequence[FlippedAnchor]
    flipped_left_out: int
    twins: Sequence[str]
    missed: Sequence[AnchorRow]
    others: Sequence[AnchorRow]
    counts: str

    @property
    def names(self) -> Mapping[Dimension, str]:
        """Titles of the dimensions."""
        return DIMENSIONS


def readiness_answer(report: ReadinessReport, cells: Mapping[str, str]) -> ReadinessAnswer:
    """Return the answer of a measurement.

    Args:
        report: of the measurement.
        cells: cells that the page has, by scenario.
    """
    rows = [] if report.score is None else list(_rows(report.score, "", cells))
    if report.head is not None:
        rows += _rows(report.head, _HEAD, cells)
    missed = [row for row, is_missed in rows if is_missed]
    comparison = report.comparison
    return ReadinessAnswer(
        report=report,
        headline=headline(report),
        subject=subject_line(report),
        change=change_text(comparison) if comparison else "",
        cost=dollars(report.usd if report.score else 0),
        bars=[ScoreBar.of(row) for row in report.score.dimensions] if report.score else (),
        flipped=list(_flipped(report, comparison, cells)) if comparison else (),
        flipped_left_out=max(0, len(comparison.flipped) - _MOST_FLIPPED) if comparison else 0,
        twins=[twin_text(twin) for twin in report.twins],
        missed=missed,
        others=[row for row, is_missed in rows if not is_missed],
        counts=f"{len(missed)} of {counted(len(rows), 'anchor')}",
    )


def unavailable_page(report: ReadinessReport) -> str:
    """Return the page of a measurement in which no agent was asked: it has no trials."""
    return html(
        "readiness.html.j2",
        "basics.js",
        "plain.js",
        location=PagePlace("readiness"),
        banner="",
        site=None,
        readiness=readiness_answer(report, {}),
    )


def _rows(score: ReadinessScore, side: str, cells: Mapping[str, str]) -> Iterator[tuple[AnchorRow, bool]]:
    """Yield a row for each anchor, the lowest score first, and True if it was missed."""
    ranked = sorted(score.anchors, key=lambda anchor: (anchor.score is None, anchor.score or 0.0, anchor.item))
    for anchor in ranked:
        parts = ", ".join(f"{part} {_PERCENT * share:.0f}" for part, share in anchor.parts.items())
        row = AnchorRow(
            anchor.anchor,
            DIMENSIONS[anchor.dimension],
            "-" if anchor.score is None else f"{_PERCENT * anchor.score:.0f}",
            parts or ", ".join(anchor.outcomes) or "not run",
            cells.get(scenario_id(anchor.item, side), ""),
            side,
        )
        yield row, anchor.is_solved is False


def _flipped(report: ReadinessReport, comparison: ScoreComparison, cells: Mapping[str, str]) -> Iterator[FlippedAnchor]:
    sides = (("before", "", report.score), ("after", _HEAD, report.head))
    anchors = {
        (name, (anchor.dimension, anchor.anchor)): scenario_id(anchor.item, side)
        for name, side, score in sides
        for anchor in _anchors(score)
    }
    for change in comparison.flipped[:_MOST_FLIPPED]:
        scenarios = ((name, anchors.get((name, (change.dimension, change.anchor)), "")) for name, _, _ in sides)
        links = tuple((name, cells[scenario]) for name, scenario in scenarios if scenario in cells)
        yield FlippedAnchor(flipped_text(change), links)


def _anchors(score: ReadinessScore | None) -> Sequence[AnchorScore]:
    return score.anchors if score else ()


def _bounded(number: float | None) -> float | None:
    return None if number is None else round(min(100.0, max(0.0, number)), 1)
