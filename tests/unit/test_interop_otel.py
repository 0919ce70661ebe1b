import datetime
import json
from typing import Any

from scylla_gha.interop.exporters.otel import otel_traces
from scylla_gha.model.result import AttemptRecord, CellRecord
from scylla_gha.model.traffic import Tokens
from scylla_gha.model.trial import Outcome, Step, ToolCall, Trajectory, Usage
from tests.support.dossiers import CELL, answered, asked, make_dossier
from tests.support.records import WHEN, make_attempt, make_result

START = int(WHEN.timestamp()) * 10**9
SECOND = 10**9
CALLS = (
    ToolCall(
        id="c1", name="Bash", arguments={"command": "ls secret-file"}, result="no such file", failed=True, seconds=0.5
    ),
    ToolCall(id="c2", name="Read", arguments={}, result="hello"),
)
STEPS = (
    Step(source="user", text="Say hello"),
    Step(source="agent", text="I look", tool_calls=CALLS),
    Step(source="agent", text="Done"),
)
TOKENS = Tokens(input=10, output=5, cache_read=300, cache_write_5m=3, cache_write_1h=1)
LATER = asked(2).model_copy(update={"at": WHEN + datetime.timedelta(seconds=4)})
TRAFFIC = (asked(1), answered(1, tokens=TOKENS, stop_reason="tool_use"), LATER, answered(2, usd=None))
ROW = make_result(CELL, agent="cli", agent_version="1.2", model="claude-x", score=0.5)


def record(*traffic: Any, **attempt: Any) -> CellRecord:
    done = make_attempt(**{"seconds": 6.0, "usage": Usage(output_tokens=7, usd=0.5), **attempt})
    return make_dossier(AttemptRecord(number=1, attempt=done, trajectory=Trajectory(steps=STEPS), traffic=traffic))


def exported(of: CellRecord, row: Any = ROW, *, content: bool = False) -> dict[str, Any]:
    """The spans by name, with plain attributes."""
    (line,) = otel_traces([row], {row.cell: of}, content=content).splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    spans = resource["scopeSpans"][0]["spans"]
    return {f"{span['name']} {number}": {**span, "attributes": plain(span["attributes"])}
            for number, span in enumerate(spans)}  # fmt: skip


def plain(attributes: list[Any]) -> dict[str, Any]:
    return {attribute["key"]: next(iter(attribute["value"].values())) for attribute in attributes}


def times(span: dict[str, Any]) -> tuple[int, int]:
    return int(span["startTimeUnixNano"]) - START, int(span["endTimeUnixNano"]) - START


def test_a_trial_is_a_trace_with_its_attempt_requests_and_tools() -> None:
    spans = exported(record(*TRAFFIC))
    assert list(spans) == [
        "trial 001-one 0", "invoke_agent cli 1", "chat m 2", "chat m 3", "execute_tool Bash 4", "execute_tool Read 5"
    ]  # fmt: skip
    trial, agent, *children = spans.values()
    assert len({span["traceId"] for span in spans.values()}) == 1
    assert len({span["spanId"] for span in spans.values()}) == 6
    assert ("parentSpanId" in trial, agent["parentSpanId"]) == (False, trial["spanId"])
    assert {child["parentSpanId"] for child in children} == {agent["spanId"]}
    assert [(len(span["traceId"]), len(span["spanId"])) for span in spans.values()] == [(32, 16)] * 6
    assert exported(record(*TRAFFIC)) == spans
    assert exported(record(), ROW.model_copy(update={"key": "other"}))["trial 001-one 0"]["traceId"] != trial["traceId"]


def test_requests_have_the_gateways_times_and_usage_and_unknown_numbers_are_absent() -> None:
    spans = exported(record(*TRAFFIC))
    first, second, agent = spans["chat m 2"], spans["chat m 3"], spans["invoke_agent cli 1"]
    assert (times(first), times(second)) == ((0, SECOND), (4 * SECOND, 5 * SECOND))
    assert first["attributes"] == {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.response.finish_reasons": {"values": [{"stringValue": "tool_use"}]},
        "gen_ai.usage.input_tokens": "314", "gen_ai.usage.output_tokens": "5",
        "gen_ai.usage.cache_read.input_tokens": "300", "gen_ai.usage.cache_write.input_tokens": "4",
        "scylla.cost.usd": 0.01,
    }  # fmt: skip
    assert "scylla.cost.usd" not in second["attributes"]
    assert agent["attributes"]["gen_ai.provider.name"] == "anthropic"
    assert agent["attributes"]["gen_ai.usage.output_tokens"] == "7"
    assert "gen_ai.usage.input_tokens" not in agent["attributes"]


def test_tools_run_between_requests_and_where_that_is_unknown_within_the_attempt() -> None:
    spans = exported(record(*TRAFFIC))
    timed, untimed = spans["execute_tool Bash 4"], spans["execute_tool Read 5"]
    assert (times(timed), timed["attributes"]["scylla.time"]) == ((SECOND, SECOND * 3 // 2), "measured")
    assert (times(untimed), untimed["attributes"]["scylla.time"]) == ((SECOND, 4 * SECOND), "between_requests")
    assert (timed["status"], "status" in untimed) == ({"code": 2}, False)
    unknown = exported(record())["execute_tool Read 3"]
    assert (times(unknown), unknown["attributes"]["scylla.time"]) == ((0, 6 * SECOND), "attempt")


def test_texts_are_written_only_where_they_are_asked_for() -> None:
    bare = json.dumps(exported(record(*TRAFFIC)))
    assert not any(text in bare for text in ("Say hello", "I look", "Done", "secret-file", "no such file"))
    spans = exported(record(*TRAFFIC), content=True)
    agent, tool = spans["invoke_agent cli 1"]["attributes"], spans["execute_tool Bash 4"]["attributes"]
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Done"}]}
    assert json.loads(agent["gen_ai.output.messages"]) == [said]
    assert json.loads(agent["gen_ai.input.messages"])[0]["parts"][0]["content"] == "Say hello"
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"command": "ls secret-file"}
    (_, call, _) = json.loads(spans["chat m 2"]["attributes"]["gen_ai.output.messages"])[0]["parts"]
    assert call["id"] == "c1"


def test_verdict_and_score_are_evaluations_and_a_fault_is_an_error() -> None:
    trial = exported(record())["trial 001-one 0"]
    assert [plain(event["attributes"]) for event in trial["events"]] == [
        {"gen_ai.evaluation.name": "passed", "gen_ai.evaluation.score.label": "pass"},
        {"gen_ai.evaluation.name": "score", "gen_ai.evaluation.score.value": 0.5},
    ]
    fault = ROW.model_copy(update={"outcome": Outcome.PROVIDER_ERROR, "measures_agent": False, "passed": None})
    spans = exported(record(asked(1), outcome=Outcome.PROVIDER_ERROR), fault)
    assert (spans["trial 001-one 0"]["status"], spans["trial 001-one 0"]["events"]) == ({"code": 2}, [])
    assert spans["invoke_agent cli 1"]["attributes"]["error.type"] == "provider_error"
    assert (spans["chat m 2"]["attributes"]["error.type"], times(spans["chat m 2"])) == ("no_answer", (0, 6 * SECOND))
