"""The rows of ghx's agent profiler (`ProfileRow`), as JSON lines for its statistics and reports.

Unknown is null, also if the profiler itself would write 0. A trial that does not measure the agent has `success` null;
leave it out, since the profiler counts it as a failure. Its mode is the arm's toolset for GitHub, or else the variant;
`iteration` counts from 0. What the profiler has no field for is in `extensions`, by our columns' names; calls by the
tools' own names are its `tools`.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from scylla_gha.interop.exporters.profile_tools import Json, tool_metrics
from scylla_gha.interop.exporters.rows import json_bytes
from scylla_gha.model.judgment import CheckResult
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Attempt, Outcome, Trajectory

_ENDS: Final[Mapping[Outcome, Literal["stop", "timeout"]]] = {Outcome.COMPLETED: "stop", Outcome.TIMEOUT: "timeout"}
_EXTENSIONS: Final = (
    "cell", "arm", "variant", "agent_version", "repetition", "epoch", "category", "size", "difficulty",
    "measures_agent", "judged", "score", "grade", "progress", "judge_usd", "attempts", "delivered", "files_changed",
    "lines_changed", "replayed", "first_byte_seconds", "generation_seconds", "tool_seconds", "requests",
    "repeated_requests", "github", "github_requests", "github_writes", "github_gaps", "github_calls", "github_failed",
    "github_repeated", "github_other_clients",
)  # fmt: skip


def profile_rows(
    results: Iterable[Result],
    attempts: Mapping[str, Attempt],
    checks: Mapping[str, Sequence[CheckResult]],
    trajectories: Mapping[str, Trajectory],
) -> bytes:
    """Return one line per result, in UTF-8.

    Args:
        results: in the order of the lines.
        attempts: the final attempt, by cell, for times and tools by name; without it, these are null.
        checks: results of the checkpoints, by cell; without them, their details are null.
        trajectories: of the final attempt, by cell; without one, no call and no retry of a tool is known.
    """
    rows = (_row(row, attempts.get(row.cell), checks.get(row.cell), trajectories.get(row.cell)) for row in results)
    return b"".join(json_bytes(profile) + b"\n" for profile in rows)


def _row(
    row: Result, attempt: Attempt | None, checks: Sequence[CheckResult] | None, trajectory: Trajectory | None
) -> Json:
    profile: Json = {
        "runId": f"{row.experiment}@{row.epoch}" if row.epoch else row.experiment,
        "scenarioId": row.scenario,
        "mode": row.mode or row.variant or row.agent,
        "model": row.model,
        "iteration": row.repetition - 1,
        "startedAt": attempt.started_at.isoformat() if attempt else None,
        "completedAt": (attempt.started_at + datetime.timedelta(seconds=attempt.seconds)).isoformat()
        if attempt
        else None,
        "tokens": _tokens(row),
        "timing": {"wallMs": None if row.seconds is None else row.seconds * 1000, "segments": []},
        "toolCalls": tool_metrics(row, attempt.tool_calls if attempt else None, trajectory),
        "cost": {"totalUsd": row.usd, "inputUsd": None, "outputUsd": None, "reasoningUsd": None},
        "success": row.passed if row.measures_agent else None,
        "checkpointsPassed": row.checkpoints_passed,
        "checkpointsTotal": row.checkpoints,
        "checkpointDetails": None
        if checks is None
        else [
            {"id": check.id, "description": None, "passed": check.holds, "actual": check.evidence} for check in checks
        ],
        "outputValid": None,
        "provider": row.agent,
        "sessionId": row.cell,
        "agentTurns": row.turns,
        "completionReason": _ENDS.get(row.outcome, "error"),
        "extensions": {
            **{name: getattr(row, name) for name in _EXTENSIONS},
            "tools": attempt.tool_calls if attempt else None,
        },
    }
    if row.outcome != Outcome.COMPLETED:
        profile |= {"error": row.reason, "errorCode": row.outcome.value}
    return profile


def _tokens(row: Result) -> Json:
    """`active` leaves out cached tokens; reasoning is a part of the output."""
    return {
        "input": row.input_tokens,
        "output": row.output_tokens,
        "reasoning": None,
        "cacheRead": row.cache_read_tokens,
        "cacheWrite": row.cache_write_tokens,
        "total": _sum(row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens),
        "active": _sum(row.input_tokens, row.output_tokens),
    }


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
