"""Tables of comparisons: changes by metric, families of comparisons, and the folded statistics."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from scylla_gha.model.analysis import FAMILIES, Analysis, Contrast, Measure, Unpaired, Verdict
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
from scylla_gha.report.numbers import UNDEFINED, number, percent
from scylla_gha.report.templates import Table
from scylla_gha.report.view import MOST_COLUMNS, PASS, ReportView
from scylla_gha.stats import format_p

FEW_ARMS: Final = 4  # with fewer arms all changes are shown; with more, only those that differ from no change
_MOST_CHANGES: Final = 40
_MOST_STEPS: Final = 20
_MOST_ROWS: Final = 60
_LEVEL: Final = 0.05  # of all verdicts
_CLAIMS: Final = frozenset({"better", "worse", "more", "less"})  # readings that say on which side of no change
_FOR_MANY_ARMS: Final = ("pass_rate", "pass_rate_pooled", "cost_of_pass", "icc", "design_effect", "effective_trials")


def changes(view: ReportView) -> Table:
    """Return the changes of each arm: pass rate with its verdict first, then the exploratory metrics."""
    known = [contrast for contrast in _changes_by_arm(view) if _has_value(contrast)]
    shown = known
    if len(view.changes) >= FEW_ARMS:
        shown = [contrast for contrast in known if contrast.metric == PASS or reading(contrast) in _CLAIMS]
    verdicts = {comparison.arm: comparison.verdict for comparison in view.report.comparisons}
    rows = [
        (
            view.name(contrast.arm),
            heading(title(contrast.metric), contrast.metric),
            *_read_change(contrast, verdicts.get(contrast.arm) if contrast.metric == PASS else None),
            str(contrast.scenarios),
        )
        for contrast in shown[:_MOST_CHANGES]
    ]
    return Table(("arm", "metric", "change", "95 %", "reading", "scenarios"), rows, len(known) - len(rows), "row")


def reading(contrast: Contrast, verdict: Verdict | None = None) -> str:
    """Return what an interval says in words, or the verdict if there is one."""
    if verdict in {"equivalent", "not_enough_data"}:
        return verdict.replace("_", " ")
    if contrast.low is None or contrast.high is None:
        return "no interval"
    side = _side(contrast)
    if not side:
        return "cannot be told"
    good_side = better_side(contrast.metric)
    if not good_side:
        return "more" if side > 0 else "less"
    return "better" if side == good_side else "worse"


def _side(contrast: Contrast) -> int:
    """Return 1 if the interval lies above no change, -1 if below, 0 if it includes it or is unknown."""
    no_change = 1.0 if contrast.scale == "ratio" else 0.0
    if contrast.low is None or contrast.high is None or contrast.low <= no_change <= contrast.high:
        return 0
    return 1 if contrast.low > no_change else -1


def arrow(contrast: Contrast | None, words: str) -> str:
    """Return the mark of a difference and a space, if its reading claims one; else an empty text.

    Better and worse have the marks of verdicts. An arrow is for more and less, where neither is better.
    """
    if contrast is None or words not in _CLAIMS:
        return ""
    return {"better": "✓ ", "worse": "✗ "}.get(words) or ("↑ " if _side(contrast) > 0 else "↓ ")


def _read_change(contrast: Contrast, verdict: Verdict | None) -> tuple[str, str, str]:
    """Return the change with its sign, its interval, and the reading."""
    return _described(contrast, reading(contrast, verdict))


def _described(contrast: Contrast, words: str) -> tuple[str, str, str]:
    return f"{arrow(contrast, words)}{change(contrast)}", change_limits(contrast), words


def _changes_by_arm(view: ReportView) -> Iterator[Contrast]:
    """Yield the comparisons of the shown arms with their baselines, arm by arm."""
    explored: dict[str, list[Contrast]] = {}
    for contrast in view.analysis.contrasts if view.analysis else ():
        if contrast.metric != PASS:
            explored.setdefault(contrast.arm, []).append(contrast)
    for arm in view.arms:
        if main := view.changes.get(arm.arm):
            yield main
            yield from (other for other in explored.get(arm.arm, ()) if other.baseline == main.baseline)


def _has_value(contrast: Contrast) -> bool:
    """Return False if neither arm has a value."""
    return contrast.metric == PASS or (contrast.value is not None and (contrast.value != 0 or contrast.low is not None))


def families(view: ReportView) -> list[tuple[str, Table]]:
    """Return comparisons of pass rates beside those of arms and tiers, with the heading of their family."""
    members: dict[str, list[Contrast]] = {}
    for contrast in pass_contrasts(view):
        if contrast.family != FAMILIES["tiers"]:
            members.setdefault(contrast.family, []).append(contrast)
    return [
        (family[:1].upper() + family[1:], pass_rate_steps(view, contrasts)) for family, contrasts in members.items()
    ]


def pass_contrasts(view: ReportView) -> list[Contrast]:
    """Return the comparisons of pass rates in families beside that of arms against the baseline."""
    return [contrast for contrast in view.analysis.contrasts if contrast.metric == PASS] if view.analysis else []


def family_reading(contrast: Contrast) -> str:
    """Return the reading of a comparison in a family: a claim needs the adjusted p as well as the interval."""
    is_sure = contrast.p_adjusted is not None and contrast.p_adjusted <= _LEVEL
    return reading(contrast, None if is_sure else "not_enough_data")


def pass_rate_steps(view: ReportView, contrasts: Sequence[Contrast]) -> Table:
    """Return a table of such comparisons."""
    rows = [
        (
            _against(view, contrast.arm, contrast.baseline),
            *_described(contrast, family_reading(contrast)),
            format_p(contrast.p_adjusted),
            str(contrast.scenarios),
        )
        for contrast in contrasts[:_MOST_STEPS]
    ]
    return Table(
        ("comparison", "change of the pass rate", "95 %", "reading", "p adjusted", "scenarios"),
        rows,
        len(contrasts) - _MOST_STEPS,
        "comparison",
    )


def statistics(view: ReportView, analysis: Analysis) -> dict[str, Table]:
    """Return the tables of all estimates and tests, with methods and p values, by name."""
    shown = {arm.arm for arm in view.arms}
    known = [
        contrast
        for contrast in chain(view.changes.values(), analysis.contrasts)
        if (contrast.arm in shown or contrast.arm not in view.names) and contrast.value is not None
    ]
    contrasts = sorted(known, key=lambda contrast: contrast.adjustment != "Holm")
    omnibus = [
        (title(test.metric), str(test.arms), str(test.scenarios), number(test.statistic), _p(test.p), number(test.w))
        for test in analysis.omnibus
    ]
    shrunk = [
        (view.name(rate.arm), percent(rate.rate), f"[{100 * rate.low:.0f}, {100 * rate.high:.0f}]")
        for rate in analysis.shrunk
        if rate.arm in shown
    ]
    return {
        "tests": _tests(view, contrasts),
        "omnibus": Table(("metric", "arms", "scenarios", "chi-squared", "p", "W"), omnibus),
        **_rank_tests(view, analysis.unpaired),
        "effects": _effects(view, contrasts),
        "estimates": _estimates(view),
        "shrunk_rates": Table(("arm", "pass rate", "95 %"), shrunk),
    }


def _tests(view: ReportView, contrasts: Sequence[Contrast]) -> Table:
    headings = (
        "comparison",
        "metric",
        "change",
        "95 %",
        "of equivalence",
        "p",
        "adjusted p",
        "least p",
        "family",
        "scenarios",
        "w/t/l",
        "smallest effect",
        "method",
        "note",
    )
    rows = [
        (
            _against(view, test.arm, test.baseline),
            title(test.metric),
            change(test),
            change_limits(test),
            change_limits(test, inner=True),
            _p(test.p),
            _p(test.p_adjusted),
            _p(test.least_p),
            f"{test.family} ({test.family_size}, {test.adjustment})",
            f"{test.scenarios}{f' ({test.dropped} left out)' if test.dropped else ''}",
            "/".join(map(str, test.wins)),
            _smallest_effect(test),
            test.method,
            test.note,
        )
        for test in contrasts[:_MOST_ROWS]
    ]
    return Table(headings, rows, len(contrasts) - _MOST_ROWS, "comparison")


def _smallest_effect(contrast: Contrast) -> str:
    if contrast.smallest_effect is None:
        return UNDEFINED
    if contrast.scale == "ratio":
        return f"x{ratio(contrast.smallest_effect)}"
    metric = unit(contrast.metric)
    return f"{metric.step(contrast.smallest_effect).lstrip('+')}{metric.step_unit}"


def _effects(view: ReportView, contrasts: Sequence[Contrast]) -> Table:
    headings = (
        "comparison",
        "metric",
        "Cohen's d",
        "Hedges' g",
        "Cliff's delta",
        "d_z",
        "correlation",
        "p on these scenarios only",
    )
    known = [effect for effect in contrasts if not (effect.d_z is effect.cohens_d is effect.p_here is None)]
    rows = [
        (
            _against(view, effect.arm, effect.baseline),
            title(effect.metric),
            number(effect.cohens_d),
            number(effect.hedges_g),
            number(effect.cliffs_delta),
            number(effect.d_z),
            number(effect.correlation),
            _p(effect.p_here),
        )
        for effect in known[:_MOST_ROWS]
    ]
    return Table(headings, rows, len(known) - _MOST_ROWS, "comparison")


def _estimates(view: ReportView) -> Table:
    """All measures of few arms; of many arms, those of the headline."""
    is_wide = len(view.report.arms) <= MOST_COLUMNS

    def is_shown(measure: Measure) -> bool:
        if not is_wide:
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
    headings = ("arm", "metric", "value", "95 %", "trials", "scenarios", "method", "speaks of", "note")
    return Table(headings, rows, view.left_out, "arm")


def _rank_tests(view: ReportView, tests: Sequence[Unpaired]) -> dict[str, Table]:
    """Rank tests of arms that share no scenario."""
    whole = [(title(test.metric), _digits(test.h), str(len(test.arms) - 1), _p(test.p)) for test in tests]
    arms = [
        (
            title(test.metric),
            view.name(arm.arm),
            str(arm.n),
            _digits(arm.mean),
            UNDEFINED if arm.low is None else f"[{_digits(arm.low)}, {_digits(arm.high)}]",
            _digits(arm.median),
        )
        for test in tests
        for arm in test.arms
    ]
    pairs = [
        (
            title(test.metric),
            _against(view, pair.arm, pair.baseline),
            _p(pair.p),
            _p(pair.p_adjusted),
            number(pair.cliffs_delta),
        )
        for test in tests
        for pair in test.pairs
    ]
    return {
        "rank_tests": Table(("metric", "Kruskal-Wallis H", "degrees", "p"), whole),
        "ranked_arms": Table(
            ("metric", "arm", "trials", "mean", "95 % (BCa)", "median"), arms[:_MOST_ROWS], len(arms) - _MOST_ROWS
        ),
        "ranked_pairs": Table(
            ("metric", "comparison", "Mann-Whitney p", "adjusted p", "Cliff's delta"),
            pairs[:_MOST_ROWS],
            len(pairs) - _MOST_ROWS,
        ),
    }


def _against(view: ReportView, arm: str, baseline: str) -> str:
    return f"{view.name(arm)} against {view.name(baseline)}"


def _p(p: float | None) -> str:
    return UNDEFINED if p is None else format_p(p)


def _digits(number: float | None) -> str:
    return UNDEFINED if number is None else f"{number:.4g}"
