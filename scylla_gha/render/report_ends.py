"""How trials ended: by class, why they did not pass, what is out of the ordinary, and what is not in the rates."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from scylla_gha.model.report import Excluded
from scylla_gha.render.grid import escape, folder, more, raw_table, table
from scylla_gha.render.page import MOST_COLUMNS, Page

_MOST: Final = 50
_MOST_FAILED: Final = 30
_MOST_ODD: Final = 20
_NO_TRIAL: Final = {"missing", "not_started"}


def failures(page: Page) -> Iterator[str]:
    """Outcomes of all trials, and why trials did not pass."""
    report = page.report
    total = Counter[str]()
    for arm in report.arms:
        total.update(arm.outcomes)
    failed = report.failures
    if not failed and set(total) <= {"completed"}:
        return
    yield "\n## Failures\n"
    yield from _outcomes(page, total)
    if failed:
        yield "Why judged trials did not pass, with some of them:"
        rows = ((escape(page.name(one.arm)), escape(one.kind), f"{one.count:,}",
                 " ".join(_trial(page, cell) for cell in one.cells)) for one in failed[:_MOST_FAILED])  # fmt: skip
        yield from raw_table(("arm", "why", "trials", "such as"), rows)
        yield from more(len(failed) - _MOST_FAILED, "more kinds")


def _outcomes(page: Page, total: Counter[str]) -> Iterator[str]:
    kinds = [kind for kind, _ in total.most_common()]
    arms = page.report.arms if len(page.report.arms) <= MOST_COLUMNS else ()
    if not kinds:
        return
    yield "How trials ended (`completed` is not yet passed):"
    rows = ((kind, f"{total[kind]:,}", *(str(arm.outcomes.get(kind, 0)) for arm in arms)) for kind in kinds)
    yield from table(("outcome", "all", *(page.name(arm.arm) for arm in arms)), rows)


def odd(page: Page) -> Iterator[str]:
    """Trials that a person should look at; none is left out of any number for it."""
    found = page.analysis.odd if page.analysis else ()
    if not found:
        return
    yield "\n## Out of the ordinary\n"
    yield "They count like all others; a person should look."
    yield from raw_table(("trial", "what"), ((_trial(page, one.cell), escape(one.what)) for one in found[:_MOST_ODD]))
    yield from more(len(found) - _MOST_ODD, "more trials")


def excluded(page: Page) -> Iterator[str]:
    """Cells without a part in the rates, and why."""
    found = page.report.excluded
    if not found:
        return
    yield f"\n## Not in the rates: {len(found):,}\n"
    kinds = Counter(one.outcome for one in found)
    if len(found) > _MOST:
        yield ", ".join(f"{count:,} {escape(kind)}" for kind, count in kinds.most_common()) + "."
    rows = ((_cell(page, one), escape(one.outcome), escape(one.reason)) for one in found[:_MOST])
    yield from raw_table(("cell", "outcome", "reason"), rows)
    yield from more(len(found) - _MOST)


def excused(page: Page) -> Iterator[str]:
    """Attempts that do not measure the agent, by arm, with those that a later attempt made good."""
    found = page.report.excused
    if not found:
        return
    yield "\n## Excused attempts\n"
    yield "They ended by a fault that is not the agent's, by evidence from outside its box, and count in no rate."
    rows = ((escape(page.name(one.arm)), escape(one.outcome), f"{one.attempts:,}", f"{one.trials:,}",
             escape(one.reason)) for one in found[:_MOST])  # fmt: skip
    yield from raw_table(("arm", "outcome", "attempts", "trials", "one reason"), rows)
    yield from more(len(found) - _MOST)


def _cell(page: Page, one: Excluded) -> str:
    return escape(one.cell) if one.outcome in _NO_TRIAL else _trial(page, one.cell)


def _trial(page: Page, cell: str) -> str:
    """A link, where there is a trial to look at."""
    return escape(cell) if page.report.imported else folder(cell)
