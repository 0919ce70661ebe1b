"""Pass rates by scenario, and by kind of scenario."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import Slice
from scylla_gha.model.report import ScenarioRow
from scylla_gha.report.markdown_table import more, table
from scylla_gha.report.metrics import estimate
from scylla_gha.report.numbers import UNDEFINED, percent
from scylla_gha.report.view import MOST_COLUMNS, ReportView

_MOST_ROWS: Final = 50
_KINDS: Final = ("category", "difficulty", "size")


def scenarios(page: ReportView) -> Iterator[str]:
    """Yield passed of judged for each arm; for many arms, mean and range."""
    rows = page.report.scenarios
    if not rows:
        return
    yield "\n## Scenarios\n"
    ranked = rows if len(rows) <= _MOST_ROWS else sorted(rows, key=_mean)
    if len(ranked) > _MOST_ROWS:
        yield f"The {_MOST_ROWS} hardest of {len(rows):,}."
    if len(page.report.arms) <= MOST_COLUMNS:
        yield "Passed of judged:"
        arms = [arm.arm for arm in page.report.arms]
        cells = ((row.scenario, *(_cell(row.passed[arm]) for arm in arms)) for row in ranked[:_MOST_ROWS])
        yield from table(("scenario", *(page.name(arm) for arm in arms)), cells)
    else:
        yield f"Pass rates of all {counted(len(page.report.arms), 'arm')}; each arm's own are in report.json:"
        yield from table(("scenario", "mean", "least", "most", "arms that never pass"),
                         (_summed(row) for row in ranked[:_MOST_ROWS]))  # fmt: skip
    yield from more(len(rows) - _MOST_ROWS, "scenario")


def kinds(page: ReportView) -> Iterator[str]:
    """Yield pass rates by category, difficulty and size, if there are several."""
    found = [rows for by in _KINDS if len(rows := _by(page, by)) > 1]
    if not found:
        return
    wide = len(page.report.arms) <= MOST_COLUMNS
    arms = [arm.arm for arm in page.report.arms]
    yield "\n## Kinds of scenario\n"
    if wide:
        yield "Pass rate, with its 95 % interval; of one scenario alone, it speaks of that scenario."
    else:
        yield f"Pass rates of all {counted(len(arms), 'arm')}; each arm's own are in report.json:"
    headings = [page.name(arm) for arm in arms] if wide else ["mean", "least", "most"]
    for by, rows in ((rows[next(iter(rows))][0].by, rows) for rows in found):
        yield from table(
            (by, "scenarios", *headings), (_kind(name, each, arms, wide=wide) for name, each in rows.items())
        )


def _by(page: ReportView, by: str) -> dict[str, list[Slice]]:
    found: dict[str, list[Slice]] = {}
    for slice_ in page.analysis.slices if page.analysis else ():
        if slice_.by == by:
            found.setdefault(slice_.name, []).append(slice_)
    return found


def _kind(name: str, slices: Sequence[Slice], arms: Sequence[str], *, wide: bool) -> tuple[str, ...]:
    first = (name, str(max(one.rate.scenarios for one in slices)))
    if wide:
        rates = {slice_.arm: slice_.rate for slice_ in slices}
        return (*first, *(estimate(rates.get(arm)) for arm in arms))
    return (*first, *_range([one.rate.value for one in slices if one.rate.value is not None]))


def _cell(passed: tuple[int, int]) -> str:
    return f"{passed[0]}/{passed[1]}" if passed[1] else UNDEFINED


def _rates(row: ScenarioRow) -> list[float]:
    return [passed / judged for passed, judged in row.passed.values() if judged]


def _mean(row: ScenarioRow) -> float:
    rates = _rates(row)
    return fmean(rates) if rates else 2.0  # scenarios without a judged trial come last


def _summed(row: ScenarioRow) -> tuple[str, ...]:
    rates = _rates(row)
    never = f"{sum(rate == 0 for rate in rates):,} of {len(rates):,}" if rates else UNDEFINED
    return (row.scenario, *_range(rates), never)


def _range(rates: Sequence[float]) -> tuple[str, str, str]:
    if not rates:
        return (UNDEFINED, UNDEFINED, UNDEFINED)
    return percent(fmean(rates)), percent(min(rates)), percent(max(rates))
