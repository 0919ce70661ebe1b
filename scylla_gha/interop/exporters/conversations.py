"""Export conversations as ATIF v1.8 (Harbor's trajectory format) and as logs of Inspect.

ATIF: a document is the conversation of one attempt. A tool's result is in the step with the call. Values for which ATIF
has no field are left out or put into `extra`, since its schema rejects unknown keys.

Inspect (`EvalLog`, version 2, JSON): a log per arm; a scenario is a sample, a repetition an epoch. `inspect view` and
`inspect log convert` read them. A missing cell has no sample, but `total_samples` counts it. A trial that does not
measure the agent has an error and no score. Unknown numbers are left out, since Inspect refuses a null token count.
Trajectories, and so the messages, do not contain the model's reasoning.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from scylla_gha.interop.exporters.rows import ArmRows, further_columns, json_bytes, rows_by_arm
from scylla_gha.model import digest, known_sum, slug
from scylla_gha.model.judgment import CheckResult, ItemScore, Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import AttemptRecord, CellRecord, Result, step_requests, task_text, usage_by_model
from scylla_gha.model.trial import Outcome, Step, ToolCall, Usage

_VERSION: Final = 2
_NO_MODEL: Final = "none/none"  # Inspect's name for "no model"
Json = dict[str, object]
_STOP_REASONS: Final = {Outcome.COMPLETED: "stop", Outcome.REFUSED: "content_filter"}  # others: unknown
_ATIF_VERSION: Final = "ATIF-v1.8"
_UNKNOWN: Final = "unknown"  # ATIF requires an agent's version


def inspect_logs(
    plan: Plan, results: Iterable[Result], created: datetime.datetime, records: Mapping[str, CellRecord]
) -> dict[str, bytes]:
    """Return a log for each arm of the plan, by file name.

    Args:
        plan: the plan.
        results: results of the plan; at most one per cell.
        records: records of the results' trials, by cell; results without a record have no messages.
        created: creation time of the logs, with a time zone.

    Raises:
        ConfigError: a row does not belong to the plan, or a cell has two rows.
    """
    return {
        _file_name(plan, arm, created): json_bytes(_log(plan, arm, created.isoformat(), records), indent=1) + b"\n"
        for arm in rows_by_arm(plan, results)
    }


def _file_name(plan: Plan, arm: ArmRows, created: datetime.datetime) -> str:
    """Return a file name in Inspect's form: time, task and id, joined by underscores."""
    time = created.isoformat(timespec="seconds").replace(":", "-")
    task = f"{slug(plan.experiment.id)}-{slug(arm.arm.id) or 'arm'}"
    return f"{time}_{task}_{_task_id(plan, arm)}.json"


def _task_id(plan: Plan, arm: ArmRows) -> str:
    return digest([plan.experiment.id, arm.arm.id])[:22]


def _log(plan: Plan, arm: ArmRows, created: str, records: Mapping[str, CellRecord]) -> Json:
    return {
        "version": _VERSION,
        "status": "success" if len(arm.rows) == len(arm.cells) else "cancelled",
        "eval": _spec(plan, arm, created),
        "plan": {"name": arm.arm.id, "steps": []},
        "results": _results(arm),
        "stats": {"started_at": created, "completed_at": created},
        "samples": [inspect_sample(row, arm.arm.model, records.get(row.cell)) for row in arm.rows],
    }


def _spec(plan: Plan, arm: ArmRows, created: str) -> Json:
    scenarios = list(dict.fromkeys(planned.cell.scenario for planned in arm.cells))
    run_identity = [plan.experiment.id, plan.epoch, sorted(cell.key for cell in plan.cells)]
    variant = arm.arm.variant.id if arm.arm.variant else None
    return {
        "eval_id": digest([*run_identity, arm.arm.id])[:22],
        "run_id": digest(run_identity)[:22],
        "task_id": _task_id(plan, arm),
        "created": created,
        "task": plan.experiment.id,
        "task_attribs": {},
        "task_args": {"variant": variant} if variant else {},
        "solver": arm.arm.agent,
        "dataset": {"name": plan.experiment.id, "samples": len(scenarios), "sample_ids": scenarios},
        "model": arm.arm.model or _NO_MODEL,
        "config": {"epochs": max((planned.cell.repetition for planned in arm.cells), default=0)},
        "metadata": {"arm": arm.arm.id, "variant": variant, "agent": arm.arm.agent, "version": arm.arm.version},
    }


def _results(arm: ArmRows) -> Json:
    passed = [float(row.passed) for row in arm.rows if row.measures_agent and row.passed is not None]
    scores = [row.score for row in arm.rows if row.measures_agent and row.score is not None]
    return {
        "total_samples": len(arm.cells),
        "completed_samples": sum(row.measures_agent for row in arm.rows),
        "scores": [_metric("passed", "accuracy", passed, arm), _metric("score", "mean", scores, arm)],
    }


def _metric(score: str, name: str, values: Sequence[float], arm: ArmRows) -> Json:
    metric = {name: {"name": name, "value": sum(values) / len(values)}} if values else {}
    unscored = len(arm.rows) - len(values)
    return {
        "name": score,
        "scorer": score,
        "scored_samples": len(values),
        "unscored_samples": unscored,
        "metrics": metric,
    }


def inspect_sample(row: Result, model: str | None, record: CellRecord | None) -> Json:
    """Return the sample of a trial with an arm's model; if the task is not stored, the input is the scenario's id."""
    work = record.works[-1] if record and record.works else AttemptRecord(number=1)
    steps = work.trajectory.steps if work.trajectory else ()
    messages = [message for step in steps for message in _messages(step, model)]
    sample: Json = {
        "id": row.scenario,
        "epoch": row.repetition,
        "input": (task_text(record) if record else None) or row.scenario,
        "target": "",
        "messages": [{"id": f"{row.cell}-{number}", **message} for number, message in enumerate(messages, start=1)],
        "scores": _scores(row, record.judgment if record else None),
        "metadata": {name: getattr(row, name) for name in further_columns()["inspect"]},
        "model_usage": _model_usage(row, model, record),
        "total_time": row.seconds,
    }
    output = _output(row.outcome, model, work, messages)
    return {**sample, **({"output": output} if output else {}), **_end(row, work)}


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
    """Return the agent's last message, with the usage of the last request if known; None without a message."""
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if last is None:
        return None
    choice = {"message": last, "stop_reason": _STOP_REASONS.get(outcome, "unknown")}
    request = next((request for request in reversed(step_requests(work)) if request), None)
    usage = _usage(request.answer.usage) if request and request.answer else None
    return {
        "model": model or "",
        "choices": [choice],
        "completion": last["content"],
        **({"usage": usage} if usage else {}),
    }


def _model_usage(row: Result, model: str | None, record: CellRecord | None) -> Json:
    """Return the usage by model, from stored requests if any, else from the result; skip models with unknown tokens."""
    usage = usage_by_model(record) if record else {}
    if not usage and model is not None:
        usage = {model: Usage(**{name: getattr(row, name) for name in Usage.model_fields})}
    shown = {name: _usage(part) for name, part in usage.items()}
    return {name: part for name, part in shown.items() if part}


def _usage(usage: Usage) -> Json | None:
    """Return tokens and cost; None if a kind of tokens is unknown, since Inspect reads a missing number as 0."""
    total = known_sum(usage.prompt_tokens, usage.output_tokens)
    if total is None:
        return None
    tokens: Json = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": total,
        "input_tokens_cache_read": usage.cache_read_tokens,
        "input_tokens_cache_write": usage.cache_write_tokens,
    }
    return tokens if usage.usd is None else {**tokens, "total_cost": usage.usd}


def _end(row: Result, work: AttemptRecord) -> Json:
    """Return the start of the trial, and its error or time limit."""
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


def atif_trajectory(work: AttemptRecord, row: Result) -> bytes | None:
    """Return an attempt as an ATIF document; None without steps, since ATIF requires at least one."""
    attempt, trajectory = work.attempt, work.trajectory
    if attempt is None or trajectory is None or not trajectory.steps:
        return None
    session = f"{row.cell}--attempt-{attempt.number}"
    agent: Json = {"name": row.agent, "version": attempt.agent_version or row.agent_version or _UNKNOWN}
    if row.model is not None:
        agent["model_name"] = row.model
    extra = {
        "cell": row.cell,
        "experiment": row.experiment,
        "outcome": attempt.outcome.value,
        "reason": attempt.reason,
        "replayed": row.replayed,
        "started_at": attempt.started_at.isoformat(),
        "final_message": trajectory.final_message,
    }
    document = {
        "schema_version": _ATIF_VERSION,
        "session_id": session,
        "trajectory_id": session,
        "agent": agent,
        "steps": [_step(number, step) for number, step in enumerate(trajectory.steps, start=1)],
        "final_metrics": _metrics(attempt.usage, len(trajectory.steps)),
        "extra": extra,
    }
    return json_bytes(document, indent=1) + b"\n"


def _step(number: int, step: Step) -> Json:
    source = "agent" if step.tool_calls else step.source  # in ATIF, only an agent may call tools
    document: Json = {"step_id": number, "source": source, "message": step.text}
    if step.tool_calls:
        document["tool_calls"] = [_atif_call(call) for call in step.tool_calls]
    results = [_result(call) for call in step.tool_calls if call.result is not None]
    if results:
        document["observation"] = {"results": results}
    return document


def _atif_call(call: ToolCall) -> Json:
    arguments = call.arguments if isinstance(call.arguments, dict) else {"value": call.arguments}
    document: Json = {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments}
    return document if call.seconds is None else {**document, "extra": {"seconds": call.seconds}}


def _result(call: ToolCall) -> Json:
    document: Json = {"source_call_id": call.id, "content": call.result}
    return document if call.failed is None else {**document, "extra": {"failed": call.failed}}


def _metrics(usage: Usage, steps: int) -> Json:
    """Return the known totals; ATIF's prompt tokens include cached tokens."""
    metrics = {
        "total_prompt_tokens": usage.prompt_tokens,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cache_read_tokens,
        "total_cost_usd": usage.usd,
        "total_steps": steps,
    }
    return {name: value for name, value in metrics.items() if value is not None}
