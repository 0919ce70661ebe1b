import dataclasses
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.plan import Arm, CostRange, Estimate
from scylla_gha.plan.estimate import CellGroup, ExpectedCost, PastCost, estimate, expected_costs
from tests.support.library import scenario_folder
from tests.support.records import (
    make_arm,
    make_category,
    make_experiment,
    make_item,
    make_model,
    make_model_arm,
    make_rubric,
    make_scenario,
)

MODELS = {"m": make_model()}


TURN = (400 * 10 + 25_000 * 0.1 + 1_500 * 2) / 1e6  # USD of one turn of the prior, whose cache lives five minutes


def sized(size: str) -> ScenarioFolder:
    return scenario_folder(Path("001-one"), make_scenario(size=size))


def guess(*groups: tuple[ScenarioFolder, Arm, int], **given: Any) -> tuple[CostRange, CostRange, str]:
    found = whole(*(CellGroup(folder, arm, count, count) for folder, arm, count in groups), **given)
    return found.usd, found.agents.minutes, found.basis


def whole(
    *groups: CellGroup, limits: TrialLimits | None = None, judges: tuple[str, ...] = (), **given: Any
) -> Estimate:
    defaults: dict[str, Any] = {"models": MODELS, "history": {}}
    return estimate(groups, make_experiment(limits=limits or TrialLimits(), judges=judges), **{**defaults, **given})


def near(low: float, likely: float, high: float) -> object:
    return pytest.approx([low, likely, high])


def values(found: CostRange) -> list[float | None]:
    return [found.low, found.likely, found.high]


@pytest.mark.parametrize(("size", "turns"), [("small", (3, 10, 30)), ("medium", (8, 25, 80)), ("large", (20, 60, 200))])
def test_without_history_turns_by_size_are_priced(size: str, turns: tuple[int, int, int]) -> None:
    usd, minutes, basis = guess((sized(size), make_model_arm(), 2), limits=TrialLimits(timeout_seconds=24 * 3600))
    assert values(usd) == near(*(2 * count * TURN for count in turns))
    assert values(minutes) == near(*(2 * count * 0.2 for count in turns))
    assert basis == "history for 0 of 2 cells, priors by size for other cells"


def test_no_trial_is_guessed_to_last_longer_than_it_may() -> None:
    _, minutes, _ = guess((sized("large"), make_model_arm(), 1))  # the scenario's own limit: 10 minutes
    assert values(minutes) == near(4, 10, 10)
    _, minutes, _ = guess((sized("large"), make_model_arm(), 1), limits=TrialLimits(timeout_seconds=60))
    assert values(minutes) == near(1, 1, 1)


def test_history_of_the_same_scenario_and_arm_comes_first() -> None:
    arm = make_model_arm()
    history = {("001-one", arm.id): (PastCost(0.5, 60.0), PastCost(1.5, 180.0), PastCost(None, 120.0))}
    usd, minutes, basis = guess((sized("small"), arm, 3), history=history)
    assert values(usd) == near(1.5, 3.0, 4.5)
    assert values(minutes) == near(3, 6, 9)
    assert basis == "history for 3 of 3 cells, priors by size for other cells"


def test_history_of_unknown_cost_leaves_the_prior_of_the_cost() -> None:
    arm = make_model_arm()
    usd, minutes, _ = guess((sized("small"), arm, 1), history={("001-one", arm.id): (PastCost(None, 60.0),)})
    assert usd.likely == pytest.approx(10 * TURN)
    assert values(minutes) == near(1, 1, 1)


def test_history_of_another_arm_says_nothing() -> None:
    usd, _, basis = guess((sized("small"), make_model_arm(), 1), history={("001-one", "nop"): (PastCost(9.0, 9.0),)})
    assert usd.likely == pytest.approx(10 * TURN)
    assert basis.startswith("history for 0 of 1")


def test_an_agent_without_a_model_is_free_and_known_to_be() -> None:
    usd, minutes, _ = guess((sized("large"), make_arm(), 100), models={})
    assert values(usd) == [0.0, 0.0, 0.0]
    assert values(minutes) == near(1, 1, 1)


@pytest.mark.parametrize("models", [{}, {"m": make_model(price=None)}], ids=["unknown model", "unknown price"])
def test_one_unknown_price_makes_the_whole_sum_unknown_not_smaller(models: dict[str, Any]) -> None:
    usd, minutes, _ = guess((sized("small"), make_arm(), 1), (sized("small"), make_model_arm(), 1), models=models)
    assert values(usd) == [None, None, None]
    assert minutes.likely is not None


def test_groups_add_up() -> None:
    usd, _, basis = guess((sized("small"), make_model_arm(), 1), (sized("medium"), make_model_arm(), 2))
    assert values(usd) == near(*((one + 2 * two) * TURN for one, two in ((3, 8), (10, 25), (30, 80))))
    assert basis == "history for 0 of 3 cells, priors by size for other cells"


JUDGED = make_rubric(make_category(make_item(), make_item(id="Q1", type="subjective", checks=())))


PANEL = ("m", "other")


DEAR = {**MODELS, "other": make_model(id="other")}


def judged_folder(size: str = "small") -> ScenarioFolder:
    return dataclasses.replace(sized(size), rubric=JUDGED)


@pytest.mark.parametrize(
    ("size", "prompts"),
    [("small", (3_000, 6_000, 20_000)), ("medium", (5_000, 12_000, 50_000)), ("large", (8_000, 25_000, 80_000))],
)
def test_judges_are_estimated_apart_by_prompt_and_answer(size: str, prompts: tuple[int, int, int]) -> None:
    made = whole(CellGroup(judged_folder(size), make_arm(), 3, 2), judges=PANEL, models=DEAR)
    ends = zip(prompts, (1_000, 3_000, 12_000), strict=True)
    assert values(made.judges.usd) == near(*(2 * 2 * (prompt * 1 + answer * 10) / 1e6 for prompt, answer in ends))
    assert values(made.judges.minutes) == near(2 * 0.2, 2 * 0.7, 2 * 3.0)
    assert values(made.agents.usd) == [0.0, 0.0, 0.0]
    assert values(made.usd) == values(made.judges.usd)
    assert made.minutes.likely == pytest.approx(3 * 0.01 + 2 * 0.05 + 2 * 0.7)


@pytest.mark.parametrize(
    ("judges", "folder"),
    [((), judged_folder()), (PANEL, sized("small"))],
    ids=["no panel", "code decides all of it"],
)
def test_where_nobody_is_asked_judging_is_free(judges: tuple[str, ...], folder: ScenarioFolder) -> None:
    made = whole(CellGroup(folder, make_arm(), 1, 1), judges=judges, models={})
    assert values(made.judges.usd) == values(made.judges.minutes) == [0.0, 0.0, 0.0]


def test_a_judge_without_a_price_makes_the_judges_unknown_and_not_the_agents() -> None:
    made = whole(CellGroup(judged_folder(), make_model_arm(), 1, 1), judges=PANEL)
    assert values(made.judges.usd) == values(made.usd) == [None, None, None]
    assert made.agents.usd.likely == pytest.approx(10 * TURN)


def test_what_panels_cost_before_comes_first() -> None:
    arm = make_arm()
    past = {("001-one", arm.id): (PastCost(0.0, 1.0, 0.25), PastCost(0.0, 1.0, 0.75), PastCost(0.0, 1.0))}
    made = whole(CellGroup(judged_folder(), arm, 0, 2), judges=PANEL, history=past)
    assert values(made.judges.usd) == near(0.5, 1.0, 1.5)
    assert values(made.agents.minutes) == [0.0, 0.0, 0.0], "nothing is left to run"


def test_checks_take_minutes_without_a_model_as_the_quickstart_does() -> None:
    made = whole(CellGroup(sized("small"), make_arm(), 16, 16))
    assert values(made.check_minutes) == near(0.16, 0.8, 4.8)
    assert 60 * (made.minutes.likely or 0) / 2 == pytest.approx(28.8), "37 s were measured on two quiet cores"


def test_checks_of_the_same_scenario_are_known_from_any_arm_and_from_no_other_scenario() -> None:
    past = {
        ("001-one", "nop"): (PastCost(0.0, 1.0, None, 30.0), PastCost(0.0, 1.0, None, 90.0), PastCost(0.0, 1.0)),
        ("002-two", "nop"): (PastCost(0.0, 1.0, None, 6000.0),),
    }
    made = whole(CellGroup(sized("small"), make_model_arm(), 3, 2), history=past)
    assert values(made.check_minutes) == near(1.0, 2.0, 3.0)
    assert made.unpaid.check_minutes == made.check_minutes, "a replay runs the checks"


PLACE = ("001-one", "t0-00-empty.cli.m")


JUDGED_RUBRIC = make_rubric(make_category(make_item(checks=())))


def one(arm: Arm, *, rubric: Any = None, **given: Any) -> ExpectedCost:
    history = {PLACE: given.pop("spent")} if "spent" in given else {}
    folder = scenario_folder()
    if rubric is not None:
        folder = dataclasses.replace(folder, rubric=rubric)
    experiment = make_experiment(**given)
    (found,) = expected_costs([CellGroup(folder, arm, 1, 1)], experiment, {"m": make_model()}, history).values()
    return found


def test_an_agent_without_a_history_is_given_all_the_time_it_may_take() -> None:
    assert one(make_model_arm()).minutes == 10.05, "the scenario's 600 seconds"
    assert one(make_model_arm(), limits=TrialLimits(timeout_seconds=60)).minutes == 1.05


def test_a_history_tells_the_mean() -> None:
    found = one(make_model_arm(), spent=[PastCost(1.0, 60.0), PastCost(3.0, 180.0)])
    assert (found.minutes, found.usd) == (2.05, 2.0)


def test_judges_take_their_time_and_money_too() -> None:
    found = one(make_model_arm(), rubric=JUDGED_RUBRIC, judges=("m", "n"), spent=[PastCost(1.0, 60.0, 0.5)])
    assert (found.minutes, found.usd) == (pytest.approx(1.75), 1.5)
    assert one(make_model_arm(), judges=("m", "n"), spent=[PastCost(1.0, 60.0)]).minutes == 1.05, (
        "nothing for them to judge"
    )


def test_a_built_in_agent_takes_the_time_of_its_checks_and_costs_nothing() -> None:
    assert one(make_arm()) == ExpectedCost(0.01 + 0.05, 0.0)


def test_an_unknown_price_is_unknown() -> None:
    assert one(make_model_arm(model="other")).usd is None
    assert one(make_model_arm(), rubric=JUDGED_RUBRIC, judges=("other", "n"), spent=[PastCost(1.0, 60.0)]).usd is None
