"""Draw charts of pass rates: by tier, and by scenario and arm."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import BestSubtest, Contrast, Slice
from scylla_gha.model.report import ScenarioRow
from scylla_gha.report.charts.theme import (
    GAP,
    Chart,
    Color,
    by_row,
    finish,
    first_few,
    name_list,
    not_drawn,
    paint,
    row_text,
    short,
    table,
)
from scylla_gha.report.comparisons import arrow, family_reading
from scylla_gha.report.metrics import change, estimate, value
from scylla_gha.report.view import PASS, ReportView

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 270
_ROW: Final = 38
_MAP_ROW: Final = 24
_MOST_SCENARIOS: Final = 60
_FEW: Final = 5  # arms with room for names in one line
_WIDE: Final = 112  # pixels of a column, with few arms
_NARROW: Final = 36  # pixels of a column, with many arms
_SHORT_NAME: Final = 15
_SLANTED_NAME: Final = 22
_NEVER_PASSED: Final = "✗"
_LEVELS: Final[dict[str, Color]] = {
    "none": "level-none",
    "less than half": "level-few",
    "half or more": "level-most",
    "all": "level-all",
    "not judged": "surface",
}


@dataclass(frozen=True, slots=True)
class _Tier:
    """A tier; rates are in percent."""

    row: int
    name: str
    rate: float
    low: float | None
    high: float | None
    best: float | None
    numbers: str
    step: str
    subtest: str


def tier_ladder(view: ReportView) -> Chart | None:
    """Draw the tiers; None if there are fewer than two."""
    tiers = [part for part in (view.analysis.slices if view.analysis else ()) if part.by == "tier"]
    if view.analysis is None or len(tiers) < 2:  # noqa: PLR2004 a ladder has two steps
        return None
    steps = {contrast.arm: contrast for contrast in view.analysis.contrasts if contrast.metric == PASS}
    best = {subtest.tier: subtest for subtest in view.analysis.best}
    rows = [_tier(view, at, tier, steps.get(tier.name), best.get(tier.name)) for at, tier in enumerate(tiers)]
    statements = [f"{row.name}: {row.numbers}{row.step and f', {row.step}'}{row.subtest}" for row in rows]
    alternative = f"Pass rate of each tier, its sub-tests with equal weights. {first_few(statements)}"
    return finish(_draw(rows), "tier_ladder", "Pass rate by tier", alternative)


def _tier(view: ReportView, row: int, tier: Slice, step: Contrast | None, best: BestSubtest | None) -> _Tier:
    rate = tier.rate
    low, high, top = (
        None if x is None else 100 * x for x in (rate.low, rate.high, best.reported.value if best else None)
    )
    return _Tier(
        row=row,
        name=short(tier.name),
        rate=100 * (rate.value or 0.0),
        low=low,
        high=high,
        best=top,
        numbers=estimate(rate),
        step="" if step is None else _step(step),
        subtest=f", best sub-test {short(view.name(best.arm))} {value(best.reported)}" if best else "",
    )


def _step(step: Contrast) -> str:
    words = family_reading(step)
    return f"{arrow(step, words)}{change(step)}, {words}"


def _draw(rows: Sequence[_Tier]) -> "alt.TopLevelMixin":
    import altair as alt

    data, color = table(rows), paint("better")
    has_best = any(row.best is not None for row in rows)
    title = f"pass rate in percent, 95 % interval{'; ◇: best sub-test, on other repetitions' if has_best else ''}"
    x = alt.X("rate:Q", scale=alt.Scale(domain=[0, 100]), title=title, axis=alt.Axis(tickCount=5))
    return alt.layer(
        data.transform_filter("datum.low !== null && datum.high !== null")
        .mark_rule(strokeWidth=2.5, color=color)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=by_row()),
        data.mark_circle(size=130, opacity=1, color=color).encode(x=x, y=by_row()),
        data.transform_filter("datum.best !== null")
        .mark_point(shape="diamond", size=110, fill=paint("surface"), stroke=paint("text"), opacity=1)
        .encode(x=alt.X("best:Q"), y=by_row()),
        row_text(data, "name", -GAP),
        row_text(data, "numbers", _WIDTH + GAP, dy=-8, bold=True),
        row_text(data, "step", _WIDTH + GAP, dy=8),
    ).properties(width=_WIDTH, height=alt.Step(_ROW))


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of the map: the passed trials of an arm on a scenario."""

    row: int
    column: int
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class _Scenario:
    row: int
    name: str
    color: str


@dataclass(frozen=True, slots=True)
class _Arm:
    column: int
    name: str


def scenario_map(view: ReportView) -> Chart | None:
    """Draw the passed trials by scenario and arm; None if nothing was judged."""
    arms = [arm.arm for arm in view.arms]
    rows = sorted((row for row in view.report.scenarios if _judged(row, arms)), key=lambda row: _rank(row, arms))
    if not rows:
        return None
    chart = _draw_map(view, rows[:_MOST_SCENARIOS], arms)
    return finish(chart, "scenario_map", "Passed trials by scenario and arm", _alternative(view, rows, arms))


def _judged(row: ScenarioRow, arms: Sequence[str]) -> int:
    return sum(row.passed.get(arm, (0, 0))[1] for arm in arms)


def _passed(row: ScenarioRow, arms: Sequence[str]) -> int:
    return sum(row.passed.get(arm, (0, 0))[0] for arm in arms)


def _rank(row: ScenarioRow, arms: Sequence[str]) -> tuple[float, str]:
    """Return the sort key of a scenario: lowest pass rate over all shown arms first."""
    return _passed(row, arms) / _judged(row, arms), row.scenario


def _fields(rows: Sequence[ScenarioRow], arms: Sequence[str]) -> Iterator[_Field]:
    for at, row in enumerate(rows):
        for column, arm in enumerate(arms):
            passed, judged = row.passed.get(arm, (0, 0))
            yield _Field(at, column, _level(passed, judged), f"{passed}/{judged}" if judged else "-")


def _level(passed: int, judged: int) -> str:
    if not judged:
        return "not judged"
    if passed in {0, judged}:
        return "all" if passed else "none"
    return "half or more" if 2 * passed >= judged else "less than half"


def _draw_map(view: ReportView, rows: Sequence[ScenarioRow], arms: Sequence[str]) -> "alt.TopLevelMixin":
    import altair as alt

    fields = list(_fields(rows, arms))
    used = [level for level in _LEVELS if any(field.level == level for field in fields)]
    color = alt.Color(
        "level:N",
        legend=alt.Legend(orient="bottom", symbolType="square"),
        title="trials passed",
        scale=alt.Scale(domain=used, range=[paint(_LEVELS[level]) for level in used]),
    )
    data, x, is_wide = table(fields), alt.X("column:O", axis=None), len(arms) <= _FEW
    return alt.layer(
        data.mark_rect(stroke=paint("surface"), strokeWidth=2).encode(x=x, y=by_row(), color=color),
        data.mark_text().encode(x=x, y=by_row(), text=alt.Text("text:N")),
        _arm_names([view.name(arm) for arm in arms], x, is_wide=is_wide),
        row_text(table([_scenario(at, row, arms) for at, row in enumerate(rows)]), "name", -10, color=None),
    ).properties(width=alt.Step(_WIDE if is_wide else _NARROW), height=alt.Step(_MAP_ROW))


def _arm_names(names: Sequence[str], x: "alt.X", *, is_wide: bool) -> "alt.Chart":
    """Write the names of arms above the columns, slanted if the columns are narrow."""
    import altair as alt

    data = table([_Arm(at, short(name, _SHORT_NAME if is_wide else _SLANTED_NAME)) for at, name in enumerate(names)])
    wide, slanted = data.mark_text(baseline="bottom", y=-8), data.mark_text(align="left", angle=310, y=-8)
    headings: alt.Chart = (wide if is_wide else slanted).encode(x=x, text=alt.Text("name:N"))
    return headings


def _scenario(row: int, scenario: ScenarioRow, arms: Sequence[str]) -> _Scenario:
    if _passed(scenario, arms):
        return _Scenario(row, short(scenario.scenario), paint("text"))
    return _Scenario(row, f"{_NEVER_PASSED} {short(scenario.scenario)}", paint("worse"))


def _alternative(view: ReportView, rows: Sequence[ScenarioRow], arms: Sequence[str]) -> str:
    unsolved = [row.scenario for row in rows if not _passed(row, arms)]
    solved = sum(_passed(row, arms) == _judged(row, arms) for row in rows)
    order = "Passed of judged trials by scenario and arm, scenarios with the lowest pass rate first."
    total = f"{solved:,} of {counted(len(rows), 'scenario')} passed in all trials."
    worst = (
        f"No arm passed {name_list(unsolved)}, marked {_NEVER_PASSED}." if unsolved else "Each was passed by an arm."
    )
    later = [row.scenario for row in rows[_MOST_SCENARIOS:]]
    more = [f"Not drawn, with the highest pass rates: {name_list(later)}."] if later else []
    return " ".join([order, total, worst, *more, *not_drawn(view.left_out, "arm")])
