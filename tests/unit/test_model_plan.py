import pytest
from pydantic import ValidationError

from scylla_gha.model.plan import CostRange, Estimate, EstimateShare, Plan
from tests.support.records import make_cell, make_model_arm, make_plan


def test_arm_is_found_by_its_id() -> None:
    plan = make_plan()
    assert plan.arm("oracle") == plan.arms[0]
    with pytest.raises(KeyError, match="orcale"):
        plan.arm("orcale")


def test_repetitions_count_from_one() -> None:
    with pytest.raises(ValidationError, match="repetition"):
        make_cell(repetition=0)


def test_a_plan_survives_its_file() -> None:
    plan = make_plan(make_cell("t0-00-empty.cli.m"), arms=(make_model_arm(),))
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_an_estimate_is_the_sum_of_agents_and_judges_and_unknown_where_one_is() -> None:
    known, unknown = CostRange(low=1.0, likely=2.0, high=3.0), CostRange(low=None, likely=None, high=None)
    agents, judges = EstimateShare(usd=known, minutes=known), EstimateShare(usd=unknown, minutes=known)
    made = Estimate(agents=agents, judges=judges, basis="none")
    assert made.usd == unknown
    assert made.minutes == CostRange(low=2.0, likely=4.0, high=6.0)
