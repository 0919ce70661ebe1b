import dataclasses
from typing import Any

import pytest

from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.plan import Arm
from scylla_gha.plan.estimate import CellGroup, ExpectedCost, PastCost, expected_costs
from tests.support.library import scenario_folder
from tests.support.records import (
    make_arm,
    make_category,
    make_experiment,
    make_item,
    make_model,
    make_model_arm,
    make_rubric,
)

PLACE = ("001-one", "t0-00-empty.cli.m")
JUDGED = make_rubric(make_category(make_item(checks=())))


def one(arm: Arm, *, rubric: Any = None, **given: Any) -> ExpectedCost:
    history = {PLACE: given.pop("spent")} if "spent" in given else {}
    folder = scenario_folder()
    if rubric is not None:
        folder = dataclasses.replace(folder, rubric=rubric)
    experiment = make_experiment(**given)
    (found,) = expected_costs([CellGroup(folder, arm, 1, 1)], experiment, {"m": make_model()}, history).values()
    return found


def test_an_agent_without_a_history_is_given_all_the_time_it_may_take() -> None:
    assert one(make_model_arm()).minutes == 10.0, "the scenario's 600 seconds"
    assert one(make_model_arm(), limits=TrialLimits(timeout_seconds=60)).minutes == 1.0


def test_a_history_tells_the_mean() -> None:
    found = one(make_model_arm(), spent=[PastCost(1.0, 60.0), PastCost(3.0, 180.0)])
    assert (found.minutes, found.usd) == (2.0, 2.0)


def test_judges_take_their_time_and_money_too() -> None:
    found = one(make_model_arm(), rubric=JUDGED, judges=("m", "n"), spent=[PastCost(1.0, 60.0, 0.5)])
    assert (found.minutes, found.usd) == (pytest.approx(1.7), 1.5)
    assert one(make_model_arm(), judges=("m", "n"), spent=[PastCost(1.0, 60.0)]).minutes == 1.0, (
        "nothing for them to judge"
    )


def test_a_built_in_agent_takes_no_time_and_costs_nothing() -> None:
    assert one(make_arm()) == ExpectedCost(0.01, 0.0)


def test_an_unknown_price_is_unknown() -> None:
    assert one(make_model_arm(model="other")).usd is None
    assert one(make_model_arm(), rubric=JUDGED, judges=("other", "n"), spent=[PastCost(1.0, 60.0)]).usd is None
