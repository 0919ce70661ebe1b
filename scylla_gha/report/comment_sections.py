"""Sections of a comment; each has a short description for the case that it is left out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import Contrast, Verdict
from scylla_gha.model.publication import CommentFacts
from scylla_gha.model.report import ArmSummary, Comparison, Excluded
from scylla_gha.report.markdown_table import SAFE_NAME, code, escape, fold, raw_table, table
from scylla_gha.report.metrics import change, change_limits, limits, value
from scylla_gha.report.numbers import UNDEFINED, bounds, clipped, interval, percent, usd
from scylla_gha.report.sections.method import HEADLINE, POOLED
from scylla_gha.report.sections.scenarios import scenarios
from scylla_gha.report.summary import MARKS
from scylla_gha.report.view import PASS, ReportView, note_text, notes

MOST_ROWS: Final = 10
_MOST_CELLS: Final = 5
_MOST_ENTRANTS: Final = 20
_MOST_NAME: Final = 80
_MOST_TEXT: Final = 200
_NO_TRIAL: Final = {"missing", "not_started"}
_POOR: Final = 0.667  # alpha, below which Krippendorff draws not even tentative conclusions
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("worse", "not_enough_data", "equivalent", "better")


@dataclass(frozen=True, slots=True)
class CommentSection:
    """A section, and its description for the case that it is left out."""

    text: str
    holds: str


def part(holds: str, lines: Iterable[str]) -> CommentSection:
    """Return a section of lines; empty without lines."""
    return CommentSection("\n".join(lines).strip("\n"), holds)


def name_of(page: ReportView, arm: str) -> str:
    """Return an arm's short name, cut and escaped."""
    return escape(clipped(page.name(arm), _MOST_NAME))


def arms(page: ReportView, facts: CommentFacts) -> CommentSection:
    """Return a table of at most ten arms, worst first; against the baseline if there is one."""
    if page.report.comparisons:
        return _compared(page, facts)
    ranked = sorted(page.report.arms, key=lambda arm: 2.0 if arm.pass_rate is None else arm.pass_rate)
    rows = ((name_of(page, arm.arm), *map(escape, (*_rate(page, arm), f"{arm.passed}/{arm.counts.judged}",
             usd(arm.usd))), _evidence(page, arm.arm, facts)) for arm in ranked[:MOST_ROWS])  # fmt: skip
    lines = raw_table(("arm", "pass", "95 %", "passed", "USD", "evidence"), rows) if ranked else iter(())
    return part(counted(len(ranked), "arm"), (*lines, *_others(len(ranked) - MOST_ROWS, "arm")))


def _compared(page: ReportView, facts: CommentFacts) -> CommentSection:
    ranked = sorted(page.report.comparisons, key=lambda one: _rank(page, one))
    summaries = {arm.arm: arm for arm in page.report.arms}
    costs = _costs(page)
    rows = (_row(page, one, summaries.get(one.arm), costs.get(one.arm), facts) for one in ranked[:MOST_ROWS])
    lines = [*raw_table(("arm", "verdict", "pass", "change", "95 %", "w/t/l", "cost", "evidence"), rows)]
    base = summaries.get(page.baseline)
    if base is not None:
        rate, between = _rate(page, base)
        lines.append(f"Baseline {name_of(page, base.arm)}: passes {escape(rate)} {escape(between)}, {usd(base.usd)}. "
                     "w/t/l: scenarios won, tied, lost; cost: of a trial, against the baseline's.")  # fmt: skip
    return part(counted(len(ranked), "verdict"), (*lines, *_others(len(ranked) - MOST_ROWS, "arm")))


def _rank(page: ReportView, one: Comparison) -> tuple[int, float]:
    found = page.changes.get(one.arm)
    size = found.value if found is not None and found.value is not None else 2.0
    return _WORST_FIRST.index(one.verdict), size


def _costs(page: ReportView) -> dict[str, Contrast]:
    found = page.analysis.contrasts if page.analysis else ()
    held = {comparison.arm: comparison.baseline for comparison in page.report.comparisons}
    return {one.arm: one for one in found if one.metric == "usd" and one.baseline == held.get(one.arm)}


def _row(
    page: ReportView, one: Comparison, arm: ArmSummary | None, cost: Contrast | None, facts: CommentFacts
) -> Sequence[str]:
    found = page.changes.get(one.arm)
    plain = (
        f"{MARKS[one.verdict]} {one.verdict.replace('_', ' ')}", _rate(page, arm)[0] if arm else UNDEFINED,
        change(found) if found else UNDEFINED, change_limits(found) if found else UNDEFINED,
        "/".join(map(str, found.wins)) if found else UNDEFINED,
        f"{change(cost)} {change_limits(cost)}" if cost and cost.value is not None else UNDEFINED,
    )  # fmt: skip
    return (name_of(page, one.arm), *map(escape, plain), _evidence(page, one.arm, facts))


def _rate(page: ReportView, arm: ArmSummary) -> tuple[str, str]:
    """Return pass rate and interval, as in the report."""
    found = page.measure(arm.arm, PASS)
    rate, between = (percent(arm.pass_rate), interval(arm)) if found is None else (value(found), limits(found))
    return rate + bounds(arm), between


def _evidence(page: ReportView, arm: str, facts: CommentFacts) -> str:
    """Return a failed trial of an arm, with a link to its record."""
    cell = next((cell for failure in page.report.failures if failure.arm == arm for cell in failure.cells), None)
    return UNDEFINED if cell is None else _link(cell, facts)


def _link(cell: str, facts: CommentFacts) -> str:
    short = clipped(cell, 2 * _MOST_NAME)
    return f"[{escape(short)}]({facts.origin.artifacts})" if SAFE_NAME.fullmatch(cell) else escape(short)


def _others(left_out: int, noun: str, plural: str = "") -> Iterator[str]:
    if left_out > 0:
        yield f"\nand {counted(left_out, f'more {noun}', plural and f'more {plural}')}, in the report\n"


def flips(page: ReportView, *, worse: bool) -> CommentSection:
    """Return the scenarios that an arm passes less (or more) often than the baseline; greatest change first."""
    found = sorted(_flips(page, worse=worse))
    word = "worse" if worse else "better"
    rows = ((escape(clipped(scenario, _MOST_NAME)), name_of(page, arm), before, after)
            for _, scenario, arm, before, after in found[:MOST_ROWS])  # fmt: skip
    lines = [
        *raw_table(("scenario", "arm", "baseline", "arm passes"), rows),
        *_others(len(found) - MOST_ROWS, "of them", "of them"),
    ]
    heading = f"Scenarios that went {word}: {len(found):,}"
    if not found:
        return CommentSection("", heading)
    return part(heading, (f"**{heading}** (passed of judged)", *lines) if worse else fold(heading, lines))


def _flips(page: ReportView, *, worse: bool) -> Iterator[tuple[float, str, str, str, str]]:
    for row in page.report.scenarios:
        for comparison in page.report.comparisons:
            (before, judged), (passed, of) = (
                row.passed.get(arm, (0, 0)) for arm in (comparison.baseline, comparison.arm)
            )
            change_of = passed / of - before / judged if of and judged else 0.0
            if (change_of < 0) if worse else (change_of > 0):
                yield -abs(change_of), row.scenario, comparison.arm, f"{before}/{judged}", f"{passed}/{of}"


def missing(page: ReportView, facts: CommentFacts) -> CommentSection:  # noqa: ARG001 parts have one form
    """Return the planned cells without a trial."""
    return _excluded(page, "Missing", "planned, but without a trial", lambda one: one.outcome in _NO_TRIAL)


def infrastructure(page: ReportView, facts: CommentFacts) -> CommentSection:  # noqa: ARG001
    """Return the trials that do not measure the agent, by outcome."""
    return _excluded(page, "Not in the rates", "ended by no doing of the agent, or were not judged",
                     lambda one: one.outcome not in _NO_TRIAL)  # fmt: skip


def _excluded(page: ReportView, title: str, what: str, wanted: Callable[[Excluded], bool]) -> CommentSection:
    found = [cell for cell in page.report.excluded if wanted(cell)]
    kinds = Counter(one.outcome for one in found)
    heading = f"{title}: {len(found):,}"
    if not found:
        return CommentSection("", heading)
    counted = ", ".join(f"{count:,} {escape(clipped(kind, _MOST_NAME))}" for kind, count in kinds.most_common(10))
    rows = (tuple(escape(clipped(text, most)) for text, most in
                  ((one.cell, 2 * _MOST_NAME), (one.outcome, _MOST_NAME), (one.reason, _MOST_TEXT)))
            for one in found[:_MOST_CELLS])  # fmt: skip
    return part(heading, (f"**{heading}**, {what}: {counted}.", *raw_table(("cell", "outcome", "reason"), rows),
                          *_others(len(found) - _MOST_CELLS, "cell")))  # fmt: skip


def judges(page: ReportView, facts: CommentFacts) -> CommentSection:  # noqa: ARG001
    """Return a warning if the judges disagree."""
    found = page.analysis.agreement if page.analysis else None
    if found is None or found.alpha is None or found.alpha >= _POOR:
        return CommentSection("", "")
    said = (f"**The judges disagree**: Krippendorff's alpha is {found.alpha:.2f} over "
            f"{counted(found.trials, 'trial')}; scores depend on the judge.")  # fmt: skip
    return CommentSection(said, "judges that disagree")


def matrix(page: ReportView, facts: CommentFacts) -> CommentSection:  # noqa: ARG001
    """Return the table of all scenarios by all arms, as in the report."""
    lines = list(islice(scenarios(page), 1, None))
    return part(f"matrix of {counted(len(page.report.scenarios), 'scenario')} and "
                f"{counted(len(page.report.arms), 'arm')}",
                fold("All scenarios", lines))  # fmt: skip


def entrants(page: ReportView, facts: CommentFacts) -> CommentSection:
    """Return the agents, versions and models of the arms."""
    rows = [
        (clipped(page.name(entrant.arm), _MOST_NAME), entrant.agent, entrant.version or "?", entrant.model or UNDEFINED)
        for entrant in facts.entrants[:_MOST_ENTRANTS]
    ]
    lines = [*table(("arm", "agent", "version", "model"), rows)] if rows else []
    if page.shared and lines:
        lines.append(f"All arms: {code(clipped(page.shared, _MOST_NAME))}.")
    lines += _others(len(facts.entrants) - _MOST_ENTRANTS, "arm")
    return part(f"models and versions of {counted(len(facts.entrants), 'arm')}", fold("Models and versions", lines))


def costs(page: ReportView, facts: CommentFacts) -> CommentSection:  # noqa: ARG001
    """Return the costs of agents and judges."""
    ranked = sorted(page.report.arms, key=lambda arm: -(arm.usd or 0.0))
    if not any(arm.usd is None or arm.usd > 0 for arm in ranked) and not page.report.judge_usd:
        return CommentSection("", "costs")
    rows = [(clipped(page.name(arm.arm), _MOST_NAME), usd(arm.usd)) for arm in ranked[:MOST_ROWS]]
    lines = (*table(("", "USD"), (*rows, ("judges and their controls", usd(page.report.judge_usd)))),
             *_others(len(ranked) - MOST_ROWS, "arm"))  # fmt: skip
    return part(f"costs of {counted(len(ranked), 'arm')}", fold("Costs", lines))


def method(page: ReportView, facts: CommentFacts) -> CommentSection:
    """Return the explanation of the verdict."""
    points = counted(100 * (facts.margin or 0), "point", form="g")
    margin = () if facts.margin is None else (f"A difference of {points} counts as none.\n",)
    text = HEADLINE if page.analysis else POOLED
    return part("how the verdict was computed", fold("How the verdict was computed", (*margin, *text.splitlines())))


def warnings(page: ReportView, facts: CommentFacts) -> CommentSection:  # noqa: ARG001
    """Return the warnings."""
    found = notes(page)
    lines = [f"{note.number}. {escape(clipped(note_text(page, note), _MOST_TEXT))}" for note in found[:MOST_ROWS]]
    return part(counted(len(found), "warning"),
                fold(f"Warnings: {len(found):,}", (*lines, *_others(len(found) - MOST_ROWS, "warning"))))  # fmt: skip
