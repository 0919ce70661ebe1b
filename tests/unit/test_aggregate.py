from typing import Any

import pytest

import scylla_gha
from scylla_gha.aggregate import aggregate
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.report import ArmSummary, Counts, Report
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from tests.support.records import FREE, make_cell, make_excluded_result, make_experiment, make_plan, make_result

FAILED: dict[str, Any] = {"passed": False, "score": 0.3, "grade": "D", "progress": 0.5}
UNJUDGED: dict[str, Any] = {"judged": False, "passed": None, "score": None, "grade": None, "progress": None}
ON_THE_HOST = "Trials ran on the host itself: the network was open, and files of this user could be read."
MIXED, BETWEEN = (
    "Trials of different sandboxes are mixed: ",
    ". Differences between arms may come from the sandboxes.",
)
IN_BUBBLEWRAP = "bubblewrap (network: gateway, keys: hidden, files: own)"
OWN = {"network": "gateway", "keys": "hidden", "files": "own"}
EXPOSED = {"network": "open", "keys": "exposed", "files": "open"}
KEYS = "keys: exposed. In 1 of 1 trial the agent could have read the keys that processes and files of this user hold."
NO_PANEL = (
    "No judge panel is configured: the items left to judgment are N/A, and the weights of the others are "
    "scaled up to 1."
)
POOLED = (
    "The intervals pool all trials of an arm as if they were independent: they hold for these scenarios, "
    "not for scenarios like these."
)


def cells(count: int, arm: str = "oracle", scenario: str = "001-one") -> list[Cell]:
    return [make_cell(arm, number, scenario) for number in range(1, count + 1)]


def plan_of(*planned: Cell, baseline: str = "nop") -> Plan:
    return make_plan(*planned, experiment=make_experiment(baseline=baseline))


def one_arm(*rows: Result, planned: int | None = None) -> ArmSummary:
    """The summary of arm `oracle` over these rows."""
    return aggregate(plan_of(*cells(planned or len(rows))), rows).arms[0]


def rows_of(count: int, **given: Any) -> list[Result]:
    return [make_result(cell, **given) for cell in cells(count)]


def warned(report: Report, about: str) -> list[str]:
    return [warning for warning in report.warnings if about in warning]


def test_a_report_says_what_was_asked_by_which_toolkit() -> None:
    report = aggregate(plan_of(*cells(1)), [])
    assert (report.experiment, report.question, report.estimate) == ("demo", "Which is better?", FREE)
    assert report.toolkit_version == scylla_gha.__version__


def test_denominators_are_those_of_the_plan_and_shrink_only_with_a_reason() -> None:
    passed, failed, faulty, waiting, missing = planned = cells(5)
    rows = [
        make_result(passed),
        make_result(failed, score=None, grade=None, passed=False, outcome=Outcome.TIMEOUT),
        make_excluded_result(faulty, Outcome.PROVIDER_ERROR, reason="overloaded"),
        make_result(waiting, **UNJUDGED),
    ]
    report = aggregate(plan_of(*planned), rows)
    assert report.counts == report.arms[0].counts == Counts(planned=5, ran=4, judged=2, scored=1)
    assert (report.arms[0].passed, report.arms[0].pass_rate) == (1, 0.5)
    assert [row.passed for row in report.scenarios] == [{"oracle": (1, 2)}]
    assert [(one.cell, one.outcome, one.reason) for one in report.excluded] == [
        (faulty.id, "provider_error", "overloaded"),
        (waiting.id, "unjudged", "it ran but was not judged; run `scylla-gha judge`"),
        (missing.id, "missing", "planned, but no trial with its key is stored"),
    ]
    assert report.arms[0].outcomes == {"completed": 2, "provider_error": 1, "timeout": 1}


def test_no_rows_are_a_report_of_what_is_missing_without_a_number() -> None:
    report = aggregate(plan_of(*cells(2), *cells(1, "nop")), [])
    assert report.counts == Counts(planned=3, ran=0, judged=0, scored=0)
    assert [arm.arm for arm in report.arms] == ["nop", "oracle"]
    unknown = {
        "pass_rate", "pass_low", "pass_high", "mean_score", "mean_progress", "usd", "cost_of_pass", "mean_seconds",
        "tokens", "pass_bounds", "pass_rate_without_gaps", "api",
    }  # fmt: skip
    for arm in report.arms:
        assert {name for name, value in arm if value is None} == unknown
        assert (arm.passed, arm.grades, arm.outcomes) == (0, {}, {})
    assert [one.outcome for one in report.excluded] == ["missing"] * 3
    assert report.scenarios == ()
    assert report.warnings == (
        "nop: its rates exclude 1 of 1 cell.",
        "oracle: its rates exclude 2 of 2 cells.",
    )


def test_one_row_has_a_wide_interval_and_a_warning() -> None:
    report = aggregate(plan_of(*cells(1)), rows_of(1, usd=0.25))
    (arm,) = report.arms
    assert (arm.pass_rate, arm.pass_high) == (1.0, 1.0)
    assert arm.pass_low == pytest.approx(0.206549, abs=1e-6)  # 1 / (1 + z * z)
    assert (arm.usd, arm.cost_of_pass, arm.grades) == (0.25, 0.25, {"A": 1})
    assert report.warnings == ("oracle: only 1 judged trial; the interval is wide for that reason.",)


def test_means_are_over_what_they_can_be_over() -> None:
    first, second, third, fourth = cells(4)
    arm = one_arm(
        make_result(first, score=1.0, progress=1.0, seconds=10.0),
        make_result(second, **{**FAILED, "score": 0.5}, seconds=20.0),
        make_result(third, score=None, grade=None, progress=None, passed=False, outcome=Outcome.TIMEOUT, seconds=90.0),
        make_excluded_result(fourth, Outcome.CANCELLED, seconds=1000.0),
    )
    assert arm.mean_score == 0.75  # a score that is null is no zero
    assert arm.mean_progress == 0.75
    assert arm.mean_seconds == 40.0  # a timeout took its time; a fault of the harness says nothing of the agent
    assert arm.pass_rate == pytest.approx(1 / 3)


def test_grades_come_best_first_and_only_those_there_are() -> None:
    grades = ["F", "A", "B", "A", "S"]
    arm = one_arm(*(make_result(cell, grade=grade) for cell, grade in zip(cells(5), grades, strict=True)))
    assert list(arm.grades.items()) == [("S", 1), ("A", 2), ("B", 1), ("F", 1)]


def test_cost_of_a_pass_includes_failures_but_not_faults_of_others() -> None:
    first, second, third = cells(3)
    arm = one_arm(
        make_result(first, usd=1.0),
        make_result(second, usd=2.0, **FAILED),
        make_excluded_result(third, Outcome.PROVIDER_ERROR, usd=4.0),
    )
    assert (arm.usd, arm.cost_of_pass) == (7.0, 3.0)


def test_without_a_pass_the_cost_of_one_is_not_a_number() -> None:
    arm = one_arm(*rows_of(2, usd=1.0, **FAILED))
    assert (arm.usd, arm.cost_of_pass) == (2.0, None)


def test_one_unknown_cost_makes_the_sum_unknown_and_is_warned_of() -> None:
    first, second = planned = cells(2)
    report = aggregate(plan_of(*planned), [make_result(first, usd=1.0), make_result(second, usd=None)])
    assert (report.arms[0].usd, report.arms[0].cost_of_pass) == (None, None)
    assert warned(report, "cost") == [
        "oracle: the cost of at least one trial is unknown, so its total cost is unknown."
    ]


def test_a_free_trial_costs_zero_which_is_known() -> None:
    report = aggregate(plan_of(*cells(1)), rows_of(1, usd=0.0))
    assert (report.arms[0].usd, report.arms[0].cost_of_pass, warned(report, "cost")) == (0.0, 0.0, [])


@pytest.mark.parametrize("kind", ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"])
def test_tokens_of_all_kinds_add_up_and_one_unknown_kind_makes_them_unknown(kind: str) -> None:
    used: dict[str, Any] = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4}
    assert one_arm(*rows_of(2, **used)).tokens == 20
    assert one_arm(*rows_of(2, **{**used, kind: None})).tokens is None


@pytest.mark.parametrize(
    "stranger",
    [make_result(make_cell("other")), make_result(make_cell("oracle", 9)), make_result(make_cell("oracle"), key="old")],
    ids=["arm", "repetition", "key"],
)
def test_rows_of_another_plan_are_left_out_and_warned_of(stranger: Result) -> None:
    report = aggregate(plan_of(*cells(2)), [stranger, make_result(make_cell("oracle", 2), **FAILED)])
    assert report.counts == Counts(planned=2, ran=1, judged=1, scored=1)
    assert [arm.arm for arm in report.arms] == ["oracle"]
    assert report.arms[0].passed == 0
    assert warned(report, "without a planned cell") == [
        "Skipped 1 row without a planned cell (another plan, other keys, or duplicates)."
    ]


def test_arms_and_scenarios_are_apart() -> None:
    planned = [*cells(2, "oracle", "002-two"), *cells(2, "oracle"), *cells(2, "nop")]
    rows = [make_result(cell, **({} if cell.arm == "oracle" and cell.repetition == 1 else FAILED)) for cell in planned]
    report = aggregate(plan_of(*planned), [*rows[:5]])
    assert [(row.scenario, row.passed) for row in report.scenarios] == [
        ("001-one", {"nop": (0, 1), "oracle": (1, 2)}),
        ("002-two", {"nop": (0, 0), "oracle": (1, 2)}),
    ]
    assert [(arm.arm, arm.pass_rate) for arm in report.arms] == [("nop", 0.0), ("oracle", 0.5)]


def test_every_arm_but_the_baseline_is_compared_and_no_verdict_is_made_up() -> None:
    planned = [*cells(1, "nop"), *cells(1, "oracle"), *cells(1, "third")]
    report = aggregate(plan_of(*planned), [make_result(cell) for cell in planned])
    assert [(one.arm, one.baseline, one.verdict) for one in report.comparisons] == [
        ("oracle", "nop", "not_enough_data"),
        ("third", "nop", "not_enough_data"),
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(0.25, 0.5, 0.75), (0.0, 0.0, 0.0), (0.25, None, None), (None, None, None)]
)
def test_what_the_judges_cost_is_summed_apart_from_the_arms(
    first: float | None, second: float | None, expected: float | None
) -> None:
    planned = [*cells(1), *cells(1, "nop")]
    rows = [make_result(cell, judge_usd=usd) for cell, usd in zip(planned, (first, second), strict=True)]
    report = aggregate(plan_of(*planned), rows)
    assert (report.judge_usd, [arm.usd for arm in report.arms]) == (expected, [0.0, 0.0])


def test_enough_trials_of_one_scenario_need_no_warning() -> None:
    assert aggregate(plan_of(*cells(10)), rows_of(10)).warnings == ()


def test_nine_trials_are_few() -> None:
    report = aggregate(plan_of(*cells(9)), rows_of(9))
    assert report.warnings == ("oracle: only 9 judged trials; the interval is wide for that reason.",)


@pytest.mark.parametrize(("faulty", "expected"), [(1, []), (2, ["oracle: 2 of 20 trials excluded"])])
def test_more_than_a_twentieth_excluded_is_warned_of(faulty: int, expected: list[str]) -> None:
    planned = cells(20)
    rows = [make_excluded_result(cell, Outcome.PROVIDER_ERROR) for cell in planned[:faulty]]
    report = aggregate(plan_of(*planned), [*rows, *(make_result(cell) for cell in planned[faulty:])])
    assert [said.partition(";")[0] for said in warned(report, "trials excluded")] == expected


def test_cells_that_are_not_in_the_rates_are_warned_of() -> None:
    report = aggregate(plan_of(*cells(12)), rows_of(11))
    assert report.warnings == ("oracle: its rates exclude 1 of 12 cells.",)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"agent_version": "2"}, ["oracle: trials of different agent versions are mixed: 1, 2."]),
        ({"agent_version": None}, []),
        ({"workspace_digest": "other"}, ["001-one: trials did not start from equal workspaces."]),
        ({"workspace_digest": None}, []),
        ({"items_na": 1, "items_unjudged": 1}, [NO_PANEL]),
        ({"items_na": 1}, []),
        ({"model": "m"}, [ON_THE_HOST]),
        ({"model": "m", "sandbox": "docker"}, [f"{MIXED}docker; host{BETWEEN}"]),
        ({"model": "m", "sandbox": "bubblewrap", **OWN}, [f"{MIXED}{IN_BUBBLEWRAP}; host{BETWEEN}"]),
        ({"model": "m", **EXPOSED}, [f"{MIXED}host; host (network: open, keys: exposed, files: open){BETWEEN}",
                                     ON_THE_HOST, KEYS]),
    ],
)  # fmt: skip
def test_what_makes_a_number_doubtful_is_warned_of(given: dict[str, Any], expected: list[str]) -> None:
    planned = cells(10)
    rows = [make_result(planned[0], **given), *(make_result(cell) for cell in planned[1:])]
    assert list(aggregate(plan_of(*planned), rows).warnings) == expected


def test_trials_in_containers_are_no_reason_for_a_warning() -> None:
    planned = cells(10)
    rows = [make_result(cell, sandbox="docker", model="m") for cell in planned]
    assert aggregate(plan_of(*planned), rows).warnings == ()


def test_items_that_a_panel_found_not_to_apply_are_no_reason_to_miss_one() -> None:
    planned = cells(10)
    plan = plan_of(*planned)
    judged = plan.model_copy(update={"experiment": plan.experiment.model_copy(update={"judges": ("a", "b")})})
    rows = [make_result(cell, items_na=1, items_unjudged=1) for cell in planned]
    assert aggregate(judged, rows).warnings == ()


def test_several_scenarios_are_pooled_with_a_warning() -> None:
    planned = [*cells(5), *cells(5, scenario="002-two")]
    report = aggregate(plan_of(*planned), [make_result(cell) for cell in planned])
    assert report.warnings == (POOLED,)


def test_different_scenarios_may_start_from_different_workspaces() -> None:
    planned = [*cells(5), *cells(5, scenario="002-two")]
    rows = [make_result(cell, workspace_digest=cell.scenario) for cell in planned]
    assert warned(aggregate(plan_of(*planned), rows), "workspaces") == []


def test_the_order_of_the_rows_does_not_matter() -> None:
    planned = [*cells(3), *cells(3, "nop")]
    rows = [make_result(cell, score=cell.repetition / 4, agent_version=str(cell.repetition)) for cell in planned]
    assert aggregate(plan_of(*planned), rows) == aggregate(plan_of(*planned), rows[::-1])


def test_trials_that_did_not_pass_are_listed_by_reason() -> None:
    many = cells(11)
    kinds: list[dict[str, Any]] = [
        *[{"score": 0.3, "threshold": 0.6}] * 6, {"outcome": Outcome.TIMEOUT}, {"files_changed": 0},
        {"broken_guards": 1}, {"score": 0.9, "threshold": 0.6}, {"passed": True},
    ]  # fmt: skip
    rows = [make_result(cell, **{"passed": False, **kind}) for cell, kind in zip(many, kinds, strict=True)]
    found = aggregate(plan_of(*many), rows).failures
    assert [(one.kind, one.count, len(one.cells)) for one in found] == [
        ("score below the threshold", 6, 5),
        ("a required check does not hold", 1, 1),
        ("broke what worked before", 1, 1),
        ("changed nothing", 1, 1),
        ("timeout", 1, 1),
    ]
