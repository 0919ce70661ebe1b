"""Arms that share no scenario, as tables: what ranks of their trials tell."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.model.analysis import Analysis, Unpaired
from scylla_gha.render.grid import more, table
from scylla_gha.render.metrics import title
from scylla_gha.render.page import Page
from scylla_gha.render.text import UNDEFINED, number
from scylla_gha.stats.shown import shown_p

_MOST: Final = 60
_CAREFUL: Final = """\
These arms have no scenarios in common, so they cannot be paired, and get no verdict. Each trial is taken as
independent: where scenarios are repeated, p is too small. The limits of means are those of the BCa bootstrap, which are
too narrow below some 30 trials."""
_ARMS: Final = ("metric", "arm", "trials", "mean", "95 % (BCa)", "median")
_PAIRS: Final = ("metric", "comparison", "Mann-Whitney p", "adjusted p", "Cliff's delta")


def unpaired(page: Page, analysis: Analysis) -> Iterator[str]:
    """Nothing where all arms can be paired."""
    if not analysis.unpaired:
        return
    yield _CAREFUL
    yield from table(("metric", "Kruskal-Wallis H", "degrees", "p"), (
        (title(one.metric), _number(one.h), str(len(one.arms) - 1), _p(one.p)) for one in analysis.unpaired
    ))  # fmt: skip
    yield from _limited(_ARMS, [row for one in analysis.unpaired for row in _arms(page, one)])
    yield from _limited(_PAIRS, [row for one in analysis.unpaired for row in _pairs(page, one)])


def _limited(heading: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    yield from table(heading, rows[:_MOST])
    yield from more(len(rows) - _MOST)


def _arms(page: Page, one: Unpaired) -> Iterator[tuple[str, ...]]:
    for arm in one.arms:
        limits = UNDEFINED if arm.low is None else f"[{_number(arm.low)}, {_number(arm.high)}]"
        yield title(one.metric), page.name(arm.arm), str(arm.n), _number(arm.mean), limits, _number(arm.median)


def _pairs(page: Page, one: Unpaired) -> Iterator[tuple[str, ...]]:
    for pair in one.pairs:
        sides = f"{page.name(pair.arm)} against {page.name(pair.baseline)}"
        yield title(one.metric), sides, _p(pair.p), _p(pair.p_adjusted), number(pair.cliffs_delta)


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.4g}"


def _p(p: float | None) -> str:
    return UNDEFINED if p is None else shown_p(p)
