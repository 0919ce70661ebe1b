"""The family of comparisons that an experiment declares: it is the answer in every rendering, and the others follow."""

import io
import re
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from scylla_gha.aggregate import aggregate, hypothesis_status, question_of
from scylla_gha.analysis.design import USUAL_BASIS, PowerQuestion, plan_notes, planned_comparisons
from scylla_gha.evaluate.report_run import draw_charts
from scylla_gha.model.analysis import Verdict
from scylla_gha.model.experiment import Expectation
from scylla_gha.publish.actions_output import outputs
from scylla_gha.report import markdown
from scylla_gha.report.comment import comment
from scylla_gha.report.page import PageParts, page
from scylla_gha.report.page.trials import trial_table
from scylla_gha.report.summary import conclusion, overall, title
from scylla_gha.report.terminal import terminal_report
from scylla_gha.report.view import report_view
from tests.support.comments import facts
from tests.support.records import make_experiment
from tests.support.tier_reports import TierArm, tier_plan, tier_report, tier_rows

LADDER = [TierArm("T0/01-vanilla", [0, 1] * 5), TierArm("T1/01-a", [2] * 10), TierArm("T1/02-b", [2] * 10),
          TierArm("T2/01-a", [2] * 10)]  # fmt: skip
HYPOTHESIS: dict[str, Any] = {"hypothesis": "Some tier helps.", "expected": "some_better"}
STEP = "T1 is better than T0"
MODELS = [TierArm("T0/01-vanilla", [2] * 10, model="a"), TierArm("T0/01-vanilla", [0] * 10, model="b")]


def answers(report: Any) -> list[tuple[str, str, str]]:
    return [(each.arm, each.baseline, each.verdict) for each in report.answer]


def test_the_declared_family_answers_and_arms_against_the_baseline_stay() -> None:
    report = tier_report(LADDER, family="tiers")
    assert answers(report) == [("T1", "T0", "better"), ("T2", "T1", "not_enough_data")]
    assert [each.baseline for each in report.comparisons] == [LADDER[0].id] * 3
    assert report.family == "each tier against the previous one"


def test_without_a_declaration_arms_against_the_baseline_answer_and_no_file_names_a_family() -> None:
    report = tier_report(LADDER)
    assert report.answer == report.comparisons
    assert not {"hypothesis", "answers"} & {*report.model_dump(), *report.analysis.model_dump()}  # type: ignore[union-attr]
    assert not {"family", "expected"} & make_experiment().model_dump().keys()


def test_every_rendering_speaks_of_the_declared_family_first() -> None:
    report = tier_report(LADDER, family="tiers", **HYPOTHESIS)
    console = Console(width=200, record=True, file=io.StringIO())
    terminal_report(report, console)
    view = report_view(report)
    html = page(view, PageParts((), trial_table(view, (), (), has_files=False), ()))
    for text in (markdown(report), console.export_text(), html, comment(report, facts())):
        assert 0 < text.index(STEP) < text.index("t1-01-a"), text
        assert "Hypothesis, supported: Some tier helps" in " ".join(text.split())


@pytest.mark.parametrize(("family", "first"), [("tiers", "tier_ladder"), ("baseline", "forest")])
def test_the_first_chart_shows_the_declared_family(family: str, first: str) -> None:
    report = tier_report(LADDER, family=family)
    view = report_view(report)
    html = page(view, PageParts(draw_charts(report), trial_table(view, (), (), has_files=False), ()))
    assert re.findall(r'id="chart-(\w+)"', html)[0] == first


def test_the_title_counts_comparisons_of_the_family() -> None:
    report = tier_report(LADDER, family="tiers")
    assert title(report).startswith("✓ T1 is better than T0: passes 100 % against 25 %, +75.0 points")
    counts = (
        "Of 2 comparisons, each tier against the previous one: 1 better, 0 worse, 0 equivalent, 1 without enough data."
    )
    assert title(report).endswith(counts)
    assert outputs(report)["verdict"] == "not_enough_data"


def test_changes_against_the_baseline_follow_the_tiers_and_say_that_they_are_not_the_answer() -> None:
    text = markdown(tier_report(LADDER, family="tiers"))
    assert text.index("## Tiers") < text.index("## Changes against")
    assert "The answer above is based on other comparisons (each tier against the previous one)" in text


def test_a_model_that_is_worse_is_no_failure_as_neither_stands_first() -> None:
    report = tier_report(MODELS, family="models")
    assert answers(report) == [("a", "b", "better")]
    turned = tier_report([TierArm("T0/01-vanilla", [0] * 10, model="a"), TierArm("T0/01-vanilla", [2] * 10, model="b")],
                         family="models")  # fmt: skip
    assert answers(turned) == [("a", "b", "worse")]
    assert overall(report) == overall(turned) == "better"
    assert conclusion(turned, facts()) == "success"


def test_a_side_that_lost_many_cells_gets_no_verdict() -> None:
    plan = tier_plan(LADDER, 2, family="tiers")
    rows = [row for row in tier_rows(LADDER, 2) if row.variant != "T1/01-a" or row.scenario > "002-s"]
    report = aggregate(plan, rows, question=question_of(plan))
    assert {each.verdict for each in report.answer} == {"not_enough_data"}
    assert "of T1 ended without a counted trial" in report.answer[0].why


def test_a_family_without_comparisons_is_told_and_the_baseline_answers() -> None:
    report = tier_report([*LADDER[:1], TierArm("T0/02-core", [2] * 10)], family="tiers")
    assert answers(report) == [("t0-02-core.cli.sonnet", LADDER[0].id, "better")]
    assert [text for text in report.warnings if "each tier against the previous one" in text]


def test_without_statistics_the_baseline_answers_and_the_report_says_why() -> None:
    plan = tier_plan(LADDER, 2, family="tiers")
    report = aggregate(plan, tier_rows(LADDER, 2))
    assert report.answer == report.comparisons
    assert [text for text in report.warnings if "the statistics are not installed" in text and "asks for" in text]


def test_the_plan_counts_comparisons_of_the_family() -> None:
    plan = tier_plan(LADDER, 3, family="tiers")
    planned = planned_comparisons(plan, ())
    assert [(each.arm, each.layout.scenarios, each.layout.repetitions) for each in planned] == [
        ("T1 against T0", 10, 3), ("T2 against T1", 10, 3),
    ]  # fmt: skip
    assert "2 comparisons" in next(plan_notes(plan, (), USUAL_BASIS))
    assert len(planned_comparisons(tier_plan(LADDER, 3), ())) == 3
    assert [each.arm for each in planned_comparisons(tier_plan(MODELS, 3, family="models"), ())] == ["b against a"]


def test_power_is_computed_for_the_comparisons_of_the_family() -> None:
    size: dict[str, Any] = {"experiment": "e", "arms": 114, "scenarios": 8, "repetitions": 10, "effect": 0.1}
    assert PowerQuestion(**size, comparisons=6).family == 6
    assert PowerQuestion(**size).family == 113


def test_a_gate_is_of_arms_against_the_baseline() -> None:
    with pytest.raises(ValidationError, match="a gate compares arms with the baseline"):
        make_experiment(gate="better", family="tiers")


def test_an_expectation_needs_a_hypothesis() -> None:
    with pytest.raises(ValidationError, match="`expected` needs `hypothesis`; add one"):
        make_experiment(expected="some_better")


@pytest.mark.parametrize(
    ("expected", "verdicts", "status"),
    [
        ("some_better", ["better", "not_enough_data"], "supported"),
        ("some_better", ["worse", "not_enough_data"], "not_enough_data"),
        ("some_better", ["worse", "equivalent"], "contradicted"),
        ("some_better", [], "not_enough_data"),
        ("all_better", ["better", "better"], "supported"),
        ("all_better", ["better", "equivalent", "not_enough_data"], "contradicted"),
        ("all_better", ["better", "not_enough_data"], "not_enough_data"),
        ("none_better", ["better", "not_enough_data"], "contradicted"),
        ("none_better", ["worse", "equivalent"], "supported"),
        ("none_better", ["worse", "not_enough_data"], "not_enough_data"),
        ("some_differ", ["worse", "not_enough_data"], "supported"),
        ("none_differ", ["equivalent"], "supported"),
    ],
)
def test_a_hypothesis_is_read_by_verdicts(expected: Expectation, verdicts: list[Verdict], status: str) -> None:
    assert hypothesis_status(expected, verdicts) == status


def test_a_hypothesis_without_an_expectation_is_left_to_the_reader() -> None:
    reading = tier_report(LADDER, hypothesis="Some tier helps.").hypothesis
    assert reading is not None
    assert (reading.status, reading.expected) == ("not_declared", None)


def test_the_reading_names_what_was_expected_and_the_verdicts() -> None:
    reading = tier_report(LADDER, family="tiers", **HYPOTHESIS).hypothesis
    assert reading is not None
    assert reading.why == ("it expects some of the comparisons to be better; of 2 comparisons: 1 better, "
                           "1 not enough data")  # fmt: skip
