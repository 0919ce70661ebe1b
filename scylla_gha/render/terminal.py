"""The report in a terminal: the answer, the main table, and what to be careful about, on one screen."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from scylla_gha.model.report import Report
from scylla_gha.render.answers import answers, tally
from scylla_gha.render.arms import COUNTS_NOTE, HEADINGS, arm_row
from scylla_gha.render.notes import notes, told
from scylla_gha.render.page import Page, page_of
from scylla_gha.render.text import plain, totals

_MOST_ARMS: Final = 10
_MOST_VERDICTS: Final = 4
_MOST_EXCLUDED: Final = 3
_MOST_NOTES: Final = 5
_ARM: Final = 16  # columns that a name has at least
_GAP: Final = 2
_SPARED: Final = ("tokens", "grades", "score", "time", "USD")  # first to go where it is narrow


def show(report: Report, console: Console) -> None:
    """Print the verdicts, the arms, the counts, what is excluded, and the warnings."""
    console.print(Group(*_parts(page_of(report, _MOST_ARMS), console.width)))


def _parts(page: Page, width: int) -> Iterator[RenderableType]:
    report = page.report
    yield _line(f"{report.experiment}: {report.question}")
    yield from map(_line, _verdicts(page))
    yield _table(page, width)
    if page.left_out:
        yield _line(f"the best and the worst arms; {page.left_out:,} more, in report.json")
    yield _line(COUNTS_NOTE)
    if page.shared:
        yield _line(f"all arms: {page.shared}")
    yield _line(totals(report))
    yield from map(_line, _doubts(page))


def _verdicts(page: Page) -> Iterator[str]:
    counted = tally(page, _MOST_VERDICTS)
    if counted:
        yield counted
    for one in answers(page, _MOST_VERDICTS):
        yield f"{one.mark} {one.said}: {one.why}"
    yield from _more(len(page.report.comparisons) - _MOST_VERDICTS, "verdicts, in report.json")


def _table(page: Page, width: int) -> Table:
    rows = [dict(zip(HEADINGS, arm_row(page, arm), strict=True)) for arm in page.arms]
    made = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    headings = _fitting(rows, width)
    for heading in headings:
        made.add_column(_line(heading), overflow="fold", no_wrap=heading != "arm")
    for row in rows:
        made.add_row(*(_line(row[heading]) for heading in headings))
    return made


def _fitting(rows: Sequence[dict[str, str]], width: int) -> list[str]:
    """The columns that there is room for, so that no number is cut; names of arms may take several lines."""
    widths = {heading: max(cell_len(plain(text)) for text in (heading, *(row[heading] for row in rows)))
              for heading in HEADINGS}  # fmt: skip
    widths["arm"] = min(widths["arm"], _ARM)
    headings = list(HEADINGS)
    for heading in _SPARED:
        if sum(widths[each] + _GAP for each in headings) <= width:
            break
        headings.remove(heading)
    return headings


def _doubts(page: Page) -> Iterator[str]:
    left, found = page.report.excluded, notes(page)
    yield from (f"not in the rates: {one.cell}: {one.outcome}: {one.reason}" for one in left[:_MOST_EXCLUDED])
    yield from _more(len(left) - _MOST_EXCLUDED, "cells, in report.json")
    yield from (f"warning: {told(page, note)}" for note in found[:_MOST_NOTES])
    yield from _more(len(found) - _MOST_NOTES, "warnings, in report.md")


def _more(left_out: int, where: str) -> Iterator[str]:
    if left_out > 0:
        yield f"and {left_out:,} more {where}"


def _line(text: str) -> Text:
    return Text(plain(text))
