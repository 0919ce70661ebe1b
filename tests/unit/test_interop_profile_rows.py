import json
from typing import Any

import pytest

from scylla_gha.interop.exporters.rows import profile_rows
from scylla_gha.model.judgment import CheckResult
from scylla_gha.model.result import AttemptRecord, CellRecord, Result
from scylla_gha.model.trial import Attempt, Outcome, Step, ToolCall, Trajectory
from tests.support.dossiers import make_dossier
from tests.support.golden import golden
from tests.support.records import make_attempt, make_cell, make_excluded_result, make_judgment, make_result

TOKENS: dict[str, Any] = {"input_tokens": 10, "output_tokens": 20, "cache_read_tokens": 300, "cache_write_tokens": 4}
ROW = make_result(model="m", variant="T0/00-empty", tool_calls=4, failed_tool_calls=1, usd=0.5, **TOKENS)


def record(
    attempt: Attempt | None, checks: tuple[CheckResult, ...] | None = None, calls: tuple[ToolCall, ...] | None = None
) -> CellRecord:
    trajectory = None if calls is None else Trajectory(steps=(Step(source="agent", text="", tool_calls=calls),))
    judgment = None if checks is None else make_judgment(make_cell(), checks=checks)
    return make_dossier(AttemptRecord(number=1, attempt=attempt, trajectory=trajectory), judgment=judgment)


def read(
    row: Result = ROW,
    attempt: Attempt | None = None,
    checks: tuple[CheckResult, ...] | None = None,
    calls: tuple[ToolCall, ...] | None = None,
) -> dict[str, Any]:
    (line,) = profile_rows([row], {row.cell: record(attempt, checks, calls)}).splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_it_reads_as_it_always_did() -> None:
    fault = make_excluded_result(make_cell(repetition=2), Outcome.SANDBOX_ERROR, reason="no room")
    checks = (CheckResult(id="greets", holds=True, value=1.0, evidence="printed hello"),)
    records = {ROW.cell: record(make_attempt(tool_calls={"Bash": 4}), checks)}
    text = profile_rows([ROW, fault], records).decode()
    assert text == golden("profile-rows.jsonl", text)


def test_all_fields_of_the_profiler_are_there() -> None:
    assert set(read()) == {
        "runId", "scenarioId", "mode", "model", "iteration", "startedAt", "completedAt", "tokens", "timing",
        "toolCalls", "cost", "success", "checkpointsPassed", "checkpointsTotal", "checkpointDetails", "outputValid",
        "provider", "sessionId", "agentTurns", "completionReason", "extensions",
    }  # fmt: skip


def test_known_numbers_are_in_the_profilers_units() -> None:
    found = read()
    assert found["timing"]["wallMs"] == 2000.0
    assert (found["tokens"]["total"], found["tokens"]["active"]) == (334, 30)
    assert (found["toolCalls"]["total"], found["toolCalls"]["errorRate"]) == (4, 0.25)
    assert (found["cost"]["totalUsd"], found["mode"], found["iteration"]) == (0.5, "T0/00-empty", 0)
    assert read(ROW.model_copy(update={"mode": "mcp"}))["mode"] == "mcp"


def test_unknown_is_null_and_not_zero() -> None:
    found = read(make_result(usd=None, input_tokens=None))
    assert found["cost"] == {"totalUsd": None, "inputUsd": None, "outputUsd": None, "reasoningUsd": None}
    assert (found["tokens"]["input"], found["tokens"]["total"], found["tokens"]["active"]) == (None, None, None)
    assert found["toolCalls"]["errorRate"] is None
    assert (found["startedAt"], found["completedAt"], found["toolCalls"]["byCategory"]) == (None, None, None)
    assert (found["model"], found["mode"]) == (None, "nop")


def test_an_attempt_adds_times_and_tools() -> None:
    found = read(attempt=make_attempt(seconds=90.0, tool_calls={"Bash": 3, "Read": 1}))
    assert (found["startedAt"], found["completedAt"]) == ("2026-01-02T03:04:05+00:00", "2026-01-02T03:05:35+00:00")
    assert found["toolCalls"]["byCategory"] == {"bash": 3, "file_ops": 1}
    assert (found["toolCalls"]["retried"], found["toolCalls"]["records"]) == (None, None)
    assert found["extensions"]["tools"] == {"Bash": 3, "Read": 1}


def call(name: str, *, failed: bool | None = False, **arguments: str) -> ToolCall:
    return ToolCall(id="c", name=name, arguments=dict(arguments), result="no such label", failed=failed, seconds=0.5)


def test_a_stored_session_adds_what_was_called_with_gh_and_what_was_tried_again() -> None:
    calls = (
        call("Bash", command="cd app && GH_REPO=o/r gh issue edit 1 --add-label x", failed=True),
        call("Bash", command="cd app && gh issue edit 1 --add-label y"),
        call("Bash", command="gh issue close 1", failed=True),
        call("Bash", command="grep gh README.md"),
        call("Bash", command="gh issue close 2"),
        call("mcp__github__get_issue", failed=True),
        call("mcp__github__get_issue", failed=True),
        call("mcp__github__get_issue"),
        call("mcp__github__get_issue"),
        call("Read", failed=None),
        call("Task"),
    )
    names = {"Bash": 6, "mcp__github__get_issue": 4, "Read": 1, "Task": 1}  # one of a sub-agent is not in the session
    tools = read(attempt=make_attempt(tool_calls=names), calls=calls)["toolCalls"]
    assert tools["byCategory"] == {"bash": 2, "file_ops": 1, "gh_cli": 4, "mcp": 4, "other": 1}
    assert tools["retried"] == 4
    assert [record["category"] for record in tools["records"][:5]] == ["gh_cli"] * 3 + ["bash", "gh_cli"]
    assert tools["records"][5] == {
        "name": "mcp__github__get_issue", "category": "mcp", "success": False, "durationMs": 500.0,
        "error": "no such label",
    }  # fmt: skip
    assert tools["records"][9] == {"name": "Read", "category": "file_ops", "success": None, "durationMs": 500.0}


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.COMPLETED, "stop"),
        (Outcome.TIMEOUT, "timeout"),
        (Outcome.REFUSED, "error"),
        (Outcome.BUDGET_EXCEEDED, "error"),
    ],
)
def test_the_end_is_told_in_the_profilers_words(outcome: Outcome, reason: str) -> None:
    found = read(make_result(outcome=outcome, reason="why", passed=False))
    assert found["completionReason"] == reason
    assert found.get("errorCode") == (None if outcome is Outcome.COMPLETED else outcome.value)
    assert found["success"] is False


def test_a_fault_is_no_failure_of_the_agent() -> None:
    found = read(make_excluded_result(make_cell(), Outcome.PROVIDER_ERROR, reason="429 \x1b\n\ud800"))
    assert (found["success"], found["completionReason"]) == (None, "error")
    assert found["error"] == "429 \x1b\n\ufffd"
    assert found["extensions"]["measures_agent"] is False


def test_epochs_are_runs_of_their_own() -> None:
    assert read()["runId"] == "demo"
    assert read(make_result(epoch="e2"))["runId"] == "demo@e2"


def test_no_results_are_no_lines() -> None:
    assert profile_rows([], {}) == b""


def test_a_mode_is_the_arms_toolset_and_its_operations_on_github_are_there() -> None:
    row = make_result(mode="mcp", variant="T0/00-empty", github="hub", github_calls={"pr.read": 3, "pr.write": 1},
                      github_failed=1, github_repeated=1)  # fmt: skip
    found = read(row)
    assert (found["mode"], found["extensions"]["variant"], found["extensions"]["repetition"]) == (
        "mcp",
        "T0/00-empty",
        1,
    )
    assert found["extensions"]["github_calls"] == {"pr.read": 3, "pr.write": 1}
    assert (found["extensions"]["github_failed"], found["extensions"]["github_repeated"]) == (1, 1)


def test_checkpoints_are_counted_and_listed() -> None:
    checks = tuple(CheckResult(id=name, holds=name == "a", value=0.0, evidence=f"see {name}") for name in "ab")
    found = read(make_result(checkpoints=2, checkpoints_passed=1), checks=checks)
    assert (found["checkpointsPassed"], found["checkpointsTotal"]) == (1, 2)
    assert found["checkpointDetails"][1] == {"id": "b", "description": None, "passed": False, "actual": "see b"}
    assert read()["checkpointDetails"] is None
