"""The report as Markdown: the answer first, then what it rests on, each part only where it says something."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.model.report import Report
from scylla_gha.render.answers import answers, tally
from scylla_gha.render.arms import COUNTS_NOTE, HEADINGS, arm_row
from scylla_gha.render.grid import code, escape, more, raw_table
from scylla_gha.render.notes import Note, marks, notes, told
from scylla_gha.render.page import Page, page_of
from scylla_gha.render.report_changes import changes
from scylla_gha.render.report_ends import excluded, excused, failures, odd
from scylla_gha.render.report_judges import judges
from scylla_gha.render.report_method import method
from scylla_gha.render.report_money import money
from scylla_gha.render.report_scenarios import kinds, scenarios
from scylla_gha.render.report_statistics import statistics
from scylla_gha.render.report_tiers import families, tiers
from scylla_gha.render.report_work import reliability, times, tools, work
from scylla_gha.render.text import totals

_MOST_VERDICTS: Final = 10
_MOST_NOTES: Final = 40
_PARTS: Final = (
    changes, tiers, families, scenarios, kinds, work, reliability, judges, tools, times, money, failures, odd,
    excused, excluded,
)  # fmt: skip


def markdown(report: Report) -> str:
    """The whole report."""
    text = "\n".join(_lines(page_of(report)))
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _lines(page: Page) -> Iterator[str]:
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


def _verdicts(page: Page) -> Iterator[str]:
    counted = tally(page, _MOST_VERDICTS)
    if counted:
        yield f"**{escape(counted)}**\n"
    for one in answers(page, _MOST_VERDICTS):
        yield f"- {one.mark} **{escape(one.said)}**: {escape(one.why)}"
    yield from more(len(page.report.comparisons) - _MOST_VERDICTS, "more verdicts")


def _arms(page: Page, found: Sequence[Note]) -> Iterator[str]:
    if not page.arms:
        return
    if page.left_out:
        yield f"The {len(page.arms)} best and worst of {len(page.report.arms):,} arms, by pass rate.\n"
    noted = marks(found)
    yield from raw_table(HEADINGS, (_row(arm_row(page, arm, wide=True), noted.get(arm.arm, "")) for arm in page.arms))
    yield from more(page.left_out, "more arms")
    shared = f"All arms: {code(page.shared)}. " if page.shared else ""
    small = "; the small numbers are those of the warnings below" if noted else ""
    yield f"{shared}{COUNTS_NOTE}{small}."


def _row(values: Sequence[str], noted: str) -> list[str]:
    first, *others = [escape(value) for value in values]
    return [f"{first} <sup>{noted}</sup>" if noted else first, *others]


def _warnings(page: Page, found: Sequence[Note]) -> Iterator[str]:
    if not found:
        return
    yield "\n## Warnings\n"
    yield from (f"{note.number}. {escape(told(page, note))}" for note in found[:_MOST_NOTES])
    yield from more(len(found) - _MOST_NOTES, "more warnings")
