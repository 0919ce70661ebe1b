"""Scenarios by arms: passed of judged trials in each field, scenarios that no arm passed first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.counting import counted
from scylla_gha.model.report import ScenarioRow
from scylla_gha.report.charts.layers import by_row, row_text, table
from scylla_gha.report.charts.theme import Chart, Color, finish, listed, not_drawn, paint, short
from scylla_gha.report.view import ReportView

if TYPE_CHECKING:
    import altair as alt

_ROW: Final = 24
_MOST_SCENARIOS: Final = 60
_FEW: Final = 5  # arms with room for names in one line
_WIDE: Final = 112  # of a column, with few arms
_NARROW: Final = 36
_SHORT_NAME: Final = 15
_SLANTED_NAME: Final = 22
_BROKEN: Final = "✗"
_LEVELS: Final[dict[str, Color]] = {
    "none": "level-none",
    "less than half": "level-few",
    "half or more": "level-most",
    "all": "level-all",
    "not judged": "surface",
}


@dataclass(frozen=True, slots=True)
class _Field:
    """A scenario and an arm."""

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
    """Draw passes by scenario and arm; None if nothing was judged."""
    arms = [arm.arm for arm in view.arms]
    rows = sorted((row for row in view.report.scenarios if _judged(row, arms)), key=lambda row: _rank(row, arms))
    if not rows:
        return None
    chart = _draw(view, rows[:_MOST_SCENARIOS], arms)
    return finish(chart, "scenario_map", "Passed trials by scenario and arm", _alternative(view, rows, arms))


def _judged(row: ScenarioRow, arms: Sequence[str]) -> int:
    return sum(row.passed.get(arm, (0, 0))[1] for arm in arms)


def _passed(row: ScenarioRow, arms: Sequence[str]) -> int:
    return sum(row.passed.get(arm, (0, 0))[0] for arm in arms)


def _rank(row: ScenarioRow, arms: Sequence[str]) -> tuple[float, str]:
    """Order scenarios by their pass rate over all shown arms, lowest first: those that no arm passed lead."""
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


def _draw(view: ReportView, rows: Sequence[ScenarioRow], arms: Sequence[str]) -> "alt.TopLevelMixin":
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
    ).properties(width=alt.Step(_WIDE if is_wide else _NARROW), height=alt.Step(_ROW))


def _arm_names(names: Sequence[str], x: "alt.X", *, is_wide: bool) -> "alt.Chart":
    """Write the names above the columns, slanted if these are narrow."""
    import altair as alt

    data = table([_Arm(at, short(name, _SHORT_NAME if is_wide else _SLANTED_NAME)) for at, name in enumerate(names)])
    wide, slanted = data.mark_text(baseline="bottom", y=-8), data.mark_text(align="left", angle=310, y=-8)
    headings: alt.Chart = (wide if is_wide else slanted).encode(x=x, text=alt.Text("name:N"))
    return headings


def _scenario(row: int, scenario: ScenarioRow, arms: Sequence[str]) -> _Scenario:
    if _passed(scenario, arms):
        return _Scenario(row, short(scenario.scenario), paint("text"))
    return _Scenario(row, f"{_BROKEN} {short(scenario.scenario)}", paint("worse"))


def _alternative(view: ReportView, rows: Sequence[ScenarioRow], arms: Sequence[str]) -> str:
    broken = [row.scenario for row in rows if not _passed(row, arms)]
    solved = sum(_passed(row, arms) == _judged(row, arms) for row in rows)
    order = "Passed of judged trials by scenario and arm, the scenario that passes least first."
    total = f"{solved:,} of {counted(len(rows), 'scenario')} passed always."
    worst = f"No arm passed {listed(broken)}, marked {_BROKEN}." if broken else "Each was passed by some arm."
    later = [row.scenario for row in rows[_MOST_SCENARIOS:]]
    more = [f"Not drawn, as they pass most: {listed(later)}."] if later else []
    return " ".join([order, total, worst, *more, *not_drawn(view.left_out, "arm")])
