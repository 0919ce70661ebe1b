"""Charts of a report: their numbers are those of the report, and names in them are inert."""

from typing import Any

import pytest

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.report import Report, ScenarioRow
from scylla_gha.report.charts import CHARTS, draw
from scylla_gha.report.charts.arms import cost_pass, forest
from scylla_gha.report.charts.pass_rates import scenario_map, tier_ladder
from scylla_gha.report.charts.theme import short
from scylla_gha.report.charts.trials import costs, judges, times, tokens
from scylla_gha.report.view import report_view
from tests.support.charts import marks, painted, require_inert, texts
from tests.support.records import make_cell, make_experiment, make_plan
from tests.support.reports import full_report, hostile_rows_report, row_of


def test_the_forest_plot_shows_verdict_and_change_of_each_arm_in_its_place() -> None:
    report = full_report()
    chart = forest(report_view(report))
    assert chart
    assert report.analysis
    assert chart.title == "Change of the pass rate against t0-00-empty"
    skill, vanilla = sorted(report.analysis.rulings, key=lambda ruling: -(ruling.contrast.value or 0))
    shown = texts(chart)
    assert shown[:3] == ["✓ better", "t1-01-skill", "+50.0 [+20.9, +71.0]"]
    assert shown[3:6] == ["? not enough data", "t0-01-vanilla", "+10.4 [-16.2, +35.6]"]
    ticks = {mark.text: mark.x for mark in marks(chart) if mark.text in {"0", "+40"}}
    points = (ticks["+40"] - ticks["0"]) / 40
    (line,), (triangle,) = painted(chart, "better", "line"), painted(chart, "better", "path")
    assert triangle.x - ticks["0"] == pytest.approx(100 * (skill.contrast.value or 0) * points, abs=1)
    width = 100 * ((skill.contrast.high or 0) - (skill.contrast.low or 0)) * points
    assert abs(float(line.attributes["x2"])) == pytest.approx(width, abs=1)
    assert [mark.tag for mark in painted(chart, "unclear")] == ["path"]
    assert "t1-01-skill: ✓ better, +50.0 [+20.9, +71.0]" in chart.alternative
    assert vanilla.contrast.arm.startswith("t0-01-vanilla")


def test_a_report_without_comparisons_has_no_forest_plot() -> None:
    report = full_report()
    assert report.analysis
    alone = report.model_copy(
        update={"comparisons": (), "analysis": report.analysis.model_copy(update={"rulings": ()})}
    )
    assert forest(report_view(alone)) is None
    assert forest(report_view(report.model_copy(update={"analysis": None}))) is None


def test_cost_against_pass_rate_names_each_arm_with_its_numbers_and_says_whose_cost_is_unknown() -> None:
    report = full_report()
    chart = cost_pass(report_view(report))
    assert chart
    key = ["t1-01-skill: 79 %, $0.18", "t0-01-vanilla: 40 %, $0.14", "t0-00-empty: 29 %, $0.10, baseline"]
    assert [text for text in texts(chart) if "%" in text] == key
    assert "dashed line: highest pass rate for the cost (Pareto front)" in texts(chart)
    discs = {number: next(mark for mark in marks(chart) if mark.text == number) for number in "123"}
    assert discs["1"].y < discs["2"].y < discs["3"].y
    assert discs["1"].x > discs["2"].x > discs["3"].x
    unknown = cost_pass(report_view(without_cost(report, "t1-01-skill.cli.m")))
    assert unknown
    assert "Not drawn, since their cost or pass rate is unknown: t1-01-skill." in unknown.alternative
    assert "t1-01-skill" not in " ".join(texts(unknown))
    for arm in report.arms:
        report = without_cost(report, arm.arm)
    assert cost_pass(report_view(report)) is None


def without_cost(report: Report, arm: str) -> Report:
    assert report.analysis
    measures = tuple(
        of_arm.model_copy(update={"measures": tuple(measure for measure in of_arm.measures if measure.metric != "usd")})
        if of_arm.arm == arm else of_arm for of_arm in report.analysis.measures
    )  # fmt: skip
    return report.model_copy(update={"analysis": report.analysis.model_copy(update={"measures": measures})})


def test_the_map_of_scenarios_leads_with_those_that_no_arm_passed_and_names_what_it_leaves_out() -> None:
    report = full_report()
    broken = ScenarioRow(scenario="900-broken", passed={arm.arm: (0, 3) for arm in report.arms})
    easy = [ScenarioRow(scenario=f"easy-{at}", passed={arm.arm: (3, 3) for arm in report.arms}) for at in range(60)]
    chart = scenario_map(report_view(report.model_copy(update={"scenarios": (*report.scenarios, *easy, broken)})))
    assert chart
    lines = texts(chart)
    assert lines[3:11] == ["✗ 900-broken", "0/3", "0/3", "0/3", "004-new-module", "0/2", "0/3", "1/3"]
    assert sum(line.endswith("/3") for line in lines) > 3 * 59 - 8
    assert "No arm passed 900-broken, marked ✗." in chart.alternative
    assert "Not drawn, with the highest pass rates: easy-" in chart.alternative
    assert scenario_map(report_view(report.model_copy(update={"scenarios": ()}))) is None


def test_times_of_trials_show_each_trial_the_quartiles_and_timeouts() -> None:
    chart = times(report_view(full_report()))
    assert chart
    assert texts(chart)[:4] == ["85 s (62 s to 108 s)", "t0-00-empty", "✕", "23 trials, ✕ 1 timeout"]
    ticks = {mark.text: mark.x for mark in marks(chart) if mark.text in {"0", "100", "600"}}
    (late,) = [mark for mark in marks(chart) if mark.text == "✕"]
    assert late.x == pytest.approx(ticks["600"], abs=8)  # the outermost labels are moved inwards
    assert len(painted(chart, "better")) == 3
    assert len(painted(chart, "unclear")) == 23 + 23 + 24 - 1
    assert "t0-00-empty: median 85 s (62 s to 108 s), 23 trials, ✕ 1 timeout" in chart.alternative


def test_costs_are_not_drawn_where_all_are_free_and_older_reports_have_no_spread() -> None:
    report = full_report()
    assert report.analysis
    free = [spread.model_copy(update={"quartiles": (0.0,) * 5}) for spread in report.analysis.spreads]
    for spreads in (tuple(free), ()):
        changed = report.model_copy(update={"analysis": report.analysis.model_copy(update={"spreads": spreads})})
        assert costs(report_view(changed)) is None


def test_parts_of_token_bars_are_as_long_as_the_report_says() -> None:
    report = full_report()
    view = report_view(report)
    chart = tokens(view)
    assert chart
    assert [text for text in texts(chart) if "," in text and text[0].isdigit()] == ["30,326", "30,733", "30,302"]
    bars = [mark for mark in painted(chart, "part-1") if "v20h" in mark.attributes["d"]][3:]  # of the second panel
    shares = [measure.value for arm in view.arms if (measure := view.measure(arm.arm, "system_prompt_share"))]
    assert len(bars) == len(shares) == 3
    for bar, share in zip(bars, shares, strict=True):
        assert share
        width = float(bar.attributes["d"].split("h")[1].split("v")[0])
        assert width / 330 == pytest.approx(share, abs=0.01)
    assert "t0-00-empty: 30,326, 82 % read from cache" in chart.alternative


def test_the_tier_ladder_shows_rates_steps_and_the_best_sub_test() -> None:
    chart = tier_ladder(report_view(full_report()))
    assert chart
    lines = texts(chart)
    assert lines[:5] == ["34 % [15, 61]", "T0", "79 % [54, 93]", "T1", "✓ +44.8 points, better"]
    assert "T0: 34 % [15, 61], best sub-test t0-01-vanilla 25 %" in chart.alternative


def test_agreement_of_judges_shows_each_pair_the_widest_difference_first() -> None:
    chart = judges(report_view(full_report()))
    assert chart
    assert texts(chart)[:2] == ["claude-haiku - claude-sonnet", "-0.09 [-0.33, +0.15], 70 trials"]
    assert chart.alternative.startswith("Krippendorff's alpha of 3 judges is ")


@pytest.mark.parametrize(
    "values",
    [
        {"usd": None, "seconds": None, "input_tokens": None, "characters": {}, "judge_scores": {}},
        {"usd": 0.0, "seconds": 0.0, "input_tokens": 0, "characters": {"system_prompt": 0}},
        {"usd": 1e-9, "seconds": 1e7, "input_tokens": 10**12, "characters": {"system_prompt": 10**12}},
    ],
    ids=["unknown", "zero", "huge"],
)
@pytest.mark.parametrize("scenarios", [1, 2])
def test_unusual_numbers_are_drawn_or_left_out_but_never_written_as_no_number(
    values: dict[str, Any], scenarios: int
) -> None:
    rows = [row_of(variant, scenario, 1, **values) for variant in (0, 1) for scenario in range(scenarios)]
    cells = [make_cell(row.arm, row.repetition, row.scenario) for row in rows]
    plan = make_plan(*cells, experiment=make_experiment(baseline=rows[0].arm))
    charts = draw(report_view(aggregate(plan, rows, question=question_of(plan))))
    assert charts[0].name == "forest"
    assert {"usd", "cost_pass"} & {chart.name for chart in charts} == set() or values["usd"]
    for chart in charts:
        require_inert(chart)
        assert [word for word in ("NaN", "Infinity", "undefined", "null") if word in chart.svg] == []


def test_names_of_others_are_inert_in_every_chart() -> None:
    charts = draw(report_view(hostile_rows_report()))
    assert [chart.name for chart in charts] == list(CHARTS)
    for chart in charts:
        require_inert(chart)


def test_a_long_name_is_shortened_in_the_middle_and_hidden_characters_are_removed() -> None:
    assert short("a" * 5000 + "\u202eb\n<b>" + "z" * 5000) == "a" * 14 + "…" + "z" * 13
