"""The report of readiness as Markdown: `readiness.md`, and the comment on a pull request.

Untrusted text (names of functions and files, reasons) is escaped.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.counting import dollars
from scylla_gha.model.readiness_score import ReadinessReport
from scylla_gha.report.readiness_text import (
    change_text,
    dimension_cells,
    feature_text,
    flipped_lines,
    headline,
    subject_line,
    twin_text,
    yields_text,
)
from scylla_gha.report.templates import Markdown, Table, escape, tidy

_HEADINGS: Final = ("dimension", "score", "anchors", "effort, or why there is no score")
_ALERTS: Final = {"worse": "CAUTION", "better": "TIP", "equivalent": "NOTE"}
MARKER: Final = "<!-- scylla:readiness v1 -->"


def readiness_markdown(report: ReadinessReport) -> str:
    """Return the whole report as Markdown."""
    return tidy("\n\n".join((f"# {escape(headline(report))}", *_sections(report))))


def readiness_comment(report: ReadinessReport, run_url: str) -> str:
    """Return the comment on a pull request: the verdict and flipped anchors first.

    Args:
        report: the report.
        run_url: address of the workflow run; empty: no link.
    """
    comparison = report.comparison
    verdict = comparison.ruling.verdict if comparison else "equivalent"
    alert = _ALERTS.get(verdict, "WARNING") if report.unavailable is None else "WARNING"
    lines = [f"> [!{alert}]", f"> **{escape(headline(report))}**"]
    if subject := subject_line(report):
        lines.append(f"> {escape(subject)}")
    if comparison is not None:
        lines.append(f"> {escape(change_text(comparison))}")
    flipped = flipped_lines(comparison) if comparison else []
    parts = [MARKER + "\n" + "\n".join(lines), _bullets("Flipped anchors", flipped, level=3), _table(report)]
    details = "\n\n".join(_details(report))
    parts.append(f"<details><summary>Evidence and limits</summary>\n\n{details}\n\n</details>")
    parts.append(f"[The run]({run_url}) has all sessions." if run_url else "")
    return tidy("\n\n".join(parts))


def _sections(report: ReadinessReport) -> Iterator[str]:
    subject = subject_line(report)
    yield escape(subject) if subject else ""
    if report.comparison is not None:
        yield f"**Change against the measured commit**: {escape(change_text(report.comparison))}"
        yield _bullets("Flipped anchors", flipped_lines(report.comparison))
    yield _table(report)
    yield from _details(report)


def _details(report: ReadinessReport) -> Iterator[str]:
    yield _bullets("What changes of the code are worth here", [twin_text(twin) for twin in report.twins])
    score = report.score
    if score is not None:
        worst = [f"{file.file}: {file.missed} of {file.anchors} missed; {file.evidence}" for file in score.worst_files]
        yield _bullets("Worst files", worst)
        rows = [
            (feature_text(row), f"{row.missed} of {row.of_missed}", f"{row.solved} of {row.of_solved}")
            for row in score.associations
        ]
        title = "## Associations, which are no causes\n\n" if rows else ""
        yield title + Table(("feature", "missed anchors", "solved anchors"), rows).__html__()
    yields = [f"{side.side or 'code'}: {yields_text(side)}" for side in report.facts]
    notes = [note for side in report.facts for note in side.notes]
    yield _bullets("What could be made of the code", [*yields, *notes])
    yield _bullets("Limits", report.limits)
    yield f"Commit {escape(report.facts[0].commit[:12])}; cost {escape(dollars(report.usd if score else 0))}."


def _table(report: ReadinessReport) -> str:
    if report.score is None:
        return _bullets(
            "What could be asked",
            [f"{lack.dimension}: {lack.reason}" for side in report.facts for lack in side.missing],
        )
    return Table(_HEADINGS, [dimension_cells(row) for row in report.score.dimensions]).__html__()


def _bullets(title: str, lines: Sequence[str], level: int = 2) -> str:
    """Return a heading and a list; nothing without lines."""
    if not lines:
        return ""
    return Markdown(f"{'#' * level} {title}\n\n" + "\n".join(f"- {escape(line)}" for line in lines))
