"""The report as a comment on a pull request: the answer first, ten rows, the rest folded, within GitHub's limit.

Untrusted text (names, reasons, warnings) is escaped and cut; links lead only to the run, and are built from its number.
The first line is the marker by which the comment is found, the second its state; no untrusted text precedes them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from scylla_gha.model.publication import CommentFacts, PastVerdict
from scylla_gha.model.record import Sha
from scylla_gha.model.report import Report
from scylla_gha.report import comment_sections as parts
from scylla_gha.report.comment_sections import CommentSection
from scylla_gha.report.markdown_table import code, escape, fold, raw_table
from scylla_gha.report.numbers import REPLAYED, clipped, usd
from scylla_gha.report.summary import MARKS, Overall, headline, overall, verdict_lines
from scylla_gha.report.view import ReportView, report_view

MOST_BYTES: Final = 60_000  # of the 65,536 that GitHub takes
_MOST_ANSWERS: Final = 3
_MOST_LINE: Final = 400
_ALERTS: Final[dict[Overall, str]] = {
    "worse": "CAUTION", "not_enough_data": "WARNING", "no_baseline": "NOTE", "equivalent": "NOTE", "better": "TIP",
}  # fmt: skip
_SECTIONS: Final[tuple[Callable[[ReportView, CommentFacts], CommentSection], ...]] = (
    parts.arms, lambda page, _: parts.flips(page, worse=True), parts.missing, parts.infrastructure, parts.judges,
    lambda page, _: parts.flips(page, worse=False), parts.warnings, parts.matrix, parts.entrants, parts.costs,
    parts.method,
)  # fmt: skip
# What is left out first where there is no room; the numbers of _SECTIONS
_LEAVE_OUT: Final = (7, 8, 6, 9, 10, 5, 4, 3, 2, 1, 0)


def marker(suite: str) -> str:
    """Return the first line of a suite's comment."""
    return f"<!-- scylla:v1 suite={suite} -->"


def comment(
    report: Report,
    facts: CommentFacts,
    *,
    newest: Sha | None = None,
    past: Sequence[PastVerdict] = (),
    memory: str = "",
) -> str:
    """Render the comment without untrusted HTML, mentions, links or keywords; at most 60,000 bytes of UTF-8.

    Args:
        report: the answer.
        facts: the run, pull request and commits.
        newest: the pull request's head when it is posted.
        past: earlier verdicts, latest first.
        memory: the second line.
    """
    page = report_view(report)
    top = "\n".join((marker(facts.suite), *([memory] if memory else ()), *_top(page, facts, newest)))
    bottom = "\n".join(_bottom(report, facts, past))
    sections = [make(page, facts) for make in _SECTIONS]
    return _fitted(top, sections, bottom, facts)


def _fitted(top: str, sections: Sequence[CommentSection], bottom: str, facts: CommentFacts) -> str:
    """Return all sections if they fit; else leave out the least important ones, and name them."""
    left_out: list[int] = []
    for following in (*_LEAVE_OUT, None):
        shown = [part.text for at, part in enumerate(sections) if part.text and at not in left_out]
        gone = [part.holds for at, part in enumerate(sections) if part.text and at in left_out]
        text = re.sub(r"\n{3,}", "\n\n", "\n\n".join((top, *shown, *_gone(gone, facts), bottom))).rstrip() + "\n"
        if len(text.encode()) <= MOST_BYTES or following is None:
            return text
        left_out.append(following)
    raise AssertionError("the last round returns")


def _gone(holds: Sequence[str], facts: CommentFacts) -> Iterator[str]:
    if holds:
        yield (f"**Cut**: a comment holds no more than {MOST_BYTES:,} bytes. Left out: {escape('; '.join(holds))}. "
               f"All of it is in [the run]({facts.origin.url}).")  # fmt: skip


def _top(page: ReportView, facts: CommentFacts, newest: Sha | None) -> Iterator[str]:
    yield f"> [!{_ALERTS[overall(page.report)]}]"
    yield f"> **{escape(clipped(headline(page), _MOST_LINE))}**"
    if len(page.report.comparisons) > 1:
        for line in verdict_lines(page, _MOST_ANSWERS):
            said, why = escape(clipped(line.said, _MOST_LINE)), escape(clipped(line.why, _MOST_LINE))
            yield f"> - {line.mark} **{said}**: {why}"
    if page.report.replayed:
        yield f">\n> {REPLAYED}"
    if facts.gate_fault:
        yield f">\n> {escape(clipped(facts.gate_fault, _MOST_LINE))}"
    yield ""
    if newest is not None and facts.head is not None and newest != facts.head:
        yield (
            f"**Out of date**: this is about {code(facts.head[:7])}, and the head is now {code(newest[:7])}. "
            f"Comment `{_order(facts)} {newest[:10]}` to evaluate that.\n"
        )
    yield " · ".join(_facts(page, facts))
    if facts.from_fork:
        yield ("\nThe numbers come from a job of the fork, which has no rights in this repository and can say what it "
               "likes: do not rest a merge on them alone.")  # fmt: skip


def _facts(page: ReportView, facts: CommentFacts) -> Iterator[str]:
    yield f"**{code(facts.experiment)}**"
    heads = (f"head {code(facts.head[:7])}" if facts.head else "", _base(facts))
    if any(heads):
        yield " against ".join(filter(None, heads))
    counts = page.report.counts
    yield f"**{counts.planned:,} planned, {counts.ran:,} ran, {counts.judged:,} judged, {counts.scored:,} scored**"
    spent = [arm.usd for arm in page.report.arms]
    known = [each for each in spent if each is not None]
    yield f"agents {usd(sum(known) if len(known) == len(spent) else None)}, judges {usd(page.report.judge_usd)}"
    if facts.minutes is not None:
        yield f"{facts.minutes:.0f} min"
    yield f"[run]({facts.origin.url})"
    if facts.branch:
        yield f"[results]({facts.origin.results(facts.branch)})"


def _base(facts: CommentFacts) -> str:
    name = escape(clipped(facts.base_name, 80))
    return " ".join(filter(None, (name, code(facts.base[:7]) if facts.base else "")))


def _order(facts: CommentFacts) -> str:
    """Return the slash command that starts this evaluation."""
    return f"/scylla {'compare' if facts.base else 'evaluate'} {facts.experiment}"


def _bottom(report: Report, facts: CommentFacts, past: Sequence[PastVerdict]) -> Iterator[str]:
    again = _order(facts)
    yield from fold("Run it again", (
        f"On this pull request, as a comment of its own: `{again} --only '*--ARM--*' --repetitions 5`",
        "", f"On your machine: `scylla-gha evaluate {facts.experiment}`; why a trial failed: `scylla-gha show CELL`",
    ))  # fmt: skip
    yield from fold("Earlier verdicts", _past(past, facts) if past else ())
    digest = f" · plan {code(facts.digest[:12])}" if facts.digest else ""
    yield (f"<sub>Again: `{again}`, narrowed by `--only GLOB`, `--repetitions N` or a commit · "
           f"scylla-gha {escape(clipped(report.toolkit_version, 40))}{digest} · "
           f"{facts.at:%Y-%m-%d %H:%M} UTC</sub>")  # fmt: skip


def _past(past: Sequence[PastVerdict], facts: CommentFacts) -> Iterator[str]:
    rows = (
        (
            f"{verdict.at:%Y-%m-%d %H:%M}",
            code(verdict.head[:7]) if verdict.head else "-",
            _word(verdict),
            escape(verdict.said),
            f"[run]({facts.origin.model_copy(update={'run': verdict.run}).url})",
        )
        for verdict in past
    )
    yield from raw_table(("when", "head", "verdict", "what", "run"), rows)


def _word(one: PastVerdict) -> str:
    mark = next((mark for verdict, mark in MARKS.items() if verdict == one.verdict), "")
    return f"{mark} {escape(one.verdict.replace('_', ' '))}".strip()


def pointer(suite: str, url: str) -> str:
    """Return the text that replaces a superseded comment; its marker is not the suite's any more."""
    return f"<!-- scylla:old suite={suite} -->\nThe verdict has changed: [see the newer comment]({url}).\n"
