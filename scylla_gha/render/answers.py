"""The verdicts in plain words, the same on a page and in a terminal."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.analysis import Verdict
from scylla_gha.model.report import Comparison
from scylla_gha.render.metrics import value
from scylla_gha.render.page import PASS, Page

MARKS: Final[dict[Verdict, str]] = {"better": "▲", "worse": "▼", "equivalent": "≈", "not_enough_data": "?"}
_NOUNS: Final[dict[Verdict, str]] = {
    "better": "better", "worse": "worse", "equivalent": "equivalent", "not_enough_data": "without enough data",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """One verdict: its mark, what is said, and by which numbers."""

    mark: str
    said: str
    why: str


def answers(page: Page, most: int) -> Iterator[Answer]:
    """At most so many, those that say most first."""
    for one in sorted(page.report.comparisons, key=lambda one: _weight(page, one))[:most]:
        yield Answer(MARKS[one.verdict], _said(page, one), _why(page, one))


def tally(page: Page, most: int) -> str:
    """How many verdicts there are of each kind, where they are more than are shown; else empty."""
    comparisons = page.report.comparisons
    if len(comparisons) <= most:
        return ""
    kinds = Counter(one.verdict for one in comparisons)
    counted = ", ".join(f"{kinds[kind]} {noun}" for kind, noun in _NOUNS.items())
    return f"Of {len(comparisons):,} arms against {page.name(page.baseline) or 'what each changes'}: {counted}."


def _weight(page: Page, one: Comparison) -> tuple[int, float, float]:
    change = page.changes.get(one.arm)
    p = 1.0 if change is None or change.p_adjusted is None else change.p_adjusted
    size = 0.0 if change is None else abs(change.value or 0.0)
    return list(MARKS).index(one.verdict), p, -size


def _said(page: Page, one: Comparison) -> str:
    arm, baseline = page.name(one.arm), page.name(one.baseline)
    if one.verdict == "not_enough_data":
        return f"not enough data to tell {arm} from {baseline}"
    if one.verdict == "equivalent":
        return f"{arm} and {baseline} are equivalent"
    return f"{arm} is {one.verdict} than {baseline}"


def _why(page: Page, one: Comparison) -> str:
    rates = [page.measure(arm, PASS) for arm in (one.arm, one.baseline)]
    known = [value(rate) for rate in rates if rate is not None and rate.value is not None]
    first = f"passes {known[0]} against {known[1]}, " if len(known) == len(rates) else ""
    change = page.changes.get(one.arm)
    left = (
        f"; {change.dropped} scenarios that only one of the two has are left out" if change and change.dropped else ""
    )
    return f"{first}{one.why}{left}"
