"""The whole report in a word and a line, for where there is no room for more."""

from typing import Final, Literal

from scylla_gha.model.analysis import OVERALL, Verdict
from scylla_gha.model.posting import Facts
from scylla_gha.model.report import Report
from scylla_gha.render.answers import MARKS, Answer, answers, tally
from scylla_gha.render.page import Page, page_of

Overall = Verdict | Literal["no_baseline"]
_CONCLUSIONS: Final[dict[Overall, Literal["success", "failure", "neutral"]]] = {
    "worse": "failure", "not_enough_data": "neutral", "no_baseline": "neutral", "better": "success",
    "equivalent": "success",
}  # fmt: skip
NO_BASELINE: Final = "There is no baseline to compare with yet"


def overall(report: Report) -> Overall:
    """One verdict on all arms: worse if one is, better or equivalent only if enough is known of all."""
    found = {one.verdict for one in report.comparisons}
    return next((verdict for verdict in OVERALL if verdict in found), "no_baseline")


def conclusion(report: Report, facts: Facts) -> Literal["success", "failure", "neutral"]:
    """Of a check: by the experiment's gate where it has one, else by the verdict."""
    if facts.has_gate:
        return "failure" if facts.gate_fault else "success"
    return _CONCLUSIONS[overall(report)]


def said(answer: Answer) -> str:
    """An answer in one line."""
    return f"{answer.mark} {answer.said}: {answer.why}"


def headline(page: Page) -> str:
    """The first line: the verdict where there is one, how many there are of each kind where there are several."""
    if not page.report.comparisons:
        return NO_BASELINE
    counted = tally(page, 1)
    return f"{MARKS[_verdict(page.report)]} {counted}" if counted else said(next(answers(page, 1)))


def title(report: Report) -> str:
    """The headline of a report."""
    return headline(page_of(report))


def _verdict(report: Report) -> Verdict:
    found = overall(report)
    return "not_enough_data" if found == "no_baseline" else found
