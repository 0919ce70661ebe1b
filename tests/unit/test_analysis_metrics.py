"""Every metric once where it is neither null nor 0 nor 1, and each by hand."""

from typing import Any

import numpy as np
import pytest

from scylla_gha.analysis.metrics import arm_measures
from scylla_gha.model.analysis import Measure
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from tests.support.frames import fault, frame, group, row, table


def of(rows: list[Result], metric: str) -> Measure:
    (arm,) = arm_measures(frame(rows))
    return {one.metric: one for one in arm.measures}[metric]


def lived() -> list[Result]:
    """Eight trials of two scenarios, every kind of end, and one fault of the provider."""
    common: dict[str, Any] = {
        "points_max": 10.0, "guards": 2, "threshold": 0.6, "first_byte_seconds": 0.5, "generation_seconds": 6.0,
        "tool_seconds": 4.0, "input_tokens": 100, "output_tokens": 50, "cache_read_tokens": 300,
        "cache_write_tokens": 50, "requests": 10, "repeated_requests": 1, "turns": 5, "tool_calls": 4,
        "failed_tool_calls": 1, "human_usd": 2.0, "first_use": 3,
        "characters": {"system_prompt": 10, "tool_schemas": 20, "tool_input": 30, "tool_output": 40,
                       "conversation": 60},
    }  # fmt: skip
    marks = {
        "001-a": [(True, 0.9), (True, 0.8), (True, 0.7), (False, 0.2)],
        "002-b": [(True, 0.7), (False, 0.4), (False, 0.3), (False, 0.1)],
    }
    ends = iter([*[Outcome.COMPLETED] * 3, Outcome.TIMEOUT, Outcome.COMPLETED, Outcome.AGENT_ERROR,
                 Outcome.BUDGET_EXCEEDED, Outcome.REFUSED])  # fmt: skip
    rows = [
        row("arm", scenario, at, passed=passed, score=score, progress=score / 2, points=10 * score, usd=0.1 + score,
            seconds=10.0 + at, broken_guards=int(not passed and at > 2), outcome=next(ends),
            uses={"skill/x": int(score > 0.5)}, **common)
        for scenario, found in marks.items() for at, (passed, score) in enumerate(found, start=1)
    ]  # fmt: skip
    return [*rows, fault("arm", "001-a", 5)]


def test_no_metric_is_null_or_trivial_where_trials_differ() -> None:
    (arm,) = arm_measures(frame([*lived(), *table({"arm": ["-", "-", "-", "PPPP", "FFFF", "PPFF"]}, usd=1.0)]))
    found = {one.metric: one.value for one in arm.measures}
    first = {one.metric: one.value for one in arm_measures(frame(lived()))[0].measures}
    assert len(found) == len(arm.measures), "no metric stands twice"
    for metric, value in found.items():
        assert {first[metric], value} - {None, 0.0, 1.0}, metric


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("pass_rate", (3 / 4 + 1 / 4) / 2), ("pass_rate_pooled", 4 / 8), ("implementation_rate", 4.1 / 8),
        ("score", 4.1 / 8), ("progress_rate", 4.1 / 16), ("change_fail_rate", (1 / 4 + 2 / 4) / 2),
        ("outcome_consistency", 1 / 2), ("solved_once", 1.0), ("solved_always", 0.0),
        ("seconds", 12.5), ("first_byte_seconds", 0.5), ("generation_seconds", 6.0), ("tool_seconds", 4.0),
        ("usd", 0.1 + 4.1 / 8), ("cost_of_pass", (0.8 + 4.1) / 4), ("tokens", 500.0), ("tokens_per_pass", 1000.0),
        ("seconds_per_pass", 25.0), ("usd_per_score", (0.8 + 4.1) / 4.1), ("input_tokens_share", 0.2),
        ("output_tokens_share", 0.1), ("cache_read_tokens_share", 0.6), ("cache_write_tokens_share", 0.1),
        ("cache_hit_rate", 300 / 450), ("system_prompt_share", 10 / 160), ("tool_output_share", 40 / 160),
        ("turns", 5.0), ("uptake", (3 / 4 + 1 / 4) / 2), ("first_use", 3.0), ("tool_calls", 4.0),
        ("tool_failure_rate", 0.25), ("request_retry_rate", 0.1),
        ("timeout_share", 1 / 9), ("budget_exceeded_share", 1 / 9), ("agent_error_share", 1 / 9),
        ("refused_share", 1 / 9), ("fault_share", 1 / 9), ("pass_at_k", 1.0), ("pass_all_k", 0.0),
    ],
)  # fmt: skip
def test_metrics_by_hand(metric: str, value: float) -> None:
    assert of(lived(), metric).value == pytest.approx(value)


def test_scenarios_weigh_the_same_however_often_they_were_tried() -> None:
    rows = [*group("arm", "001-a", "PPPPPPPP"), *group("arm", "002-b", "FF")]
    assert of(rows, "pass_rate").value == 0.5
    assert of(rows, "pass_rate_pooled").value == 0.8


def test_one_scenario_has_the_target_these_scenarios() -> None:
    one, two = (of(table({"arm": groups}), "pass_rate") for groups in (["PPF"], ["PPF", "PFF"]))
    assert (one.target, one.method, one.scenarios) == ("these scenarios", "Wilson", 1)
    assert (two.target, two.scenarios) == ("scenarios like these", 2)


def test_without_a_pass_its_cost_is_infinite_with_a_lower_limit() -> None:
    cost = of(table({"arm": ["FF", "FF", "FF"]}, usd=2.0), "cost_of_pass")
    assert (cost.value, cost.state, cost.high) == (None, "infinite", None)
    assert cost.low is not None
    assert cost.low > 2.0


@pytest.mark.parametrize("metric", ["usd", "cost_of_pass"])
def test_one_unknown_cost_makes_what_is_paid_unknown(metric: str) -> None:
    rows = [*group("arm", "001-a", "PF", usd=1.0), *group("arm", "002-b", "P", usd=None)]
    found = of(rows, metric)
    assert (found.value, found.state, found.note) == (None, "unknown", "unknown in 1 of 3 trials")


def test_unknown_values_are_counted_in_a_note() -> None:
    rows = [*group("arm", "001-a", "PF", progress=0.5), *group("arm", "002-b", "P", progress=None)]
    found = of(rows, "progress_rate")
    assert found.n == 2
    assert found.note.startswith("1 trial without a value left out")


def test_an_arm_without_a_judged_trial_has_every_metric_and_no_value() -> None:
    (arm,) = arm_measures(frame([fault("arm", "001-a", 1)]))
    ends = {"timeout_share", "budget_exceeded_share", "agent_error_share", "refused_share", "fault_share"}
    assert {one.metric for one in arm.measures if one.value is not None} == ends
    assert all(one.note for one in arm.measures if one.metric not in ends)


def test_an_arm_that_is_only_planned_is_there() -> None:
    (first, second) = arm_measures(frame(group("a", "001-a", "P"), "planned", "a"))
    assert (first.arm, second.arm) == ("planned", "a")
    assert all(one.value is None for one in first.measures)


def test_half_of_the_trials_at_their_limit_have_no_median() -> None:
    rows = group("arm", "001-a", "FF", outcome=Outcome.TIMEOUT) + group("arm", "002-b", "PP")
    assert of(rows, "seconds_median").note == "at least half of the trials reached their time limit"


def test_a_tail_takes_many_trials() -> None:
    assert of(table({"arm": ["P" * 10] * 2}), "seconds_p90").value == 2.0
    assert of(table({"arm": ["P" * 10]}), "seconds_p90").value is None


_SHARES = {"pass_rate", "pass_rate_pooled", "implementation_rate", "score", "progress_rate", "change_fail_rate",
           "outcome_consistency", "consistency", "pass_at_k", "pass_all_k", "solved_once", "solved_always",
           "cache_hit_rate", "tool_failure_rate"}  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_no_limit_is_one_that_cannot_be(seed: int) -> None:
    """Few and skewed values, where an interval that knows no range would leave it."""
    rng = np.random.default_rng(seed)
    rows = [row("arm", f"{at:03d}-s", k, usd=float(rng.lognormal(0, 2)), seconds=float(rng.lognormal(0, 2)),
                score=float(rng.random() < 0.9), progress=1.0, passed=bool(rng.random() < 0.9),
                tool_calls=int(rng.integers(0, 90)))
            for at in range(int(rng.integers(2, 5))) for k in (1, 2)]  # fmt: skip
    (arm,) = arm_measures(frame(rows))
    for one in arm.measures:
        for limit in (one.low, one.high):
            if limit is not None:
                assert limit >= 0, one
                assert limit <= 1 or not (one.metric in _SHARES or one.metric.endswith("_share")), one


def test_the_price_of_a_point_may_exceed_one() -> None:
    rows = [row("arm", f"{at:03d}-s", 1, usd=0.2 + 0.1 * at, score=1.0 - 0.1 * (at % 2)) for at in range(3)]
    (arm,) = arm_measures(frame(rows))
    found = {one.metric: one for one in arm.measures}["usd_per_score"]
    assert found.high is not None
    assert found.high > 0.6
    dear = [row("arm", f"{at:03d}-s", 1, usd=0.1 + 0.8 * (at % 2), score=0.9) for at in range(3)]
    (arm,) = arm_measures(frame(dear))
    found = {one.metric: one for one in arm.measures}["usd_per_score"]
    assert found.high is not None
    assert found.high > 1


def test_counts_of_scenarios_have_the_target_scenarios_like_these() -> None:
    (arm,) = arm_measures(frame(group("arm", "001-a", "PF") + group("arm", "002-b", "PP")))
    found = {one.metric: one.target for one in arm.measures}
    assert found["solved_once"] == found["solved_always"] == "scenarios like these"
    assert found["pass_rate_pooled"] == "these scenarios"
