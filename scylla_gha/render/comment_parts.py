"""The parts of a comment: each is one section, and says how much it holds, in case there is no room for it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scylla_gha.model.analysis import Contrast, Verdict
from scylla_gha.model.posting import Facts
from scylla_gha.model.report import ArmSummary, Comparison, Excluded
from scylla_gha.render.answers import MARKS
from scylla_gha.render.grid import SAFE_NAME, code, escape, fold, raw_table, table
from scylla_gha.render.metrics import change, change_limits, limits, value
from scylla_gha.render.notes import notes, told
from scylla_gha.render.page import PASS, Page
from scylla_gha.render.report_method import HEADLINE, POOLED
from scylla_gha.render.report_scenarios import scenarios
from scylla_gha.render.text import UNDEFINED, bounds, clipped, interval, percent, usd

MOST_ROWS: Final = 10
_MOST_CELLS: Final = 5
_MOST_ENTRANTS: Final = 20
_MOST_NAME: Final = 80
_MOST_TEXT: Final = 200
_NO_TRIAL: Final = {"missing", "not_started"}
_POOR: Final = 0.667  # alpha, below which Krippendorff draws not even tentative conclusions
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("worse", "not_enough_data", "equivalent", "better")


@dataclass(frozen=True, slots=True)
class Part:
    """A section, and what is said of it where it is left out."""

    text: str
    holds: str


def part(holds: str, lines: Iterable[str]) -> Part:
    """A section of lines; empty where there are none."""
    return Part("\n".join(lines).strip("\n"), holds)


def name_of(page: Page, arm: str) -> str:
    """An arm's short name, no longer than there is room for, escaped."""
    return escape(clipped(page.name(arm), _MOST_NAME))


def arms(page: Page, facts: Facts) -> Part:
    """At most ten arms, worst first; against the baseline where there is one."""
    if page.report.comparisons:
        return _compared(page, facts)
    ranked = sorted(page.report.arms, key=lambda arm: 2.0 if arm.pass_rate is None else arm.pass_rate)
    rows = ((name_of(page, arm.arm), *map(escape, (*_rate(page, arm), f"{arm.passed}/{arm.counts.judged}",
             usd(arm.usd))), _evidence(page, arm.arm, facts)) for arm in ranked[:MOST_ROWS])  # fmt: skip
    lines = raw_table(("arm", "pass", "95 %", "passed", "USD", "evidence"), rows) if ranked else iter(())
    return part(f"{len(ranked):,} arms", (*lines, *_others(len(ranked) - MOST_ROWS, "arms")))


def _compared(page: Page, facts: Facts) -> Part:
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
    return part(f"{len(ranked):,} verdicts", (*lines, *_others(len(ranked) - MOST_ROWS, "arms")))


def _rank(page: Page, one: Comparison) -> tuple[int, float]:
    found = page.changes.get(one.arm)
    size = found.value if found is not None and found.value is not None else 2.0
    return _WORST_FIRST.index(one.verdict), size


def _costs(page: Page) -> dict[str, Contrast]:
    found = page.analysis.contrasts if page.analysis else ()
    held = {one.arm: one.baseline for one in page.report.comparisons}
    return {one.arm: one for one in found if one.metric == "usd" and one.baseline == held.get(one.arm)}


def _row(page: Page, one: Comparison, arm: ArmSummary | None, cost: Contrast | None, facts: Facts) -> Sequence[str]:
    found = page.changes.get(one.arm)
    plain = (
        f"{MARKS[one.verdict]} {one.verdict.replace('_', ' ')}", _rate(page, arm)[0] if arm else UNDEFINED,
        change(found) if found else UNDEFINED, change_limits(found) if found else UNDEFINED,
        "/".join(map(str, found.wins)) if found else UNDEFINED,
        f"{change(cost)} {change_limits(cost)}" if cost and cost.value is not None else UNDEFINED,
    )  # fmt: skip
    return (name_of(page, one.arm), *map(escape, plain), _evidence(page, one.arm, facts))


def _rate(page: Page, arm: ArmSummary) -> tuple[str, str]:
    """The headline's pass rate and interval, as in the report."""
    found = page.measure(arm.arm, PASS)
    rate, between = (percent(arm.pass_rate), interval(arm)) if found is None else (value(found), limits(found))
    return rate + bounds(arm), between


def _evidence(page: Page, arm: str, facts: Facts) -> str:
    """A trial that did not pass, with where its record is."""
    cell = next((cell for one in page.report.failures if one.arm == arm for cell in one.cells), None)
    return UNDEFINED if cell is None else _link(cell, facts)


def _link(cell: str, facts: Facts) -> str:
    short = clipped(cell, 2 * _MOST_NAME)
    return f"[{escape(short)}]({facts.origin.artifacts})" if SAFE_NAME.fullmatch(cell) else escape(short)


def _others(left_out: int, what: str) -> Iterator[str]:
    if left_out > 0:
        yield f"\nand {left_out:,} more {what}, in the report\n"


def flips(page: Page, *, worse: bool) -> Part:
    """Scenarios that an arm passes less, or more, often than the baseline does; the greatest change first."""
    found = sorted(_flips(page, worse=worse))
    word = "worse" if worse else "better"
    rows = ((escape(clipped(scenario, _MOST_NAME)), name_of(page, arm), before, after)
            for _, scenario, arm, before, after in found[:MOST_ROWS])  # fmt: skip
    lines = [
        *raw_table(("scenario", "arm", "baseline", "arm passes"), rows),
        *_others(len(found) - MOST_ROWS, "of them"),
    ]
    heading = f"Scenarios that went {word}: {len(found):,}"
    if not found:
        return Part("", heading)
    return part(heading, (f"**{heading}** (passed of judged)", *lines) if worse else fold(heading, lines))


def _flips(page: Page, *, worse: bool) -> Iterator[tuple[float, str, str, str, str]]:
    for row in page.report.scenarios:
        for one in page.report.comparisons:
            (before, judged), (passed, of) = (row.passed.get(arm, (0, 0)) for arm in (one.baseline, one.arm))
            change_of = passed / of - before / judged if of and judged else 0.0
            if (change_of < 0) if worse else (change_of > 0):
                yield -abs(change_of), row.scenario, one.arm, f"{before}/{judged}", f"{passed}/{of}"


def missing(page: Page, facts: Facts) -> Part:  # noqa: ARG001 parts have one form
    """Planned cells without a trial."""
    return _excluded(page, "Missing", "planned, but without a trial", lambda one: one.outcome in _NO_TRIAL)


def infrastructure(page: Page, facts: Facts) -> Part:  # noqa: ARG001
    """Trials that do not measure the agent, by class."""
    return _excluded(page, "Not in the rates", "ended by no doing of the agent, or were not judged",
                     lambda one: one.outcome not in _NO_TRIAL)  # fmt: skip


def _excluded(page: Page, title: str, what: str, wanted: Callable[[Excluded], bool]) -> Part:
    found = [one for one in page.report.excluded if wanted(one)]
    kinds = Counter(one.outcome for one in found)
    heading = f"{title}: {len(found):,}"
    if not found:
        return Part("", heading)
    counted = ", ".join(f"{count:,} {escape(clipped(kind, _MOST_NAME))}" for kind, count in kinds.most_common(10))
    rows = (tuple(escape(clipped(text, most)) for text, most in
                  ((one.cell, 2 * _MOST_NAME), (one.outcome, _MOST_NAME), (one.reason, _MOST_TEXT)))
            for one in found[:_MOST_CELLS])  # fmt: skip
    return part(heading, (f"**{heading}**, {what}: {counted}.", *raw_table(("cell", "outcome", "reason"), rows),
                          *_others(len(found) - _MOST_CELLS, "cells")))  # fmt: skip


def judges(page: Page, facts: Facts) -> Part:  # noqa: ARG001
    """Only where they do not agree."""
    found = page.analysis.agreement if page.analysis else None
    if found is None or found.alpha is None or found.alpha >= _POOR:
        return Part("", "")
    said = (f"**The judges disagree**: Krippendorff's alpha is {found.alpha:.2f} over {found.trials:,} trials; scores "
            "hang on who judged.")  # fmt: skip
    return Part(said, "judges that disagree")


def matrix(page: Page, facts: Facts) -> Part:  # noqa: ARG001
    """All scenarios by all arms, as in the report."""
    lines = list(islice(scenarios(page), 1, None))
    return part(f"matrix of {len(page.report.scenarios):,} scenarios and {len(page.report.arms):,} arms",
                fold("All scenarios", lines))  # fmt: skip


def entrants(page: Page, facts: Facts) -> Part:
    """Agents, versions and models."""
    rows = [(clipped(page.name(one.arm), _MOST_NAME), one.agent, one.version or "?", one.model or UNDEFINED)
            for one in facts.entrants[:_MOST_ENTRANTS]]  # fmt: skip
    lines = [*table(("arm", "agent", "version", "model"), rows)] if rows else []
    if page.shared and lines:
        lines.append(f"All arms: {code(clipped(page.shared, _MOST_NAME))}.")
    lines += _others(len(facts.entrants) - _MOST_ENTRANTS, "arms")
    return part(f"{len(facts.entrants):,} models and versions", fold("Models and versions", lines))


def costs(page: Page, facts: Facts) -> Part:  # noqa: ARG001
    """What agents and judges cost."""
    ranked = sorted(page.report.arms, key=lambda arm: -(arm.usd or 0.0))
    if not any(arm.usd is None or arm.usd > 0 for arm in ranked) and not page.report.judge_usd:
        return Part("", "costs")
    rows = [(clipped(page.name(arm.arm), _MOST_NAME), usd(arm.usd)) for arm in ranked[:MOST_ROWS]]
    lines = (*table(("", "USD"), (*rows, ("judges and their controls", usd(page.report.judge_usd)))),
             *_others(len(ranked) - MOST_ROWS, "arms"))  # fmt: skip
    return part(f"costs of {len(ranked):,} arms", fold("Costs", lines))


def method(page: Page, facts: Facts) -> Part:
    """How the verdict came about."""
    margin = () if facts.margin is None else (f"A difference of {100 * facts.margin:g} points counts as none.\n",)
    text = HEADLINE if page.analysis else POOLED
    return part("how the verdict was computed", fold("How the verdict was computed", (*margin, *text.splitlines())))


def warnings(page: Page, facts: Facts) -> Part:  # noqa: ARG001
    """What to be careful about."""
    found = notes(page)
    lines = [f"{note.number}. {escape(clipped(told(page, note), _MOST_TEXT))}" for note in found[:MOST_ROWS]]
    return part(f"{len(found):,} warnings",
                fold(f"Warnings: {len(found):,}", (*lines, *_others(len(found) - MOST_ROWS, "warnings"))))  # fmt: skip
