"""The answer in a few figures: the best arm, how sure that is, and what a pass costs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.analysis import Verdict
from scylla_gha.model.report import ArmSummary, Comparison
from scylla_gha.report.comparisons import reading
from scylla_gha.report.summary import pass_cost, pass_rate
from scylla_gha.report.view import PASS, ReportView
from scylla_gha.stats import format_p

_NAMED: Final = 3  # arms that share the best rate
_VERDICTS: Final[dict[Verdict, str]] = {
    "better": "better than {}",
    "worse": "worse than {}",
    "equivalent": "equivalent to {}",
    "not_enough_data": "not enough data to tell it from {}",
}


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One figure of the answer, with what it is of, and a note."""

    title: str
    figure: str
    note: str


def key_figures(view: ReportView) -> Iterator[KeyFigure]:
    """Yield the best pass rate, its distance from the baseline, and the cost of a pass; only what is known."""
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
    """Return the cost of a pass for sorting; infinite if there is none."""
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
        others_of = (comparison for comparison in view.report.comparisons if comparison.baseline == best.arm)
        verdicts = Counter(comparison.verdict.replace("_", " ") for comparison in others_of)
        figure = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        note = f"verdicts on the other arms, compared with {view.name(best.arm)}, the baseline"
        yield KeyFigure("How sure is that?", figure, note)


def _measured_certainty(view: ReportView, comparison: Comparison) -> KeyFigure | None:
    """Return by how many points an arm is better or worse, with its interval; None if that is not known."""
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
            apart = " (cannot be told apart)" if _is_unclear(view, best.arm, arm.arm) else ""
            note += f"; {others[arm.arm]}: {pass_cost(view, arm)[0]}{apart}"
    total = [arm.usd for arm in view.report.arms]
    known = sum(cost for cost in total if cost is not None)
    spent = f"{'at least ' if None in total else ''}{dollars(known)}"
    yield KeyFigure("Cost of a pass", figure, f"{note}; all agents {spent}, judges {dollars(view.report.judge_usd)}")


def _is_unclear(view: ReportView, arm: str, baseline: str) -> bool:
    """Return whether the costs of a pass of two arms were compared, and do not differ for sure."""
    contrasts = view.analysis.contrasts if view.analysis else ()
    return any(
        (contrast.metric, contrast.arm, contrast.baseline) == ("cost_of_pass", arm, baseline)
        and reading(contrast) == "cannot be told"
        for contrast in contrasts
    )
