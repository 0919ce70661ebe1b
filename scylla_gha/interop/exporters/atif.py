"""ATIF v1.8, the trajectory format of Harbor: the conversation of one attempt.

A tool's result is in the step that made the call. Values for which ATIF has no field are left out or in `extra`, since
its models refuse unknown keys.
"""

from typing import Final

from scylla_gha.interop.exporters.rows import json_bytes
from scylla_gha.model.cell_records import AttemptRecord
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Step, ToolCall, Usage

_VERSION: Final = "ATIF-v1.8"
_UNKNOWN: Final = "unknown"  # ATIF requires an agent's version
Json = dict[str, object]


def atif_trajectory(work: AttemptRecord, row: Result) -> bytes | None:
    """Return the document of an attempt of a row's cell; None without a step, since ATIF requires one."""
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
        "schema_version": _VERSION,
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
        document["tool_calls"] = [_call(call) for call in step.tool_calls]
    results = [_result(call) for call in step.tool_calls if call.result is not None]
    if results:
        document["observation"] = {"results": results}
    return document


def _call(call: ToolCall) -> Json:
    arguments = call.arguments if isinstance(call.arguments, dict) else {"value": call.arguments}
    document: Json = {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments}
    return document if call.seconds is None else {**document, "extra": {"seconds": call.seconds}}


def _result(call: ToolCall) -> Json:
    document: Json = {"source_call_id": call.id, "content": call.result}
    return document if call.failed is None else {**document, "extra": {"failed": call.failed}}


def _metrics(usage: Usage, steps: int) -> Json:
    """Return the known numbers; ATIF's prompt tokens include cached ones."""
    metrics = {
        "total_prompt_tokens": usage.prompt_tokens,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cache_read_tokens,
        "total_cost_usd": usage.usd,
        "total_steps": steps,
    }
    return {name: value for name, value in metrics.items() if value is not None}
