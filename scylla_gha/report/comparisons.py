"""Build tables of comparisons: changes by metric, families of comparisons, and the detailed statistics."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from scylla_gha.model.analysis import (
    FAMILIES,
    Analysis,
    Contrast,
    Measure,
    Omnibus,
    ShrunkRate,
    Unpaired,
    UnpairedArm,
    UnpairedPair,
    Verdict,
)
from scylla_gha.report.document import UNDEFINED, Columns, Table, number, p_value, percent, table_of
from scylla_gha.report.metrics import (
    better_side,
    change,
    change_limits,
    heading,
    limits,
    ratio,
    title,
    unit,
    value,
)
from scylla_gha.report.view import PASS, ReportView

FEW_ARMS: Final = 4  # with fewer arms, all changes are shown; otherwise only clear ones
_MOST_CHANGES: Final = 40
_MOST_STEPS: Final = 20
_MOST_ROWS: Final = 60
_LEVEL: Final = 0.05  # significance level of all verdicts
_CLAIMS: Final = frozenset({"better", "worse", "more", "less"})  # readings that claim a difference
_FOR_MANY_ARMS: Final = ("pass_rate", "pass_rate_pooled", "cost_of_pass", "icc", "design_effect", "effective_trials")


def changes(view: ReportView) -> Table:
    """Return the table of each arm's changes: pass rate and verdict first, then the exploratory metrics."""
    known = [contrast for contrast in _changes_by_arm(view) if _has_value(contrast)]
    shown = known
    if len(view.changes) >= FEW_ARMS:
        shown = [contrast for contrast in known if contrast.metric == PASS or reading(contrast) in _CLAIMS]
    verdicts = {comparison.arm: comparison.verdict for comparison in view.report.comparisons}

    def words(contrast: Contrast) -> str:
        return reading(contrast, verdicts.get(contrast.arm) if contrast.metric == PASS else None)

    columns: Columns[Contrast] = {
        "arm": lambda contrast: view.name(contrast.arm),
        "metric": lambda contrast: heading(title(contrast.metric), contrast.metric),
        "change": lambda contrast: f"{arrow(contrast, words(contrast))}{change(contrast)}",
        "95 %": change_limits,
        "reading": words,
        "scenarios": lambda contrast: str(contrast.scenarios),
    }
    table = table_of(shown, columns, _MOST_CHANGES, "row")
    return replace(table, left_out=len(known) - len(table.rows))


def reading(contrast: Contrast, verdict: Verdict | None = None) -> str:
    """Return what an interval shows, such as `better` or `unclear`; a verdict without a claim takes precedence."""
    if verdict in {"equivalent", "not_enough_data"}:
        return verdict.replace("_", " ")
    if contrast.low is None or contrast.high is None:
        return "no interval"
    side = _side(contrast)
    if not side:
        return "unclear"
    good_side = better_side(contrast.metric)
    if not good_side:
        return "more" if side > 0 else "less"
    return "better" if side == good_side else "worse"


def _side(contrast: Contrast) -> int:
    """Return 1 if the interval lies above "no change", -1 if below, 0 if it includes it or is unknown."""
    no_change = 1.0 if contrast.scale == "ratio" else 0.0
    if contrast.low is None or contrast.high is None or contrast.low <= no_change <= contrast.high:
        return 0
    return 1 if contrast.low > no_change else -1


def arrow(contrast: Contrast | None, words: str) -> str:
    """Return a mark and a space if the reading `words` claims a difference; else an empty text.

    `better` and `worse` get the marks of verdicts; `more` and `less`, of which neither is better, get an arrow.
    """
    if contrast is None or words not in _CLAIMS:
        return ""
    return {"better": "✓ ", "worse": "✗ "}.get(words) or ("↑ " if _side(contrast) > 0 else "↓ ")


def _changes_by_arm(view: ReportView) -> Iterator[Contrast]:
    """Yield the comparisons of the arms in `view.arms` with their baselines, arm by arm."""
    explored: dict[str, list[Contrast]] = {}
    for contrast in view.analysis.contrasts if view.analysis else ():
        if contrast.metric != PASS:
            explored.setdefault(contrast.arm, []).append(contrast)
    for arm in view.arms:
        if main := view.changes.get(arm.arm):
            yield main
            yield from (other for other in explored.get(arm.arm, ()) if other.baseline == main.baseline)


def _has_value(contrast: Contrast) -> bool:
    """Return whether there is a change to show; always true for the pass rate."""
    return contrast.metric == PASS or (contrast.value is not None and (contrast.value != 0 or contrast.low is not None))


def families(view: ReportView) -> list[tuple[str, Table]]:
    """Return tables of pass rate comparisons, by family, without arms against the baseline and tiers."""
    members: dict[str, list[Contrast]] = {}
    for contrast in pass_contrasts(view):
        if contrast.family != FAMILIES["tiers"]:
            members.setdefault(contrast.family, []).append(contrast)
    return [
        (family[:1].upper() + family[1:], pass_rate_steps(view, contrasts)) for family, contrasts in members.items()
    ]


def pass_contrasts(view: ReportView) -> list[Contrast]:
    """Return all comparisons of pass rates except those of arms against the baseline."""
    return [contrast for contrast in view.analysis.contrasts if contrast.metric == PASS] if view.analysis else []


def family_reading(contrast: Contrast) -> str:
    """Return the reading of a comparison; a claim needs a small adjusted p and an interval that excludes 0."""
    is_sure = contrast.p_adjusted is not None and contrast.p_adjusted <= _LEVEL
    return reading(contrast, None if is_sure else "not_enough_data")


def pass_rate_steps(view: ReportView, contrasts: Sequence[Contrast]) -> Table:
    """Return a table of comparisons of pass rates."""
    columns: Columns[Contrast] = {
        "comparison": lambda contrast: _against(view, contrast),
        "change of the pass rate": lambda contrast: f"{arrow(contrast, family_reading(contrast))}{change(contrast)}",
        "95 %": change_limits,
        "reading": family_reading,
        "p adjusted": lambda contrast: p_value(contrast.p_adjusted),
        "scenarios": lambda contrast: str(contrast.scenarios),
    }
    return table_of(contrasts, columns, _MOST_STEPS, "comparison")


def statistics(view: ReportView, analysis: Analysis) -> Iterator[tuple[str, *tuple[Table, ...]]]:
    """Yield headings with their tables of estimates and tests, including methods and p values."""
    shown = {arm.arm for arm in view.arms}
    known = [
        contrast
        for contrast in chain(view.changes.values(), analysis.contrasts)
        if (contrast.arm in shown or contrast.arm not in view.names) and contrast.value is not None
    ]
    contrasts = sorted(known, key=lambda contrast: contrast.adjustment != "Holm")
    yield "comparisons", _tests(view, contrasts)
    yield "any difference among all arms (Friedman)", table_of(analysis.omnibus, _OMNIBUS)
    yield "arms that share no scenario", *_rank_tests(view, analysis.unpaired)
    yield "effect sizes, and p on these scenarios only", _effects(view, contrasts)
    yield "estimates", _estimates(view)
    shrunk: Columns[ShrunkRate] = {
        "arm": lambda rate: view.name(rate.arm),
        "pass rate": lambda rate: percent(rate.rate),
        "95 %": lambda rate: f"[{100 * rate.low:.0f}, {100 * rate.high:.0f}]",
    }
    yield (
        "pass rates shrunk towards each other",
        table_of([rate for rate in analysis.shrunk if rate.arm in shown], shrunk),
    )


_OMNIBUS: Final[Columns[Omnibus]] = {
    "metric": lambda test: title(test.metric),
    "arms": lambda test: str(test.arms),
    "scenarios": lambda test: str(test.scenarios),
    "chi-squared": lambda test: number(test.statistic),
    "p": lambda test: p_value(test.p),
    "W": lambda test: number(test.w),
}


def _tests(view: ReportView, contrasts: Sequence[Contrast]) -> Table:
    columns: Columns[Contrast] = {
        "comparison": lambda test: _against(view, test),
        "metric": lambda test: title(test.metric),
        "change": change,
        "95 %": change_limits,
        "equivalence limits": lambda test: change_limits(test, inner=True),
        "p": lambda test: p_value(test.p),
        "adjusted p": lambda test: p_value(test.p_adjusted),
        "least p": lambda test: p_value(test.least_p),
        "family": lambda test: f"{test.family} ({test.family_size}, {test.adjustment})",
        "scenarios": lambda test: f"{test.scenarios}{f' ({test.dropped} left out)' if test.dropped else ''}",
        "w/t/l": lambda test: "/".join(map(str, test.wins)),
        "smallest effect": _smallest_effect,
        "method": lambda test: test.method,
        "note": lambda test: test.note,
    }
    return table_of(contrasts, columns, _MOST_ROWS, "comparison")


def _smallest_effect(contrast: Contrast) -> str:
    if contrast.smallest_effect is None:
        return UNDEFINED
    if contrast.scale == "ratio":
        return f"x{ratio(contrast.smallest_effect)}"
    metric = unit(contrast.metric)
    return f"{metric.step(contrast.smallest_effect).lstrip('+')}{metric.step_unit}"


def _effects(view: ReportView, contrasts: Sequence[Contrast]) -> Table:
    known = [effect for effect in contrasts if not (effect.d_z is effect.cohens_d is effect.p_here is None)]
    columns: Columns[Contrast] = {
        "comparison": lambda effect: _against(view, effect),
        "metric": lambda effect: title(effect.metric),
        "Cohen's d": lambda effect: number(effect.cohens_d),
        "Hedges' g": lambda effect: number(effect.hedges_g),
        "Cliff's delta": lambda effect: number(effect.cliffs_delta),
        "d_z": lambda effect: number(effect.d_z),
        "correlation": lambda effect: number(effect.correlation),
        "p on these scenarios only": lambda effect: p_value(effect.p_here),
    }
    return table_of(known, columns, _MOST_ROWS, "comparison")


def _estimates(view: ReportView) -> Table:
    """Return a table of all measures if there are few arms, else of the most important measures."""

    def is_shown(measure: Measure) -> bool:
        if not view.is_wide:
            return measure.metric in _FOR_MANY_ARMS
        return not measure.metric.endswith("_share") and measure.state != "undefined"  # shares have their own tables

    rows = [
        (
            view.name(arm.arm),
            title(measure.metric),
            value(measure),
            limits(measure),
            str(measure.n),
            str(measure.scenarios),
            measure.method or UNDEFINED,
            measure.target,
            measure.note,
        )
        for arm in view.arms
        for measure in view.measures.get(arm.arm, {}).values()
        if is_shown(measure)
    ]
    headings = ("arm", "metric", "value", "95 %", "trials", "scenarios", "method", "applies to", "note")
    return Table(headings, rows, view.left_out, "arm")


def _rank_tests(view: ReportView, tests: Sequence[Unpaired]) -> tuple[Table, Table, Table]:
    """Return tables of arms that share no scenario: tests of all arms, means of each arm, and tests of pairs."""
    overall = [(title(test.metric), _digits(test.h), str(len(test.arms) - 1), p_value(test.p)) for test in tests]
    arms = [(title(test.metric), arm) for test in tests for arm in test.arms]
    pairs = [(title(test.metric), pair) for test in tests for pair in test.pairs]
    of_arm: Columns[tuple[str, UnpairedArm]] = {
        "metric": lambda row: row[0],
        "arm": lambda row: view.name(row[1].arm),
        "trials": lambda row: str(row[1].n),
        "mean": lambda row: _digits(row[1].mean),
        "95 % (BCa)": lambda row: _digit_limits(row[1]),
        "median": lambda row: _digits(row[1].median),
    }
    of_pair: Columns[tuple[str, UnpairedPair]] = {
        "metric": lambda row: row[0],
        "comparison": lambda row: _against(view, row[1]),
        "Mann-Whitney p": lambda row: p_value(row[1].p),
        "adjusted p": lambda row: p_value(row[1].p_adjusted),
        "Cliff's delta": lambda row: number(row[1].cliffs_delta),
    }
    return (
        Table(("metric", "Kruskal-Wallis H", "degrees", "p"), overall),
        table_of(arms, of_arm, _MOST_ROWS),
        table_of(pairs, of_pair, _MOST_ROWS),
    )


def _against(view: ReportView, pair: Contrast | UnpairedPair) -> str:
    return f"{view.name(pair.arm)} against {view.name(pair.baseline)}"


def _digit_limits(arm: UnpairedArm) -> str:
    return UNDEFINED if arm.low is None else f"[{_digits(arm.low)}, {_digits(arm.high)}]"


def _digits(number: float | None) -> str:
    return UNDEFINED if number is None else f"{number:.4g}"
