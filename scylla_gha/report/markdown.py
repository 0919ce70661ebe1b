"""The report as Markdown: the answer first, then its evidence; sections without content are left out."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.report import Report
from scylla_gha.report.markdown_table import code, escape, more, raw_table
from scylla_gha.report.numbers import totals
from scylla_gha.report.sections.comparisons import changes, families, tiers
from scylla_gha.report.sections.method import method
from scylla_gha.report.sections.metric_sections import money, reliability, times, tools, work
from scylla_gha.report.sections.outcomes import excluded, excused, failures, judges, odd
from scylla_gha.report.sections.scenarios import kinds, scenarios
from scylla_gha.report.sections.statistics import statistics
from scylla_gha.report.summary import COUNTS_NOTE, HEADINGS, arm_row, verdict_counts, verdict_lines
from scylla_gha.report.view import ReportNote, ReportView, marks, note_text, notes, report_view
from scylla_gha.store.records import write_text
from scylla_gha.store.run_folder import RunFolder

_MOST_VERDICTS: Final = 10
_MOST_NOTES: Final = 40
_PARTS: Final = (
    changes, tiers, families, scenarios, kinds, work, reliability, judges, tools, times, money, failures, odd,
    excused, excluded,
)  # fmt: skip


def markdown(report: Report) -> str:
    """Render the whole report."""
    text = "\n".join(_lines(report_view(report)))
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _lines(page: ReportView) -> Iterator[str]:
    report, found = page.report, notes(page)
    yield f"# {escape(report.experiment)}"
    yield f"\n{escape(report.question)}\n"
    yield from _verdicts(page)
    yield f"\n**{totals(report)}** (scylla-gha {report.toolkit_version})\n"
    yield from _arms(page, found)
    for part in _PARTS:
        yield from part(page)
    yield from _warnings(page, found)
    yield from statistics(page)
    yield from method(page)


def _verdicts(page: ReportView) -> Iterator[str]:
    counted = verdict_counts(page, _MOST_VERDICTS)
    if counted:
        yield f"**{escape(counted)}**\n"
    for line in verdict_lines(page, _MOST_VERDICTS):
        yield f"- {line.mark} **{escape(line.said)}**: {escape(line.why)}"
    yield from more(len(page.report.comparisons) - _MOST_VERDICTS, "verdict")


def _arms(page: ReportView, found: Sequence[ReportNote]) -> Iterator[str]:
    if not page.arms:
        return
    if page.left_out:
        yield f"The {len(page.arms)} best and worst of {counted(len(page.report.arms), 'arm')}, by pass rate.\n"
    noted = marks(found)
    yield from raw_table(HEADINGS, (_row(arm_row(page, arm, wide=True), noted.get(arm.arm, "")) for arm in page.arms))
    yield from more(page.left_out, "arm")
    shared = f"All arms: {code(page.shared)}. " if page.shared else ""
    small = "; the small numbers are those of the warnings below" if noted else ""
    yield f"{shared}{COUNTS_NOTE}{small}."


def _row(values: Sequence[str], noted: str) -> list[str]:
    first, *others = [escape(value) for value in values]
    return [f"{first} <sup>{noted}</sup>" if noted else first, *others]


def _warnings(page: ReportView, found: Sequence[ReportNote]) -> Iterator[str]:
    if not found:
        return
    yield "\n## Warnings\n"
    yield from (f"{note.number}. {escape(note_text(page, note))}" for note in found[:_MOST_NOTES])
    yield from more(len(found) - _MOST_NOTES, "warning")


def write_report(made: Report, folder: RunFolder) -> None:
    """Write `report.md` into a run folder."""
    write_text(folder.report("md"), markdown(made))
