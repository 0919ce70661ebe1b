"""Statements of the report on budgets, on settings that a model refuses, of who paid, and of the judges' controls."""

import pytest

from scylla_gha.aggregate import aggregate
from scylla_gha.model.judgment import ControlResult, JudgeControl
from scylla_gha.model.plan import UnstartedCells
from scylla_gha.model.trial import Usage
from scylla_gha.model.variant import Treatment, Variant
from tests.support.records import make_cell, make_model_arm, make_plan, make_result
from tests.unit.test_aggregate import cells, plan_of, rows_of, warned


def test_a_cell_that_was_not_started_is_named_with_its_reason() -> None:
    first, second, third = planned = cells(3)
    unstarted = UnstartedCells(cells={first.id: "stale", second.id: "$1.00 of the budget of $1 is spent"})
    report = aggregate(plan_of(*planned), [make_result(first)], unstarted=unstarted)
    assert [(one.cell, one.outcome) for one in report.excluded] == [(second.id, "not_started"), (third.id, "missing")]
    assert report.excluded[0].reason == "$1.00 of the budget of $1 is spent"
    assert (report.counts.planned, report.counts.ran) == (3, 1)


def test_a_setting_that_did_not_reach_the_model_is_warned_of() -> None:
    rows = [*rows_of(1, unadjusted="max_tokens temperature"), make_result(make_cell("nop"), unadjusted="temperature",
                                                                         judge_unadjusted="temperature")]  # fmt: skip
    found = warned(aggregate(plan_of(*cells(1), make_cell("nop")), rows), "lacked the configured")
    assert [each.partition(", which")[0] for each in found] == [
        "nop: in 1 trial, requests of the agent lacked the configured temperature",
        "oracle: in 1 trial, requests of the agent lacked the configured max_tokens",
        "oracle: in 1 trial, requests of the agent lacked the configured temperature",
        "nop: in 1 trial, requests of the panel lacked the configured temperature",
    ]
    assert warned(aggregate(plan_of(*cells(1)), rows_of(1)), "lacked the configured") == []


@pytest.mark.parametrize("subscription", [True, False])
def test_list_prices_of_a_subscription_are_warned_of(subscription: bool) -> None:
    report = aggregate(plan_of(*cells(1)), rows_of(1, subscription=subscription))
    expected = ["billing: subscription. USD are list prices of the used tokens, not a bill."]
    assert warned(report, "billing") == (expected if subscription else [])


@pytest.mark.parametrize(("usd", "total"), [(0.5, 0.75), (None, None), (0.0, 0.25)])
def test_what_controls_cost_is_what_judges_cost(usd: float | None, total: float | None) -> None:
    probe = JudgeControl(key="k", judge="opus", scenario="001-one", stands=False, usage=Usage(usd=usd))
    report = aggregate(plan_of(*cells(1)), rows_of(1, judge_usd=0.25), [probe])
    assert report.judge_usd == total


def test_a_judge_that_failed_its_control_is_warned_of() -> None:
    control = ControlResult(kind="canary", judge="opus", holds=False, why="known-bad 1.00")
    probes = [JudgeControl(key="k", judge="opus", scenario="001-one", controls=(control,))]
    expected = ["judge opus failed the canary of 001-one: known-bad 1.00."]
    assert warned(aggregate(plan_of(*cells(1)), rows_of(1), probes), "canary") == expected
    assert warned(aggregate(plan_of(*cells(1)), rows_of(1)), "canary") == []


def test_requests_to_other_models_than_the_arms_are_summed() -> None:
    first, second, third = planned = cells(3)
    rows = (make_result(first, side_requests=2, side_usd=0.25), make_result(second, side_requests=1, side_usd=0.5))
    (arm,) = aggregate(plan_of(*planned), [*rows, make_result(third)]).arms
    assert (arm.side_requests, arm.side_usd) == (3, 0.75)


def test_an_arm_with_tools_of_the_provider_is_told_not_to_have_had_a_closed_network() -> None:
    variant = Variant(id="T5/01-search", treatment=Treatment(server_tools=("web_search",)))
    arm = make_model_arm(variant=variant)
    cell = make_cell(arm.id)
    plan = make_plan(cell, arms=(arm,))
    said = f"{arm.id}: its network was open to some degree, since the provider runs web_search."
    assert warned(aggregate(plan, [make_result(cell, network="provider")]), "network") == [said]
    assert warned(aggregate(plan, []), "network") == []
