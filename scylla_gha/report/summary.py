"""Verdicts in words, the headline, and the main table: the same on a page, in a terminal and in a comment."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.counting import counted
from scylla_gha.model.analysis import OVERALL, Verdict
from scylla_gha.model.publication import CommentFacts
from scylla_gha.model.report import ArmSummary, Comparison, Report
from scylla_gha.report.metrics import INFINITE, limits, value
from scylla_gha.report.numbers import (
    UNDEFINED,
    bounds,
    cost_of_pass,
    counts,
    grades,
    interval,
    number,
    percent,
    seconds,
    tokens,
    usd,
)
from scylla_gha.report.view import PASS, ReportView, report_view

MARKS: Final[dict[Verdict, str]] = {"better": "▲", "worse": "▼", "equivalent": "≈", "not_enough_data": "?"}
_NOUNS: Final[dict[Verdict, str]] = {
    "better": "better", "worse": "worse", "equivalent": "equivalent", "not_enough_data": "without enough data",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """One verdict: its mark, the statement, and the numbers behind it."""

    mark: str
    said: str
    why: str


def verdict_lines(page: ReportView, most: int) -> Iterator[VerdictLine]:
    """Yield at most `most` verdicts, the clearest first."""
    ranked = sorted(page.report.comparisons, key=lambda comparison: _weight(page, comparison))
    for comparison in ranked[:most]:
        yield VerdictLine(MARKS[comparison.verdict], _said(page, comparison), _why(page, comparison))


def verdict_counts(page: ReportView, most: int) -> str:
    """Return the number of verdicts of each kind if there are more than `most`; else an empty text."""
    comparisons = page.report.comparisons
    if len(comparisons) <= most:
        return ""
    kinds = Counter(comparison.verdict for comparison in comparisons)
    kinds_said = ", ".join(f"{kinds[kind]} {noun}" for kind, noun in _NOUNS.items())
    return (f"Of {counted(len(comparisons), 'arm')} against {page.name(page.baseline) or 'what each changes'}: "
            f"{kinds_said}.")  # fmt: skip


def _weight(page: ReportView, one: Comparison) -> tuple[int, float, float]:
    change = page.changes.get(one.arm)
    p = 1.0 if change is None or change.p_adjusted is None else change.p_adjusted
    size = 0.0 if change is None else abs(change.value or 0.0)
    return list(MARKS).index(one.verdict), p, -size


def _said(page: ReportView, one: Comparison) -> str:
    arm, baseline = page.name(one.arm), page.name(one.baseline)
    if one.verdict == "not_enough_data":
        return f"not enough data to tell {arm} from {baseline}"
    if one.verdict == "equivalent":
        return f"{arm} and {baseline} are equivalent"
    return f"{arm} is {one.verdict} than {baseline}"


def _why(page: ReportView, one: Comparison) -> str:
    rates = [page.measure(arm, PASS) for arm in (one.arm, one.baseline)]
    known = [value(rate) for rate in rates if rate is not None and rate.value is not None]
    first = f"passes {known[0]} against {known[1]}, " if len(known) == len(rates) else ""
    change = page.changes.get(one.arm)
    left = (
        f"; left out: {counted(change.dropped, 'scenario')} that only one of the two has"
        if change and change.dropped
        else ""
    )
    return f"{first}{one.why}{left}"


Overall = Verdict | Literal["no_baseline"]
_CONCLUSIONS: Final[dict[Overall, Literal["success", "failure", "neutral"]]] = {
    "worse": "failure", "not_enough_data": "neutral", "no_baseline": "neutral", "better": "success",
    "equivalent": "success",
}  # fmt: skip
NO_BASELINE: Final = "There is no baseline to compare with yet"


def overall(report: Report) -> Overall:
    """Return one verdict on all arms: worse if any arm is; better or equivalent only if enough is known of all."""
    found = {comparison.verdict for comparison in report.comparisons}
    return next((verdict for verdict in OVERALL if verdict in found), "no_baseline")


def conclusion(report: Report, facts: CommentFacts) -> Literal["success", "failure", "neutral"]:
    """Return the conclusion of a check: by the experiment's gate if it has one, else by the verdict."""
    if facts.has_gate:
        return "failure" if facts.gate_fault else "success"
    return _CONCLUSIONS[overall(report)]


def said(answer: VerdictLine) -> str:
    """Return a verdict in one line."""
    return f"{answer.mark} {answer.said}: {answer.why}"


def headline(page: ReportView) -> str:
    """Return the verdict of a single comparison, or the number of verdicts of each kind."""
    if not page.report.comparisons:
        return NO_BASELINE
    counted = verdict_counts(page, 1)
    return f"{MARKS[_verdict(page.report)]} {counted}" if counted else said(next(verdict_lines(page, 1)))


def title(report: Report) -> str:
    """Return the headline of a report."""
    return headline(report_view(report))


def _verdict(report: Report) -> Verdict:
    found = overall(report)
    return "not_enough_data" if found == "no_baseline" else found


HEADINGS = ("arm", "n", "pass", "95 %", "score", "grades", "USD", "USD/pass", "time", "tokens")
COUNTS_NOTE = "n: planned/ran/judged/scored, or one number where the four are equal"


def arm_row(page: ReportView, arm: ArmSummary, *, wide: bool = False) -> tuple[str, ...]:
    """Return the cells of one arm, in the order of `HEADINGS`; means over scenarios if known, else over trials.

    Args:
        page: where measures are looked up.
        arm: the arm.
        wide: whether there is room for the interval of the cost of a pass.
    """
    rate, score = page.measure(arm.arm, PASS), page.measure(arm.arm, "score")
    time = page.measure(arm.arm, "seconds")
    return (
        page.name(arm.arm),
        counts(arm.counts),
        (percent(arm.pass_rate) if rate is None else value(rate)) + bounds(arm),
        interval(arm) if rate is None else limits(rate),
        number(arm.mean_score) if score is None else value(score),
        grades(arm),
        usd(arm.usd),
        _cost(page, arm, wide=wide),
        seconds(arm.mean_seconds) if time is None else value(time),
        tokens(arm.tokens),
    )


def _cost(page: ReportView, arm: ArmSummary, *, wide: bool) -> str:
    made = page.measure(arm.arm, "cost_of_pass")
    if made is None:
        return cost_of_pass(arm)
    said = value(made)
    if said == INFINITE and not arm.usd:
        return UNDEFINED  # nothing was spent, and nothing came of it
    between = limits(made)
    return said if not wide or between == UNDEFINED else f"{said} {between}"
