"""Render a report as an HTML page, whose policy allows only its style sheet and its script, by their hashes.

The page begins with key figures: the best arm, how certain that is, and the cost of a pass. Text of agents, scenarios,
models and judges is untrusted. The template escapes it; the script inserts the data of trials as text only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.analysis import Verdict
from scylla_gha.model.readiness import ReadinessReport
from scylla_gha.model.report import ArmSummary, Comparison, Report
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.comparisons import reading
from scylla_gha.report.document import Section, link
from scylla_gha.report.page.html import PageLocation, html, packed, sections_html
from scylla_gha.report.page.readiness_answer import readiness_answer
from scylla_gha.report.page.trials import EmbeddedTrial, TrialTable, trial_columns
from scylla_gha.report.sections import excluded, failures, headline, not_possible, questions, warnings
from scylla_gha.report.summary import COUNTS_NOTE, HEADINGS, arm_row, main_chart, pass_cost, pass_rate
from scylla_gha.report.uptake import uptake
from scylla_gha.report.view import PASS, ReportView, marks, notes
from scylla_gha.stats import format_p

_NAMED: Final = 3  # arms with the best rate that are named
_VERDICTS: Final[dict[Verdict, str]] = {
    "better": "better than {}",
    "worse": "worse than {}",
    "equivalent": "equivalent to {}",
    "not_enough_data": "not enough data to tell it from {}",
}
_MOST_VERDICTS: Final = 10


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A figure of the answer, with its title and a note."""

    title: str
    figure: str
    note: str


def key_figures(view: ReportView) -> Iterator[KeyFigure]:
    """Yield the known ones of: the best pass rate, its certainty, and the cost of a pass."""
    ranked = sorted(
        (arm for arm in view.report.arms if _rate(view, arm) is not None),
        key=lambda arm: (-(_rate(view, arm) or 0.0), _cost(view, arm)),
    )
    if not ranked:
        return
    best = ranked[0]
    equal = [arm for arm in ranked if _rate(view, arm) == _rate(view, best)]
    names = ", ".join(view.name(arm.arm) for arm in equal[:_NAMED])
    more = f" and {len(equal) - _NAMED} more" if len(equal) > _NAMED else ""
    rate, between = pass_rate(view, best)
    yield KeyFigure(
        "Highest pass rate",
        f"{names}{more}: {rate}",
        f"95 % interval {between}, {counted(best.counts.judged, 'judged trial')}{' each' if len(equal) > 1 else ''}",
    )
    yield from _certainty(view, best)
    yield from _costs(view, ranked)


def _rate(view: ReportView, arm: ArmSummary) -> float | None:
    measure = view.measure(arm.arm, PASS)
    return arm.pass_rate if measure is None else measure.value


def _cost(view: ReportView, arm: ArmSummary) -> float:
    """Return the cost of a pass for sorting; infinite if it is unknown or nothing passed."""
    measure = view.measure(arm.arm, "cost_of_pass")
    known = arm.cost_of_pass if measure is None else measure.value
    return float("inf") if known is None else known


def _certainty(view: ReportView, best: ArmSummary) -> Iterator[KeyFigure]:
    comparisons = {comparison.arm: comparison for comparison in view.report.comparisons}
    comparison = comparisons.get(best.arm)
    if comparison is not None:
        yield _measured_certainty(view, comparison) or KeyFigure(
            "How sure is that?", _VERDICTS[comparison.verdict].format(view.name(comparison.baseline)), comparison.why
        )
    elif best.arm in view.baselines:
        against_best = (comparison for comparison in view.report.comparisons if comparison.baseline == best.arm)
        verdicts = Counter(comparison.verdict.replace("_", " ") for comparison in against_best)
        figure = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        note = f"verdicts on the other arms, compared with {view.name(best.arm)}, the baseline"
        yield KeyFigure("How sure is that?", figure, note)


def _measured_certainty(view: ReportView, comparison: Comparison) -> KeyFigure | None:
    """Return by how many points an arm is better or worse; None if it has no such verdict, or no interval."""
    change = view.changes.get(comparison.arm)
    if comparison.verdict not in {"better", "worse"} or change is None or change.low is None or change.high is None:
        return None
    least, most = sorted(100 * abs(limit) for limit in (change.low, change.high))
    note = (
        f"than {view.name(comparison.baseline)} (95 % interval); measured {100 * (change.value or 0.0):+.1f} over "
        f"{counted(change.scenarios, 'scenario')}, p {format_p(change.p_adjusted)}"
    )
    return KeyFigure("How sure is that?", f"{comparison.verdict} by {least:.1f} to {most:.1f} points", note)


def _costs(view: ReportView, ranked: list[ArmSummary]) -> Iterator[KeyFigure]:
    best = ranked[0]
    figure, between = pass_cost(view, best)
    note = f"of {view.name(best.arm)}{f', 95 % interval {between}' if between else ''}"
    cheapest = min(ranked, key=lambda arm: _cost(view, arm))
    others = {arm.arm: f"{view.name(arm.arm)}, the baseline" for arm in ranked if arm.arm == view.baseline}
    if _cost(view, cheapest) < _cost(view, best):
        others[cheapest.arm] = f"{others.get(cheapest.arm, view.name(cheapest.arm))}, the cheapest"
    for arm in ranked[1:]:
        if arm.arm in others:
            unclear = " (difference unclear)" if _is_unclear(view, best.arm, arm.arm) else ""
            note += f"; {others[arm.arm]}: {pass_cost(view, arm)[0]}{unclear}"
    total = [arm.usd for arm in view.report.arms]
    known = sum(cost for cost in total if cost is not None)
    spent = f"{'at least ' if None in total else ''}{dollars(known)}"
    yield KeyFigure("Cost of a pass", figure, f"{note}; all agents {spent}, judges {dollars(view.report.judge_usd)}")


def _is_unclear(view: ReportView, arm: str, baseline: str) -> bool:
    """Return whether two arms' costs of a pass were compared without a clear difference."""
    contrasts = view.analysis.contrasts if view.analysis else ()
    return any(
        (contrast.metric, contrast.arm, contrast.baseline) == ("cost_of_pass", arm, baseline)
        and reading(contrast) == "unclear"
        for contrast in contrasts
    )


@dataclass(frozen=True, slots=True)
class PageParts:
    """Parts of the page besides the report.

    Attributes:
        charts: charts in order; empty if the extra `report` is not installed.
        table: the table of trials.
        trials: trials whose data is embedded in the page.
        readiness: readiness report with which the page begins; None: the run does not measure readiness.
        answer: sections with which the page begins, if the run answers a question of its own, such as on a skill.
    """

    charts: Sequence[Chart]
    table: TrialTable
    trials: Iterable[EmbeddedTrial]
    readiness: ReadinessReport | None = None
    answer: Sequence[Section] = ()


@dataclass(frozen=True, slots=True)
class SiteLinks:
    """Links of a report page on the site, where the run's files are not beside it.

    Attributes:
        location: location of the page.
        glossary: address of the glossary.
        facts: facts about the run, such as its commit.
        run: address of the workflow run; empty: unknown.
    """

    location: PageLocation
    glossary: str
    facts: str
    run: str


def page(view: ReportView, parts: PageParts, site: SiteLinks | None = None) -> str:
    """Return the page as HTML; with `site`, for the site, where the data of the table of trials is a separate file."""
    report, answer = view.report, headline(view, _MOST_VERDICTS)
    names = {row.cell: f"{row.scenario} r{row.repetition:02d}" for row in parts.table.rows}
    by_scenario = {row.scenario: row.cell for row in reversed(parts.table.rows)}
    readiness = readiness_answer(parts.readiness, by_scenario) if parts.readiness else None
    return html(
        "page.html.j2",
        "basics.js",
        "side_by_side.js",
        "page.js",
        location=site.location if site else None,
        site=site,
        charts=sorted(parts.charts, key=lambda chart: chart.name != main_chart(report)),
        readiness=readiness,
        answer=sections_html({f"answer-{number}": part for number, part in enumerate(parts.answer, 1)}),
        report=report,
        view=view,
        headings=HEADINGS,
        counts_note=COUNTS_NOTE,
        totals=_totals(report),
        banner=answer.banner,
        headline=answer,
        figures=list(key_figures(view)),
        arm_rows=[(arm.arm, arm_row(view, arm, wide=True)) for arm in view.arms],
        marks=marks(notes(view)),
        sections=sections_html(_sections(replace(view, trial=lambda cell: _trial(cell, names)))),
        trials=list(parts.trials),
        rows="" if site else packed(trial_columns(parts.table)),
    )


def _trial(cell: str, names: Mapping[str, str]) -> str:
    return link(cell, f"#cell={cell}", names[cell]) if cell in names else cell


def _sections(view: ReportView) -> dict[str, Section]:
    """Return the sections below the charts, by anchor."""
    return {
        "questions": questions(view),
        "failures": failures(view),
        "uptake": uptake(view),
        "warnings": warnings(view, len(view.report.warnings)),
        "not-possible": not_possible(view),
        "excluded": excluded(view),
    }


def _totals(report: Report) -> str:
    trials = report.counts
    proved = f"; delivery proved in {report.delivery[0]} of {report.delivery[1]}" if report.delivery else ""
    return f"{trials.planned} planned, {trials.ran} ran, {trials.judged} judged, {trials.scored} scored{proved}"
