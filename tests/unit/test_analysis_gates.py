"""Gates that cannot be passed are refused at plan time; unlikely ones get a note."""

import re

import pytest

from scylla_gha.analysis.design import USUAL_BASIS, USUAL_SPLIT, plan_notes, planned_comparisons, why_gate_impossible
from scylla_gha.analysis.simulated import Layout, not_worse, power_not_worse, rate_differences
from scylla_gha.model.plan import Plan
from scylla_gha.model.report import PairVariance
from scylla_gha.stats.differences import Split
from tests.support.records import make_cell, make_experiment, make_plan

CALM = (PairVariance(arm="a0", between=0.0, within=0.01, within_baseline=0.01, scenarios=20,
                     rate_baseline=0.99),)  # fmt: skip


def planned(scenarios: int, repetitions: int = 5, arms: int = 1, **given: object) -> Plan:
    names = ("base", *(f"a{at}" for at in range(arms)))
    cells = [make_cell(name, repetition, f"{at:03d}-s") for name in names for at in range(scenarios)
             for repetition in range(1, repetitions + 1)]  # fmt: skip
    return make_plan(*cells, experiment=make_experiment(baseline="base", **given))


def told(plan: Plan, variances: tuple[PairVariance, ...] = ()) -> list[str]:
    return list(plan_notes(plan, variances, USUAL_BASIS))


def points(note: str) -> float:
    found = re.match(r"smallest detectable pass rate difference \(80 % power\): ([\d.]+) points", note)
    assert found
    return float(found[1])


def test_every_plan_has_a_note_on_its_smallest_effect() -> None:
    (note,) = told(planned(10))
    found = re.match(
        r"smallest detectable pass rate difference \(80 % power\): ([\d.]+) points \(10 scenarios, 1 comp", note
    )
    assert found
    assert float(found[1]) == pytest.approx(34.6, abs=0.7)
    assert USUAL_BASIS in note


def test_rows_that_vary_less_see_more() -> None:
    assert points(told(planned(10), CALM)[0]) < 25


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (
            planned(5),
            "no difference of pass rates can be shown, even the largest: a verdict needs at least 6 scenarios",
        ),
        (planned(7, arms=6), "no difference of pass rates can be shown, even the largest"),
    ],
)
def test_a_plan_without_power_has_a_note(plan: Plan, said: str) -> None:
    assert told(plan)[0].startswith(said)


def test_rows_that_leave_no_room_for_an_effect_see_nothing() -> None:
    certain = (CALM[0].model_copy(update={"within": 0, "within_baseline": 0, "rate_baseline": 0.5}),)
    said = "probably no difference of pass rates can be shown (6 scenarios, 1 comparison; by"
    assert told(planned(6), certain)[0].startswith(said)


def test_one_arm_alone_has_no_notes() -> None:
    assert told(make_plan(make_cell("base"), experiment=make_experiment(baseline="base"))) == []


def test_repetitions_and_scenarios_are_those_of_both() -> None:
    cells = [make_cell("base", 1, "001-a"), make_cell("base", 2, "001-a"), make_cell("a0", 1, "001-a"),
             make_cell("a0", 1, "002-b")]  # fmt: skip
    (one,) = planned_comparisons(make_plan(*cells, experiment=make_experiment(baseline="base")), ())
    assert one.layout == Layout(1, 1, 2)


def test_without_a_gate_nothing_is_why_gate_impossible() -> None:
    assert why_gate_impossible(planned(1, 1), (), USUAL_BASIS) is None


@pytest.mark.parametrize(
    ("scenarios", "arms", "need"), [(5, 1, 6), (6, 2, 7), (7, 6, 8), (12, 113, 13), (6, 1, None), (8, 6, None)]
)
def test_better_takes_scenarios_by_the_least_p_of_the_family(scenarios: int, arms: int, need: int | None) -> None:
    why = why_gate_impossible(planned(scenarios, 1, arms, gate="better"), (), USUAL_BASIS)
    if need is None:
        assert why is None
    else:
        assert why is not None
        assert why.startswith("gate better: a0 can never pass it: ")
        assert f"needs at least {need} scenarios" in why


def test_an_arm_without_a_shared_scenario_passes_no_gate() -> None:
    cells = [make_cell("base", 1, "001-a"), make_cell("a0", 1, "002-b")]
    plan = make_plan(*cells, experiment=make_experiment(baseline="base", gate="not_worse"))
    assert "an interval needs 2 scenarios" in (why_gate_impossible(plan, (), USUAL_BASIS) or "")


def test_not_worse_takes_a_spread() -> None:
    why = why_gate_impossible(planned(1, gate="not_worse"), CALM, "rows")
    assert why is not None
    assert why.startswith(
        "gate not_worse: a0 can never pass it: an interval needs 2 scenarios that the baseline has too (planned: 1)"
    )
    assert "scenarios with the same repetitions" in why


def test_not_worse_that_even_an_equal_arm_hardly_passes_is_refused_with_what_it_takes() -> None:
    wild = (CALM[0].model_copy(update={"between": 0.2, "within": 0.25, "within_baseline": 0.25, "rate_baseline": 0.5}),)
    why = why_gate_impossible(planned(60, 1, gate="not_worse"), wild, "the rows")
    assert why is not None
    assert re.search(r"with a chance of only \d % \(margin 5 points, 60 scenarios; by the rows\)", why)
    assert "scenarios with the same repetitions" in why


def test_not_worse_that_is_unlikely_is_a_note() -> None:
    plan = planned(65, 5, gate="not_worse")
    assert why_gate_impossible(plan, (), USUAL_BASIS) is None
    (_, note) = told(plan)
    assert note.startswith("gate not_worse: an arm as good as the baseline passes it with a chance of ")
    assert told(planned(200, 2, gate="not_worse"), CALM)[1:] == [], "likely, nothing is said"


@pytest.mark.parametrize("gate", ["better", "not_worse"])
def test_a_gate_without_another_arm_is_why_gate_impossible(gate: str) -> None:
    plan = make_plan(make_cell("base"), experiment=make_experiment(baseline="base", gate=gate))
    assert "no arm is planned besides the baseline base" in (why_gate_impossible(plan, (), USUAL_BASIS) or "")


def test_the_chance_of_an_equal_arm_rises_with_scenarios() -> None:
    split = Split(0.02, 0.1, 0.1, 0.9)
    found = [power_not_worse(split, Layout(scenarios, 3, 3), 0.05) for scenarios in (1, 30, 100, 200, 400, 2000)]
    assert found == sorted(found)
    assert found[0] == 0.0
    assert 0 < found[1] < 0.2, "an arm that is lucky passes"
    assert found[-1] > 0.95


@pytest.mark.parametrize("scenarios", [47, 100, 250])
@pytest.mark.parametrize("split", [USUAL_SPLIT, Split(0.005, 0.05, 0.05, 0.93)])
def test_the_chance_that_is_promised_is_that_of_other_experiments(split: Split, scenarios: int) -> None:
    layout = Layout(scenarios, 3, 3)
    seen = not_worse(rate_differences(split, layout, 0.0, 1000, seed=3), 0.05).mean()
    assert power_not_worse(split, layout, 0.05) == pytest.approx(seen, abs=0.05)
