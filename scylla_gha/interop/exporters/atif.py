"""ATIF v1.8, the trajectory format of Harbor: the conversation of one attempt.

A tool's answer stands in the step that made the call, as ATIF wants it and as our trajectory has it. Everything that
ATIF has no field for is left out or in `extra`; its models refuse unknown keys.
"""

from collections.abc import Sequence
from typing import Final

from scylla_gha.interop.exporters.rows import json_bytes
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Attempt, Step, ToolCall, Trajectory, Usage

VERSION: Final = "ATIF-v1.8"
UNKNOWN: Final = "unknown"  # ATIF requires an agent's version
Json = dict[str, object]


def atif_trajectory(trajectory: Trajectory, attempt: Attempt, row: Result) -> bytes | None:
    """The document, or None where nothing was said: ATIF requires a step.

    Args:
        trajectory: of the attempt.
        attempt: for its number, its usage and when it began.
        row: of its cell, for agent and model.
    """
    if not trajectory.steps:
        return None
    session = f"{row.cell}--attempt-{attempt.number}"
    agent: Json = {"name": row.agent, "version": attempt.agent_version or row.agent_version or UNKNOWN}
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
        "schema_version": VERSION,
        "session_id": session,
        "trajectory_id": session,
        "agent": agent,
        "steps": [_step(number, step) for number, step in enumerate(trajectory.steps, start=1)],
        "final_metrics": _metrics(attempt.usage, len(trajectory.steps)),
        "extra": extra,
    }
    return json_bytes(document, indent=1) + b"\n"


def _step(number: int, step: Step) -> Json:
    """Only an agent may call: a step with calls is the agent's."""
    source = "agent" if step.tool_calls else step.source
    found: Json = {"step_id": number, "source": source, "message": step.text}
    if step.tool_calls:
        found["tool_calls"] = [_call(call) for call in step.tool_calls]
    results = _answers(step.tool_calls)
    if results:
        found["observation"] = {"results": results}
    return found


def _call(call: ToolCall) -> Json:
    """ATIF's arguments are an object; another value stands under a name."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"value": call.arguments}
    found: Json = {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments}
    if call.seconds is not None:
        found["extra"] = {"seconds": call.seconds}
    return found


def _answers(calls: Sequence[ToolCall]) -> list[Json]:
    found: list[Json] = []
    for call in calls:
        if call.result is not None:
            answer: Json = {"source_call_id": call.id, "content": call.result}
            found.append(answer if call.failed is None else {**answer, "extra": {"failed": call.failed}})
    return found


def _metrics(usage: Usage, steps: int) -> Json:
    """What is known. ATIF's prompt tokens include the cached ones, so they are unknown where one kind is."""
    prompt = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    known = [part for part in prompt if part is not None]
    found = {
        "total_prompt_tokens": sum(known) if len(known) == len(prompt) else None,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cache_read_tokens,
        "total_cost_usd": usage.usd,
        "total_steps": steps,
    }
    return {name: value for name, value in found.items() if value is not None}
