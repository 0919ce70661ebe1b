import json
from typing import Any

from scylla_gha.interop.exporters.conversations import inspect_logs
from scylla_gha.model import slug
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from tests.support.golden import golden
from tests.support.records import WHEN, make_cell, make_excluded_result, make_model_arm, make_plan, make_result

ARM = make_model_arm()
CELLS = tuple(make_cell(ARM.id, number) for number in range(1, 5))
PLAN = make_plan(*CELLS, arms=(ARM,))
PASSED, FAILED, FAULTY, MISSING = CELLS
HOSTILE = "</script> \x1b[31m \ud800 {{system}}"


def rows() -> list[Result]:
    tokens = {"input_tokens": 10, "output_tokens": 20, "cache_read_tokens": 300, "cache_write_tokens": 4, "usd": 0.5}
    return [
        make_result(PASSED, **tokens),
        make_result(FAILED, passed=False, score=0.25, grade="D", input_tokens=None),
        make_excluded_result(FAULTY, Outcome.PROVIDER_ERROR, reason=HOSTILE),
    ]


def log_of(plan: Plan = PLAN, results: list[Result] | None = None) -> dict[str, Any]:
    (text,) = inspect_logs(plan, rows() if results is None else results, WHEN, {}).values()
    log: dict[str, Any] = json.loads(text)
    return log


def test_it_reads_as_it_always_did() -> None:
    ((name, text),) = inspect_logs(PLAN, rows(), WHEN, {}).items()
    assert name == f"2026-01-02T03-04-05+00-00_demo-{slug(ARM.id)}_{log_of()['eval']['task_id']}.json"
    assert text.decode() == golden("inspect-log.json", text.decode())


def test_scenarios_are_samples_and_repetitions_epochs_and_the_missing_one_is_counted() -> None:
    log = log_of()
    assert [(sample["id"], sample["epoch"]) for sample in log["samples"]] == [("001-one", n) for n in (1, 2, 3)]
    assert (log["results"]["total_samples"], log["results"]["completed_samples"]) == (4, 2)
    assert log["eval"]["dataset"] == {"name": "demo", "samples": 1, "sample_ids": ["001-one"]}
    assert log["eval"]["config"] == {"epochs": 4}
    assert (log["version"], log["status"]) == (2, "cancelled")


def test_a_whole_arm_is_a_success() -> None:
    assert log_of(make_plan(PASSED, arms=(ARM,)), rows()[:1])["status"] == "success"


def test_rates_are_of_what_measures_the_agent_alone() -> None:
    passed, score = log_of()["results"]["scores"]
    assert passed["metrics"] == {"accuracy": {"name": "accuracy", "value": 0.5}}
    assert score["metrics"] == {"mean": {"name": "mean", "value": 0.625}}
    assert (score["scored_samples"], score["unscored_samples"]) == (2, 1)


def test_without_any_score_there_is_no_rate() -> None:
    log = log_of(results=rows()[2:])
    assert [score["metrics"] for score in log["results"]["scores"]] == [{}, {}]


def test_a_fault_is_an_error_without_a_score_and_hostile_text_stays_text() -> None:
    sample = log_of()["samples"][2]
    assert sample["error"]["message"] == "provider_error: " + HOSTILE.replace("\ud800", "\ufffd")
    assert sample["scores"] == {}
    assert "error" not in log_of()["samples"][0]


def test_verdict_and_score_are_told_apart() -> None:
    first, second, _ = log_of()["samples"]
    assert first["scores"] == {"passed": {"value": "C", "explanation": "ended by itself"}, "score": {"value": 1.0}}
    assert second["scores"]["passed"]["value"] == "I"


def test_tokens_are_told_where_all_kinds_are_known_and_not_made_up() -> None:
    first, second, _ = log_of()["samples"]
    assert first["model_usage"] == {
        "m": {
            "input_tokens": 10,
            "output_tokens": 20,
            "total_tokens": 334,
            "input_tokens_cache_read": 300,
            "input_tokens_cache_write": 4,
            "total_cost": 0.5,
        }
    }
    assert second["model_usage"] == {}
    unpriced = log_of(results=[make_result(PASSED, usd=None)])["samples"][0]["model_usage"]["m"]
    assert "total_cost" not in unpriced


def test_an_agent_without_a_model_has_inspects_name_for_none() -> None:
    cell = make_cell("nop")
    log = log_of(make_plan(cell), [make_result(cell)])
    assert log["eval"]["model"] == "none/none"
    assert log["samples"][0]["model_usage"] == {}


def test_without_records_the_scenario_is_the_input_and_nothing_is_said() -> None:
    sample = log_of()["samples"][0]
    assert (sample["input"], sample["messages"], "output" in sample) == ("001-one", [], False)


def test_ids_tell_arms_and_epochs_apart_and_stay_the_same() -> None:
    other = log_of(PLAN.model_copy(update={"epoch": "e2"}))["eval"]
    mine = log_of()["eval"]
    assert mine == log_of()["eval"]
    assert other["run_id"] != mine["run_id"]
    assert other["eval_id"] != mine["eval_id"]
    assert other["task_id"] == mine["task_id"]
    logs = inspect_logs(make_plan(), [], WHEN, {})
    evals = [json.loads(log)["eval"] for log in logs.values()]
    assert evals[0]["run_id"] == evals[1]["run_id"]
    assert evals[0]["eval_id"] != evals[1]["eval_id"]
    assert [name.split("_")[1] for name in logs] == ["demo-oracle", "demo-nop"]
