"""Every estimate and comparison with its method, p value and population."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from scylla_gha.model.analysis import Analysis, Contrast, Measure, Unpaired
from scylla_gha.report.markdown_table import fold, more, table
from scylla_gha.report.metrics import change, change_limits, limits, ratio, title, unit, value
from scylla_gha.report.numbers import UNDEFINED, number, percent
from scylla_gha.report.view import MOST_COLUMNS, ReportView
from scylla_gha.stats.simple import format_p

_MOST: Final = 60
_FOR_ALL: Final = ("pass_rate", "pass_rate_pooled", "cost_of_pass", "icc", "design_effect", "effective_trials")
_LEFT_OUT: Final = ("_share",)  # which stand in tables of their own
_TESTS: Final = (
    "comparison", "metric", "change", "95 %", "of equivalence", "p", "adjusted p", "least p", "family", "scenarios",
    "w/t/l", "smallest effect", "method", "note",
)  # fmt: skip
_EFFECTS: Final = (
    "comparison", "metric", "Cohen's d", "Hedges' g", "Cliff's delta", "d_z", "correlation",
    "p on these scenarios only",
)  # fmt: skip
_OF_WHAT: Final = """\
All of these are of the metric itself, never of its logarithm. d, g and Cliff's delta are of all trials, unpaired; d_z
and the correlation are of scenario means. Without any spread they are undefined, not 0. The last column is a
permutation of trials within each scenario: it says nothing of other scenarios."""
_ESTIMATES: Final = ("arm", "metric", "value", "95 %", "trials", "scenarios", "method", "speaks of", "note")


def statistics(page: ReportView) -> Iterator[str]:
    """Yield the folded statistics; nothing without an analysis."""
    analysis = page.analysis
    if analysis is None:
        return
    found = _contrasts(page, analysis)
    lines = [*_folds(page, analysis, found)]
    if lines:
        yield "\n## The statistics\n"
        yield from lines


def _folds(page: ReportView, analysis: Analysis, found: list[Contrast]) -> Iterator[str]:
    yield from fold("Comparisons: intervals, p and what they are adjusted for", _tests(page, found))
    yield from fold("Any difference among all arms (Friedman)", _omnibus(analysis))
    yield from fold("Arms that share no scenario: ranks of trials", unpaired(page, analysis))
    yield from fold("Effect sizes, and p on these scenarios only", _effects(page, found))
    yield from fold("Estimates: method, and whom they speak of", _estimates(page))
    yield from fold("Pass rates drawn towards each other", _shrunk(page, analysis))


def _contrasts(page: ReportView, analysis: Analysis) -> list[Contrast]:
    """Return comparisons of families, then the screened ones; of the shown arms, tiers and models."""
    shown = {arm.arm for arm in page.arms}
    every = chain(page.changes.values(), analysis.contrasts)
    known = [one for one in every if (one.arm in shown or one.arm not in page.names) and one.value is not None]
    return sorted(known, key=lambda one: one.adjustment != "Holm")


def _tests(page: ReportView, found: list[Contrast]) -> Iterator[str]:
    if found:
        yield from table(_TESTS, (_test(page, one) for one in found[:_MOST]))
        yield from more(len(found) - _MOST, "comparison")


def _test(page: ReportView, one: Contrast) -> tuple[str, ...]:
    dropped = f" ({one.dropped} left out)" if one.dropped else ""
    return (
        _sides(page, one), title(one.metric), change(one), change_limits(one), change_limits(one, inner=True),
        _p(one.p), _p(one.p_adjusted), _p(one.least_p), f"{one.family} ({one.family_size}, {one.adjustment})",
        f"{one.scenarios}{dropped}", "/".join(str(count) for count in one.wins), _smallest(one), one.method, one.note,
    )  # fmt: skip


def _smallest(one: Contrast) -> str:
    if one.smallest_effect is None:
        return UNDEFINED
    if one.scale == "ratio":
        return f"x{ratio(one.smallest_effect)}"
    return f"{unit(one.metric).step(one.smallest_effect).lstrip('+')}{unit(one.metric).step_unit}"


def _omnibus(analysis: Analysis) -> Iterator[str]:
    """Yield the Friedman tests, on the scenarios that all arms share."""
    if analysis.omnibus:
        yield "By ranks of the arms within each scenario. W is Kendall's: 1 where all scenarios rank the arms alike."
        yield from table(
            ("metric", "arms", "scenarios", "chi-squared", "p", "W"),
            (
                (
                    title(test.metric),
                    str(test.arms),
                    str(test.scenarios),
                    number(test.statistic),
                    _p(test.p),
                    number(test.w),
                )
                for test in analysis.omnibus
            ),
        )


def _effects(page: ReportView, every: list[Contrast]) -> Iterator[str]:
    found = [one for one in every if one.d_z is not None or one.cohens_d is not None or one.p_here is not None]
    if not found:
        return
    yield _OF_WHAT
    rows = (
        (_sides(page, one), title(one.metric), *(number(each) for each in (
            one.cohens_d, one.hedges_g, one.cliffs_delta, one.d_z, one.correlation)), _p(one.p_here))
        for one in found[:_MOST]
    )  # fmt: skip
    yield from table(_EFFECTS, rows)
    yield from more(len(found) - _MOST, "comparison")


def _estimates(page: ReportView) -> Iterator[str]:
    rows = [(arm.arm, one) for arm in page.arms for one in _wanted(page, arm.arm)]
    if rows:
        yield from table(_ESTIMATES, (
            (page.name(arm), title(one.metric), value(one), limits(one), str(one.n), str(one.scenarios),
             one.method or UNDEFINED, one.target, one.note) for arm, one in rows
        ))  # fmt: skip
        yield from more(page.left_out, "arm")


def _wanted(page: ReportView, arm: str) -> list[Measure]:
    """Return all measures of few arms; of many arms, those of the headline."""
    found = page.measures.get(arm, {}).values()
    if len(page.report.arms) > MOST_COLUMNS:
        return [one for one in found if one.metric in _FOR_ALL]
    return [one for one in found if not one.metric.endswith(_LEFT_OUT) and one.state != "undefined"]


def _shrunk(page: ReportView, analysis: Analysis) -> Iterator[str]:
    shown = {arm.arm for arm in page.arms}
    rows = [estimate for estimate in analysis.shrunk if estimate.arm in shown]
    if rows:
        yield "A binomial model over arms and scenarios: with few trials, an arm's rate is drawn towards the others'."
        yield from table(("arm", "pass rate", "95 %"), (
            (page.name(row.arm), percent(row.rate), f"[{100 * row.low:.0f}, {100 * row.high:.0f}]") for row in rows
        ))  # fmt: skip


def _sides(page: ReportView, one: Contrast) -> str:
    return f"{page.name(one.arm)} against {page.name(one.baseline)}"


def _p(p: float | None) -> str:
    return UNDEFINED if p is None else format_p(p)


_CAREFUL: Final = """\
These arms have no scenarios in common, so they cannot be paired, and get no verdict. Each trial is taken as
independent: where scenarios are repeated, p is too small. The limits of means are those of the BCa bootstrap, which are
too narrow below some 30 trials."""
_ARMS: Final = ("metric", "arm", "trials", "mean", "95 % (BCa)", "median")
_PAIRS: Final = ("metric", "comparison", "Mann-Whitney p", "adjusted p", "Cliff's delta")


def unpaired(page: ReportView, analysis: Analysis) -> Iterator[str]:
    """Yield rank tests of arms that share no scenario."""
    if not analysis.unpaired:
        return
    yield _CAREFUL
    yield from table(
        ("metric", "Kruskal-Wallis H", "degrees", "p"),
        (
            (title(metric.metric), _number(metric.h), str(len(metric.arms) - 1), _p(metric.p))
            for metric in analysis.unpaired
        ),
    )
    yield from _limited(_ARMS, [row for one in analysis.unpaired for row in _arms(page, one)])
    yield from _limited(_PAIRS, [row for one in analysis.unpaired for row in _pairs(page, one)])


def _limited(heading: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    yield from table(heading, rows[:_MOST])
    yield from more(len(rows) - _MOST)


def _arms(page: ReportView, one: Unpaired) -> Iterator[tuple[str, ...]]:
    for arm in one.arms:
        limits = UNDEFINED if arm.low is None else f"[{_number(arm.low)}, {_number(arm.high)}]"
        yield title(one.metric), page.name(arm.arm), str(arm.n), _number(arm.mean), limits, _number(arm.median)


def _pairs(page: ReportView, one: Unpaired) -> Iterator[tuple[str, ...]]:
    for pair in one.pairs:
        sides = f"{page.name(pair.arm)} against {page.name(pair.baseline)}"
        yield title(one.metric), sides, _p(pair.p), _p(pair.p_adjusted), number(pair.cliffs_delta)


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.4g}"
