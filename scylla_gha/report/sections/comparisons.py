"""Comparisons: changes against the baseline by metric, tiers, families of comparisons, and the best sub-tests."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.model.analysis import Analysis, Contrast, Verdict
from scylla_gha.report.markdown_table import code, escape, more, table
from scylla_gha.report.metrics import change, change_limits, estimate, limits, title, value
from scylla_gha.report.summary import MARKS
from scylla_gha.report.view import PASS, ReportView
from scylla_gha.stats.simple import format_p

_FEW_ARMS: Final = 4  # of which all is shown; of more, what can be told
_MOST_ROWS: Final = 40
_HEADINGS: Final = ("arm", "metric", "change", "95 %", "reading", "scenarios")


def changes(page: ReportView) -> Iterator[str]:
    """Yield the changes of each arm: pass rate with its verdict first, then the exploratory metrics."""
    told = [one for one in _all(page) if _moves(one)]
    if not told:
        return
    few = len(page.changes) < _FEW_ARMS
    shown = told if few else [one for one in told if one.metric == PASS or reading(one)[0] != MARKS["not_enough_data"]]
    held = code(page.name(page.baseline)) if page.baseline else "what each arm changes"
    yield f"\n## Changes against {held}\n"
    yield ("Paired by scenario. ▲ and ▼ say more and less, and only where the interval excludes no change; for the "
           "pass rate, where the verdict is better or worse. Only the pass rate was asked about: the other rows are "
           "for looking around, and one in twenty of them may point somewhere by chance.")  # fmt: skip
    if not few:
        yield "Of so many arms, rows other than the pass rate are shown only if they differ from no change."
    yield from table(_HEADINGS, (_row(page, one) for one in shown[:_MOST_ROWS]))
    yield from more(len(told) - len(shown[:_MOST_ROWS]), "row")
    yield from more(page.left_out, "arm")


def reading(contrast: Contrast, verdict: Verdict | None = None) -> str:
    """Return the reading of an interval, or the verdict if there is one."""
    none = 1.0 if contrast.scale == "ratio" else 0.0
    if verdict in {"equivalent", "not_enough_data"}:
        return f"{MARKS[verdict]} {verdict.replace('_', ' ')}"
    if contrast.low is None or contrast.high is None:
        return f"{MARKS['not_enough_data']} no interval"
    if contrast.low <= none <= contrast.high:
        return f"{MARKS['not_enough_data']} cannot be told"
    return f"{MARKS['better']} more" if contrast.low > none else f"{MARKS['worse']} less"


def _all(page: ReportView) -> Iterator[Contrast]:
    """Yield the comparisons of the shown arms, arm by arm."""
    by_arm: dict[str, list[Contrast]] = {arm.arm: [] for arm in page.arms}
    for one in _screened(page):
        if one.arm in by_arm:
            by_arm[one.arm].append(one)
    for arm, found in by_arm.items():
        if arm in page.changes:
            yield page.changes[arm]
        yield from found


def _screened(page: ReportView) -> Iterable[Contrast]:
    contrasts = page.analysis.contrasts if page.analysis else ()
    return (contrast for contrast in contrasts if contrast.metric != PASS and _is_asked(page, contrast))


def _is_asked(page: ReportView, one: Contrast) -> bool:
    return one.arm in page.changes and one.baseline == page.changes[one.arm].baseline


def _moves(contrast: Contrast) -> bool:
    """Return False if neither arm has a value."""
    return contrast.metric == PASS or (contrast.value is not None and (contrast.value != 0 or contrast.low is not None))


def _row(page: ReportView, one: Contrast) -> tuple[str, ...]:
    verdicts = (
        {comparison.arm: comparison.verdict for comparison in page.report.comparisons} if one.metric == PASS else {}
    )
    return (
        page.name(one.arm), title(one.metric), change(one), change_limits(one), reading(one, verdicts.get(one.arm)),
        str(one.scenarios),
    )  # fmt: skip


_MOST: Final = 20
_STEPS: Final = ("comparison", "change of the pass rate", "95 %", "reading", "p adjusted", "scenarios")
_BEST: Final = ("tier", "sub-tests", "best", "passes, in the half that chose it", "passes, in the other half")


def tiers(page: ReportView) -> Iterator[str]:
    """Yield the tiers; nothing if all arms are of one tier with one sub-test."""
    analysis = page.analysis
    slices = [one for one in analysis.slices if one.by == "tier"] if analysis else []
    if analysis is None or (len(slices) < 2 and not analysis.best):  # noqa: PLR2004 one is compared with nothing
        return
    yield "\n## Tiers\n"
    yield "A tier is its sub-tests, each weighing the same."
    rows = (
        (slice_.name, value(slice_.rate), limits(slice_.rate), str(slice_.rate.n), str(slice_.rate.scenarios))
        for slice_ in slices
    )
    yield from table(("tier", "pass", "95 %", "trials", "scenarios"), rows)
    names = {one.name for one in slices}
    yield from _compared("Each tier against the one before:", page, _between(analysis, names, inside=True))
    yield from _best(page, analysis)


def families(page: ReportView) -> Iterator[str]:
    """Yield other comparisons of pass rates, such as those of models."""
    if page.analysis is None:
        return
    names = {slice_.name for slice_ in page.analysis.slices if slice_.by == "tier"}
    found = _between(page.analysis, names, inside=False)
    for family in dict.fromkeys(one.family for one in found):
        yield f"\n## {escape(family[:1].upper() + family[1:])}\n"
        yield from _compared("Paired by scenario:", page, [one for one in found if one.family == family])


def _between(analysis: Analysis, names: set[str], *, inside: bool) -> list[Contrast]:
    return [
        contrast for contrast in analysis.contrasts if contrast.metric == PASS and (contrast.arm in names) == inside
    ]


def _compared(lead: str, page: ReportView, found: Sequence[Contrast]) -> Iterator[str]:
    if not found:
        return
    yield lead
    rows = ((f"{page.name(one.arm)} against {page.name(one.baseline)}", change(one), change_limits(one),
             _read(one), format_p(one.p_adjusted), str(one.scenarios)) for one in found[:_MOST])  # fmt: skip
    yield from table(_STEPS, rows)
    yield from more(len(found) - _MOST, "comparison")


def _read(one: Contrast) -> str:
    """Return the reading; a claim within a family needs the adjusted p as well as the interval."""
    sure = one.p_adjusted is not None and one.p_adjusted <= 0.05  # noqa: PLR2004 the level of all verdicts
    return reading(one, None if sure else "not_enough_data")


def _best(page: ReportView, analysis: Analysis) -> Iterator[str]:
    if not analysis.best:
        return
    yield ("The best of several is better by luck as well. So it is chosen on one half of the repetitions; the last "
           "column, the other half, is the number to go by:")  # fmt: skip
    rows = ((choice.tier, str(choice.of), page.name(choice.arm), value(choice.chosen), estimate(choice.reported))
            for choice in analysis.best)  # fmt: skip
    yield from table(_BEST, rows)
