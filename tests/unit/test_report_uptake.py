"""Uses of declared resources in the data and all renderings of a report."""

import io

import pytest
from rich.console import Console

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.report import Report, ResourceUse
from scylla_gha.model.result import Result
from scylla_gha.report.terminal import terminal_report
from tests.support.records import make_cell, make_experiment, make_plan, make_result
from tests.support.reports import full_report, section

TITLE = "Use of the treatment"


def report_of(*uses: dict[str, int] | None, **given: object) -> Report:
    """A report of one arm, a trial for each of the uses, and of a baseline without resources."""
    cells = [make_cell(arm, at) for arm in ("plain", "with") for at in range(1, len(uses) + 1)]
    rows = [
        make_result(cell, **({"uses": found, **given} if cell.arm == "with" else {"uses": {}}))
        for cell, found in zip(cells, (*uses, *uses), strict=True)
    ]
    plan = make_plan(*cells, experiment=make_experiment(baseline="plain"))
    return aggregate(plan, rows, question=question_of(plan))


def unused(report: Report) -> list[str]:
    return [warning for warning in report.warnings if "never used" in warning]


def test_uses_are_counted_by_resource() -> None:
    plain, arm = report_of({"skill/a": 2, "mcp/c": 0}, {"skill/a": 0, "mcp/c": 0}, {"skill/a": 1, "mcp/c": 0}).arms
    assert plain.uses == ()
    assert arm.uses == (
        ResourceUse(resource="skill/a", trials=3, used=2, uses=3),
        ResourceUse(resource="mcp/c", trials=3, used=0, uses=0),
    )


def test_unknown_uses_are_no_trials() -> None:
    arm = report_of({"skill/a": 1}, None, None).arms[1]
    assert arm.uses == (ResourceUse(resource="skill/a", trials=1, used=1, uses=1),)
    assert report_of(None, None).arms[1].uses == ()
    assert make_result(make_cell()).uses is None, "a row of an earlier version"


@pytest.mark.parametrize(
    ("uses", "given", "words"),
    [
        ([{"skill/a": 0, "skill/b": 1, "skill/c": 0}] * 2, {}, ["2 of 3 skills were never used in 2 trials (a, c)"]),
        ([{"mcp/a": 0}], {}, ["1 of 1 MCP server was never used in 1 trial (a)"]),
        (
            [{"agent/a": 0, "mcp/b": 0}],
            {},
            ["1 of 1 MCP server was never used in 1 trial (b)", "1 of 1 sub-agent was never used in 1 trial (a)"],
        ),
        ([{"skill/a": 0}], {"skills_read": ("skill/a",)}, []),
        ([{"skill/a": 1}, {"skill/a": 0}], {}, []),
        ([{}], {}, []),
        ([None], {}, []),
    ],
)
def test_what_no_trial_used_is_a_warning(
    uses: list[dict[str, int] | None], given: dict[str, object], words: list[str]
) -> None:
    assert [warning.partition("; ")[0] for warning in unused(report_of(*uses, **given))] == [
        f"with: {text}" for text in words
    ]


def test_the_warning_says_what_was_compared() -> None:
    skill, server = unused(report_of({"skill/a": 0, "skill/b": 0, "mcp/c": 0}))
    assert skill.endswith("(a, b); what was compared of them is the description in the list.")
    assert server.endswith("(c); what was compared of it is the definitions of tools in the prompt.")


def test_each_rendering_shows_the_uses() -> None:
    report = full_report()
    lines = section(report, TITLE)
    assert any(line.startswith("| t1-01-skill | skill/tally | ") for line in lines), lines
    screen = io.StringIO()
    terminal_report(report, Console(file=screen, width=200))
    assert "skills, MCP servers and sub-agents used in any trial: " in screen.getvalue()


def test_without_resources_there_is_no_section() -> None:
    assert section(report_of({}, None), TITLE) == []


def test_a_trial_used_its_treatment_if_it_used_one_part() -> None:
    def row(uses: dict[str, int] | None) -> Result:
        return make_result(make_cell(), uses=uses)

    assert [row(uses).used for uses in (None, {}, {"skill/a": 0}, {"skill/a": 0, "mcp/b": 1})] == [
        None,
        None,
        False,
        True,
    ]


def effects(trials: int, used: int, scenarios: int = 8) -> Report:
    """The baseline passes every third trial; the arm passes where it used its skill, and otherwise as the baseline."""
    names = [f"{at:03d}-s" for at in range(scenarios)]
    cells = [make_cell(arm, at, name) for arm in ("plain", "with") for name in names for at in range(1, trials + 1)]
    rows = []
    for cell in cells:
        at = cell.repetition + int(cell.scenario[:3])
        is_used = cell.arm == "with" and at % trials < used
        rows.append(
            make_result(
                cell,
                passed=is_used or at % 3 == 0,
                score=0.5,
                uses={"skill/a": int(is_used)} if cell.arm == "with" else {},
            )
        )
    plan = make_plan(*cells, experiment=make_experiment(baseline="plain"))
    return aggregate(plan, rows, question=question_of(plan))


def test_the_effect_where_it_was_used_is_the_ratio_of_differences() -> None:
    report = effects(trials=5, used=3)
    assert report.analysis
    (effect,) = (each for each in report.analysis.used_effects if each.metric == "pass_rate")
    assert (effect.arm, effect.baseline, effect.scenarios, effect.uptake) == ("with", "plain", 8, pytest.approx(0.6))
    (ruling,) = report.analysis.rulings
    assert ruling.contrast.value
    assert effect.value == pytest.approx(ruling.contrast.value / 0.6)
    assert effect.low < effect.value < effect.high
    assert any("effect where used" in line for line in section(report, TITLE))


@pytest.mark.parametrize(
    "report",
    [effects(5, 3, scenarios=5), effects(5, 1), effects(5, 5), report_of({"skill/a": 1}, None)],
    ids=["few scenarios", "little used", "used by all", "one scenario"],
)
def test_the_effect_is_left_out_unless_the_data_bound_it(report: Report) -> None:
    assert report.analysis
    assert report.analysis.used_effects == ()
