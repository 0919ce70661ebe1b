from typing import Any

from scylla_gha.interop.exporters.conversations import inspect_sample
from scylla_gha.model.judgment import ItemScore
from scylla_gha.model.result import AttemptRecord, CellRecord
from scylla_gha.model.traffic import RequestRecord, Tokens
from scylla_gha.model.trial import Outcome, Step, ToolCall, Trajectory
from tests.support.dossiers import CELL, answered, asked, make_dossier
from tests.support.records import WHEN, make_attempt, make_check, make_judgment, make_result, make_score

CALLS = (
    ToolCall(id="c1", name="Bash", arguments={"command": "ls"}, result="no such file", failed=True),
    ToolCall(id="c2", name="Read", arguments="README.md", result="hello"),
    ToolCall(id="c3", name="Read", arguments=None),
)
STEPS = (
    Step(source="user", text="Say hello"),
    Step(source="agent", text="I look", tool_calls=CALLS),
    Step(source="agent", text="Done"),
)
TOKENS = Tokens(input=10, output=5, cache_read=300, cache_write_5m=3, cache_write_1h=1)
TRAFFIC = (
    asked(1), answered(1, tokens=TOKENS), asked(2), answered(2, tokens=TOKENS, usd=0.5),
    asked(3), answered(3, source="refused", tokens=None, usd=0.0),
)  # fmt: skip
ROW = make_result(CELL, model="m", usd=None, input_tokens=None, started_at=WHEN)


def record(*traffic: Any, **given: Any) -> CellRecord:
    work = AttemptRecord(number=1, attempt=make_attempt(), trajectory=Trajectory(steps=STEPS), traffic=traffic)
    return make_dossier(work, **given)


def sample(row: Any = ROW, of: CellRecord | None = None) -> Any:
    return inspect_sample(row, "m", of or record(*TRAFFIC))


def test_messages_are_the_conversation_with_calls_and_their_results() -> None:
    seen = sample()
    assert seen["input"] == "Say hello"
    assert [message["role"] for message in seen["messages"]] == ["user", "assistant", "tool", "tool", "assistant"]
    _, calling, failed, read, last = seen["messages"]
    assert [call["arguments"] for call in calling["tool_calls"]] == [
        {"command": "ls"}, {"value": "README.md"}, {"value": None}
    ]  # fmt: skip
    assert (failed["tool_call_id"], failed["error"]["message"]) == ("c1", "no such file")
    assert (read["content"], read["function"], "error" in read) == ("hello", "Read", False)
    assert (last["content"], last["model"]) == ("Done", "m")
    assert len({message["id"] for message in seen["messages"]}) == 5


def test_the_output_is_the_last_message_with_the_usage_of_its_request() -> None:
    output = sample()["output"]
    assert (output["completion"], output["choices"][0]["stop_reason"]) == ("Done", "stop")
    assert output["usage"] == {
        "input_tokens": 10, "output_tokens": 5, "total_tokens": 319, "input_tokens_cache_read": 300,
        "input_tokens_cache_write": 4, "total_cost": 0.5,
    }  # fmt: skip
    assert "usage" not in sample(of=record())["output"]


def test_usage_is_of_each_model_and_unknown_where_an_answer_is_missing() -> None:
    other = RequestRecord(number=4, at=WHEN, role="agent", model="helper", digest="d", characters={})
    usage = sample(of=record(*TRAFFIC, other))["model_usage"]
    assert list(usage) == ["m"]
    assert (usage["m"]["input_tokens"], usage["m"]["total_cost"]) == (20, 0.51)
    both = sample(of=record(*TRAFFIC, other, answered(4, tokens=TOKENS, usd=None)))["model_usage"]
    assert (both["helper"]["total_tokens"], "total_cost" in both["helper"]) == (319, False)


def test_scores_are_explained_by_checks_and_rubric_items() -> None:
    item = ItemScore(id="i", category="quality", points=2, value=0.5, by="judge", reason="two faults", text="Is short")
    check = make_check(id="runs", holds=False, what="It runs", role="required", evidence="exit code 1")
    judgment = make_judgment(CELL, checks=(check,), items=(item,), result=make_score(passed=False, why="runs fails"))
    scores = sample(ROW.model_copy(update={"passed": False}), record(judgment=judgment))["scores"]
    assert scores["passed"] == {
        "value": "I", "explanation": "runs fails\n\nfails: It runs (required): exit code 1"
    }  # fmt: skip
    assert scores["score"]["explanation"] == "Is short (quality, points: 2, by judge): 0.5: two faults"


def test_a_time_limit_is_a_limit_and_a_fault_an_error() -> None:
    late = sample(ROW.model_copy(update={"outcome": Outcome.TIMEOUT, "reason": "took too long"}))
    assert late["limit"] == {"type": "time", "limit": 2.0, "reason": "took too long"}
    assert (late["output"]["choices"][0]["stop_reason"], "error" in late) == ("unknown", False)
    assert late["started_at"] == WHEN.isoformat()
    faulty = sample(ROW.model_copy(update={"outcome": Outcome.PROVIDER_ERROR, "measures_agent": False}))
    assert (faulty["error"]["message"], "limit" in faulty) == ("provider_error: ended by itself", False)
