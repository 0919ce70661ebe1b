"""One sample of an Inspect log: the task, the last attempt's messages, usage per model, scores and their reasons.

The trajectory has no reasoning of the model, so the messages have none. What is unknown is left out.
"""

from collections.abc import Iterator
from typing import Final

from scylla_gha.model.cell_records import AttemptRecord, CellRecord, step_requests, task_text, usage_by_model
from scylla_gha.model.judgment import CheckResult, ItemScore, Judgment
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome, Step, ToolCall, Usage

_METADATA: Final = (
    "cell", "category", "size", "difficulty", "outcome", "reason", "grade", "progress", "attempts", "usd", "judge_usd",
    "turns", "tool_calls", "failed_tool_calls", "delivered", "files_changed", "lines_changed", "replayed",
)  # fmt: skip
_STOP_REASONS: Final = {Outcome.COMPLETED: "stop", Outcome.REFUSED: "content_filter"}  # of others: unknown
Json = dict[str, object]


def inspect_sample(row: Result, model: str | None, record: CellRecord | None) -> Json:
    """Return the sample of a trial by an arm's model; without records the input is the scenario's id."""
    work = record.works[-1] if record and record.works else AttemptRecord(number=1)
    messages = [message for step in _steps(work) for message in _messages(step, model)]
    sample: Json = {
        "id": row.scenario,
        "epoch": row.repetition,
        "input": (task_text(record) if record else None) or row.scenario,
        "target": "",
        "messages": [{"id": f"{row.cell}-{number}", **message} for number, message in enumerate(messages, start=1)],
        "scores": _scores(row, record.judgment if record else None),
        "metadata": {name: getattr(row, name) for name in _METADATA},
        "model_usage": _model_usage(row, model, record),
        "total_time": row.seconds,
    }
    output = _output(row.outcome, model, work, messages)
    return {**sample, **({"output": output} if output else {}), **_end(row, work)}


def _steps(work: AttemptRecord) -> tuple[Step, ...]:
    return work.trajectory.steps if work.trajectory else ()


def _messages(step: Step, model: str | None) -> Iterator[Json]:
    """Yield a step's message, then the results of its tool calls."""
    if step.source != "agent" and not step.tool_calls:
        yield {"role": step.source, "content": step.text}
        return
    message: Json = {"role": "assistant", "content": step.text}
    if model is not None:
        message["model"] = model
    if step.tool_calls:
        message["tool_calls"] = [_call(call) for call in step.tool_calls]
    yield message
    yield from (_answer(call) for call in step.tool_calls if call.result is not None)


def _call(call: ToolCall) -> Json:
    arguments = call.arguments if isinstance(call.arguments, dict) else {"value": call.arguments}
    return {"id": call.id, "function": call.name, "arguments": arguments, "type": "function"}


def _answer(call: ToolCall) -> Json:
    answer: Json = {"role": "tool", "content": call.result, "tool_call_id": call.id, "function": call.name}
    return {**answer, "error": {"type": "unknown", "message": call.result}} if call.failed else answer


def _output(outcome: Outcome, model: str | None, work: AttemptRecord, messages: list[Json]) -> Json | None:
    """Return the agent's last message, with the usage of its request if that is known; None if it said nothing."""
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if last is None:
        return None
    choice = {"message": last, "stop_reason": _STOP_REASONS.get(outcome, "unknown")}
    request = next((request for request in reversed(step_requests(work)) if request), None)
    usage = _usage(request.answer.usage) if request and request.answer else None
    return {"model": model or "", "choices": [choice], "completion": last["content"],
            **({"usage": usage} if usage else {})}  # fmt: skip


def _model_usage(row: Result, model: str | None, record: CellRecord | None) -> Json:
    """Return the usage of each model, from the requests if they are stored; models with unknown tokens are left out."""
    usage = usage_by_model(record) if record else {}
    if not usage and model is not None:
        usage = {model: Usage(**{name: getattr(row, name) for name in Usage.model_fields})}
    shown = {name: _usage(part) for name, part in usage.items()}
    return {name: part for name, part in shown.items() if part}


def _usage(usage: Usage) -> Json | None:
    """Return the tokens and the cost; None if a kind of tokens is unknown, since Inspect reads a missing one as 0."""
    parts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    tokens: Json = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": sum(known),
        "input_tokens_cache_read": usage.cache_read_tokens,
        "input_tokens_cache_write": usage.cache_write_tokens,
    }
    return tokens if usage.usd is None else {**tokens, "total_cost": usage.usd}


def _end(row: Result, work: AttemptRecord) -> Json:
    """Return when the trial began, and the error of one that does not measure the agent or the limit that ended it."""
    end: Json = {}
    if row.started_at is not None and row.started_at.tzinfo:
        end["started_at"] = row.started_at.isoformat()
    if not row.measures_agent:
        end["error"] = {"message": f"{row.outcome}: {row.reason}", "traceback": "", "traceback_ansi": ""}
    elif row.outcome is Outcome.TIMEOUT and work.attempt:
        end["limit"] = {"type": "time", "limit": work.attempt.seconds, "reason": row.reason}
    return end


def _scores(row: Result, judgment: Judgment | None) -> Json:
    if not row.measures_agent:
        return {}
    scores: Json = {}
    if row.passed is not None:
        result = judgment.result if judgment else None
        lines = [result.why if result else row.reason, *map(_check, judgment.checks if judgment else ())]
        scores["passed"] = {"value": "C" if row.passed else "I", "explanation": "\n\n".join(lines)}
    if row.score is not None:
        lines = [*map(_item, judgment.items)] if judgment else []
        scores["score"] = {"value": row.score, **({"explanation": "\n\n".join(lines)} if lines else {})}
    return scores


def _check(check: CheckResult) -> str:
    role = f" ({check.role})" if check.role else ""
    return f"{'holds' if check.holds else 'fails'}: {check.what or check.id}{role}: {check.evidence}"


def _item(item: ItemScore) -> str:
    value = "N/A" if item.value is None else f"{item.value:g}"
    return f"{item.text or item.id} ({item.category}, points: {item.points:g}, by {item.by}): {value}: {item.reason}"
