"""The paper's five questions: each answer names its numbers, or what is missing; other reports do not get longer."""

import pytest

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.report import Report
from scylla_gha.model.variant import Treatment
from scylla_gha.report.tiers import Answer, five_answers
from scylla_gha.report.view import report_view
from tests.support.records import make_report
from tests.support.reports import section
from tests.support.tier_reports import VANILLA, TierArm, blocks, tier_plan, tier_report, tier_rows

NONE = TierArm(VANILLA, [0, 1] * 6)
GOOD = TierArm("T1/01-skill", [2] * 12, usd=0.05)
EFFICIENCY, SUM, GENERIC, SECONDARY, MODEL = range(5)
SIDES = [TierArm(VANILLA, [0] * 12), TierArm("T0/02-a", [0, 1] * 6, blocks("a")),
         TierArm("T0/03-b", [0, 1] * 6, blocks("b")), TierArm("T0/04-ab", [2] * 12, blocks("a", "b"))]  # fmt: skip


def answers(report: Report) -> tuple[Answer, ...]:
    return five_answers(report_view(report))


def test_each_question_has_an_answer_with_its_numbers_or_what_is_missing() -> None:
    readings = [answer.reading for answer in answers(tier_report([NONE, GOOD]))]
    assert readings == ["Yes", "Data are missing", "Nothing speaks against it", "Data are missing", "Data are missing"]


def test_efficiency_names_the_cost_of_a_pass_with_its_interval() -> None:
    answer = answers(tier_report([NONE, GOOD]))[EFFICIENCY]
    assert "Clear differences of the cost of a pass from the baseline: 1 of 1 arm" in answer.basis
    assert "t1-01-skill against t0-01-vanilla x0.1" in answer.basis


def test_efficiency_needs_costs() -> None:
    unpaid = [TierArm(arm.variant, arm.passes, usd=None) for arm in (NONE, GOOD)]
    assert answers(tier_report(unpaid))[EFFICIENCY].reading == "Data are missing"


def test_a_whole_that_is_more_than_its_parts() -> None:
    found = answers(tier_report(SIDES))
    assert found[SUM].reading == found[SECONDARY].reading == "Yes"
    assert (
        "t0-04-ab differs from t0-01-vanilla by +100.0 points, and its 2 parts (t0-02-a, t0-03-b) "
        "add up to +50.0 points: +50.0 points ["
    ) in found[SUM].basis
    assert "Clear differences from the sum: 1 of 1 pair of parts" in found[SECONDARY].basis


def test_the_question_about_prompts_is_answered_by_prompts_if_there_are_any() -> None:
    agents = [TierArm(f"T3/0{at}-x", [0] * 12, Treatment(agents=names)) for at, names in
              enumerate((("x",), ("y",), ("z",), ("x", "y", "z")))]  # fmt: skip
    assert answers(tier_report([*SIDES, *agents]))[SUM].basis.startswith(
        "t0-04-ab differs from t0-01-vanilla by +100.0 points"
    )
    basis = answers(tier_report([SIDES[0], *agents]))[SUM].basis
    assert basis.startswith("t3-03-x differs from t0-01-vanilla by +0.0 points")


def test_wholes_without_a_common_scenario_are_missing_data() -> None:
    plan = tier_plan(SIDES, 2)
    rows = [row for row in tier_rows(SIDES, 2) if row.variant != "T0/03-b"]
    found = answers(aggregate(plan, rows, question=question_of(plan)))
    assert (found[SUM].reading, found[SECONDARY].reading) == ("Data are missing", "Data are missing")


def test_a_whole_that_cannot_be_told_from_its_parts() -> None:
    arms = [*SIDES[:3], TierArm("T0/04-ab", [0, 2] * 6, blocks("a", "b"))]
    found = answers(tier_report(arms))
    assert (found[SUM].reading, found[SECONDARY].reading) == ("Not enough data", "Not enough data")


def test_what_helps_over_all_and_not_in_a_category_is_not_generic() -> None:
    base = TierArm(VANILLA, [3, 0] * 10)
    mixed = TierArm("T1/01-skill", [3, 4] * 9 + [2, 4])
    answer = answers(tier_report([base, mixed], repetitions=4))[GENERIC]
    assert answer.reading == "Not for all"
    assert "a lower rate in bug_fixes" in answer.basis
    assert "scenarios won, tied, lost 10/9/1" in answer.basis


def test_nothing_better_is_not_enough_data_for_a_generic_improvement() -> None:
    answer = answers(tier_report([NONE, TierArm("T1/01-skill", NONE.passes)]))[GENERIC]
    assert answer.reading == "Not enough data"
    assert answer.basis == "None of 1 arm has the verdict better against its baseline."


def test_scenarios_of_one_category_say_nothing_of_all_workloads() -> None:
    same = {"category": "bug_fixes"}
    arms = [TierArm(arm.variant, arm.passes, row=same) for arm in (NONE, GOOD)]
    assert answers(tier_report(arms))[GENERIC].reading == "Data are missing"


def test_models_are_compared_on_the_same_arms() -> None:
    models = [TierArm(VANILLA, [2] * 12, model="a"), TierArm(VANILLA, [0] * 12, model="b")]
    answer = answers(tier_report(models))[MODEL]
    assert answer.reading == "Up to +100.0 points"
    assert "Clear differences of pass rates: 1 of 1 pair of models: a against b +100.0 points" in answer.basis
    same = [TierArm(VANILLA, [2] * 12, model=name) for name in "ab"]
    assert answers(tier_report(same))[MODEL].reading == "Not enough data"


@pytest.mark.parametrize("report", [tier_report([NONE, TierArm("T0/02-core", [2] * 12)]), make_report()],
                         ids=["one tier", "no statistics"])  # fmt: skip
def test_other_reports_have_no_such_section(report: Report) -> None:
    assert answers(report) == ()
    assert section(report, "Five questions") == section(report, "Combinations and their parts") == []


def test_report_md_has_the_answers_and_the_wholes() -> None:
    report = tier_report(SIDES)
    lines = section(report, "Five questions")
    assert [line[:2] for line in lines] == ["1.", "2.", "3.", "4.", "5."]
    row = next(line for line in section(report, "Combinations and their parts") if line.startswith("| t0-04-ab"))
    assert "| t0-02-a, t0-03-b | +100.0 points | +50.0 points | ↑ +50.0 points |" in row
