"""Tiers: their pass rates, each against the one before, and the best sub-test of each, told without flattery."""

from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.model.analysis import Analysis, Contrast
from scylla_gha.render.grid import escape, more, table
from scylla_gha.render.metrics import change, change_limits, estimate, limits, value
from scylla_gha.render.page import PASS, Page
from scylla_gha.render.report_changes import reading
from scylla_gha.stats.shown import shown_p

_MOST: Final = 20
_STEPS: Final = ("comparison", "change of the pass rate", "95 %", "reading", "p adjusted", "scenarios")
_BEST: Final = ("tier", "sub-tests", "best", "passes, in the half that chose it", "passes, in the other half")


def tiers(page: Page) -> Iterator[str]:
    """Nothing where all arms are of one tier with one sub-test."""
    analysis = page.analysis
    slices = [one for one in analysis.slices if one.by == "tier"] if analysis else []
    if analysis is None or (len(slices) < 2 and not analysis.best):  # noqa: PLR2004 one is compared with nothing
        return
    yield "\n## Tiers\n"
    yield "A tier is its sub-tests, each weighing the same."
    rows = ((one.name, value(one.rate), limits(one.rate), str(one.rate.n), str(one.rate.scenarios)) for one in slices)
    yield from table(("tier", "pass", "95 %", "trials", "scenarios"), rows)
    names = {one.name for one in slices}
    yield from _compared("Each tier against the one before:", page, _between(analysis, names, inside=True))
    yield from _best(page, analysis)


def families(page: Page) -> Iterator[str]:
    """Comparisons of pass rates that are neither of tiers nor against the baseline: of models, say."""
    if page.analysis is None:
        return
    names = {one.name for one in page.analysis.slices if one.by == "tier"}
    found = _between(page.analysis, names, inside=False)
    for family in dict.fromkeys(one.family for one in found):
        yield f"\n## {escape(family[:1].upper() + family[1:])}\n"
        yield from _compared("Paired by scenario:", page, [one for one in found if one.family == family])


def _between(analysis: Analysis, names: set[str], *, inside: bool) -> list[Contrast]:
    return [one for one in analysis.contrasts if one.metric == PASS and (one.arm in names) == inside]


def _compared(lead: str, page: Page, found: Sequence[Contrast]) -> Iterator[str]:
    if not found:
        return
    yield lead
    rows = ((f"{page.name(one.arm)} against {page.name(one.baseline)}", change(one), change_limits(one),
             _read(one), shown_p(one.p_adjusted), str(one.scenarios)) for one in found[:_MOST])  # fmt: skip
    yield from table(_STEPS, rows)
    yield from more(len(found) - _MOST, "more comparisons")


def _read(one: Contrast) -> str:
    """A claim within a family takes the adjusted p as well as the interval."""
    sure = one.p_adjusted is not None and one.p_adjusted <= 0.05  # noqa: PLR2004 the level of all verdicts
    return reading(one, None if sure else "not_enough_data")


def _best(page: Page, analysis: Analysis) -> Iterator[str]:
    if not analysis.best:
        return
    yield ("The best of several is better by luck as well. So it is chosen on one half of the repetitions; the last "
           "column, the other half, is the number to go by:")  # fmt: skip
    rows = ((one.tier, str(one.of), page.name(one.arm), value(one.chosen), estimate(one.reported))
            for one in analysis.best)  # fmt: skip
    yield from table(_BEST, rows)
