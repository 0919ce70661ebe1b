import json
from typing import Any

import pytest

from scylla_gha.interop.exporters.conversations import atif_trajectory
from scylla_gha.model.result import AttemptRecord, Result
from scylla_gha.model.trial import Step, ToolCall, Trajectory, Usage
from tests.support.golden import golden
from tests.support.records import make_attempt, make_result

HOSTILE = '</tool> \x1b[31m \x00 "}'
CALLS = (
    ToolCall(id="c1", name="Bash", arguments={"command": HOSTILE}, result=HOSTILE, failed=True, seconds=0.5),
    ToolCall(id="c2", name="Read", arguments="README.md", result="hello"),
    ToolCall(id="c3", name="Read", arguments=None),
)
STEPS = (
    Step(source="system", text="You are an agent"),
    Step(source="user", text="Say hello"),
    Step(source="agent", text="", tool_calls=CALLS),
    Step(source="agent", text="Done"),
)
TRAJECTORY = Trajectory(steps=STEPS, final_message="Done")
USAGE = Usage(input_tokens=10, output_tokens=20, cache_read_tokens=300, cache_write_tokens=4, usd=0.5)
ROW = make_result(model="m", agent="cli")


def work(trajectory: Trajectory, **given: Any) -> AttemptRecord:
    attempt = make_attempt(**given)
    return AttemptRecord(number=attempt.number, attempt=attempt, trajectory=trajectory)


def document(trajectory: Trajectory = TRAJECTORY, usage: Usage = USAGE, row: Result = ROW, **given: Any) -> Any:
    found = atif_trajectory(work(trajectory, usage=usage, **given), row)
    assert found is not None
    return json.loads(found)


def test_it_reads_as_it_always_did() -> None:
    found = atif_trajectory(work(TRAJECTORY, usage=USAGE, number=2, agent_version="1.2.3"), ROW)
    assert found is not None
    assert found.decode() == golden("atif.json", found.decode())


def test_steps_are_numbered_from_one_and_answers_stand_with_their_calls() -> None:
    steps = document()["steps"]
    assert [(step["step_id"], step["source"]) for step in steps] == [
        (1, "system"), (2, "user"), (3, "agent"), (4, "agent")
    ]  # fmt: skip
    results = steps[2]["observation"]["results"]
    assert [(each["source_call_id"], each["content"]) for each in results] == [("c1", HOSTILE), ("c2", "hello")]
    assert results[0]["extra"] == {"failed": True}
    assert "extra" not in results[1]
    assert all("observation" not in step and "tool_calls" not in step for step in (*steps[:2], steps[3]))


def test_arguments_are_always_an_object() -> None:
    calls = document()["steps"][2]["tool_calls"]
    assert [call["arguments"] for call in calls] == [{"command": HOSTILE}, {"value": "README.md"}, {"value": None}]
    assert calls[0]["extra"] == {"seconds": 0.5}


def test_a_step_with_calls_is_the_agents() -> None:
    odd = Trajectory(steps=(Step(source="user", text="", tool_calls=CALLS),))
    assert document(odd)["steps"][0]["source"] == "agent"


def test_prompt_tokens_include_the_cached_ones() -> None:
    assert document()["final_metrics"] == {
        "total_prompt_tokens": 314,
        "total_completion_tokens": 20,
        "total_cached_tokens": 300,
        "total_cost_usd": 0.5,
        "total_steps": 4,
    }


def test_unknown_tokens_and_costs_are_left_out() -> None:
    assert document(usage=Usage(input_tokens=1, usd=0.0))["final_metrics"] == {"total_cost_usd": 0.0, "total_steps": 4}


@pytest.mark.parametrize(("own", "of_row", "shown"), [("2", "1", "2"), (None, "1", "1"), (None, None, "unknown")])
def test_the_version_is_that_which_ran(own: str | None, of_row: str | None, shown: str) -> None:
    row = ROW.model_copy(update={"agent_version": of_row})
    assert document(row=row, agent_version=own)["agent"] == {"name": "cli", "version": shown, "model_name": "m"}


def test_an_agent_without_a_model_names_none() -> None:
    assert "model_name" not in document(row=make_result())["agent"]


def test_attempts_are_told_apart() -> None:
    found = document(number=3)
    assert found["session_id"] == found["trajectory_id"] == f"{ROW.cell}--attempt-3"
    assert found["schema_version"] == "ATIF-v1.8"


def test_where_nothing_was_said_there_is_no_document() -> None:
    assert atif_trajectory(work(Trajectory()), ROW) is None
