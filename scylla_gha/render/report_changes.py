"""What each arm changes against the baseline, metric by metric: one estimand per row."""

from collections.abc import Iterable, Iterator
from typing import Final

from scylla_gha.model.analysis import Contrast, Verdict
from scylla_gha.render.answers import MARKS
from scylla_gha.render.grid import code, more, table
from scylla_gha.render.metrics import change, change_limits, title
from scylla_gha.render.page import PASS, Page

_FEW_ARMS: Final = 4  # of which all is shown; of more, what can be told
_MOST_ROWS: Final = 40
_HEADINGS: Final = ("arm", "metric", "change", "95 %", "reading", "scenarios")


def changes(page: Page) -> Iterator[str]:
    """Pass rate first, by its verdict; then what else is compared, to look around."""
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
        yield "Of so many arms, rows beside the pass rate stand here only where they can be told from no change."
    yield from table(_HEADINGS, (_row(page, one) for one in shown[:_MOST_ROWS]))
    yield from more(len(told) - len(shown[:_MOST_ROWS]), "more rows")
    yield from more(page.left_out, "more arms")


def reading(contrast: Contrast, verdict: Verdict | None = None) -> str:
    """What the interval says, or the verdict where there is one."""
    none = 1.0 if contrast.scale == "ratio" else 0.0
    if verdict in {"equivalent", "not_enough_data"}:
        return f"{MARKS[verdict]} {verdict.replace('_', ' ')}"
    if contrast.low is None or contrast.high is None:
        return f"{MARKS['not_enough_data']} no interval"
    if contrast.low <= none <= contrast.high:
        return f"{MARKS['not_enough_data']} cannot be told"
    return f"{MARKS['better']} more" if contrast.low > none else f"{MARKS['worse']} less"


def _all(page: Page) -> Iterator[Contrast]:
    """Of the arms that are shown, arm by arm."""
    by_arm: dict[str, list[Contrast]] = {arm.arm: [] for arm in page.arms}
    for one in _screened(page):
        if one.arm in by_arm:
            by_arm[one.arm].append(one)
    for arm, found in by_arm.items():
        if arm in page.changes:
            yield page.changes[arm]
        yield from found


def _screened(page: Page) -> Iterable[Contrast]:
    contrasts = page.analysis.contrasts if page.analysis else ()
    return (one for one in contrasts if one.metric != PASS and _is_asked(page, one))


def _is_asked(page: Page, one: Contrast) -> bool:
    return one.arm in page.changes and one.baseline == page.changes[one.arm].baseline


def _moves(contrast: Contrast) -> bool:
    """False for what neither arm has any of."""
    return contrast.metric == PASS or (contrast.value is not None and (contrast.value != 0 or contrast.low is not None))


def _row(page: Page, one: Contrast) -> tuple[str, ...]:
    verdicts = {each.arm: each.verdict for each in page.report.comparisons} if one.metric == PASS else {}
    return (
        page.name(one.arm), title(one.metric), change(one), change_limits(one), reading(one, verdicts.get(one.arm)),
        str(one.scenarios),
    )  # fmt: skip
