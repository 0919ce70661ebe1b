"""The rows of ghx's agent profiler (`ProfileRow`), as JSON lines for its statistics and reports.

Unknown is null, also if the profiler itself would write 0. A trial that does not measure the agent has `success` null;
leave it out, since the profiler counts it as a failure. Its mode is the arm's toolset for GitHub, or else the variant;
`iteration` counts from 0. Columns for which the profiler has no field are in `extensions`; its `tools` are the numbers
of calls by the tools' own names.

The categories are those of ghx's evaluation. A shell command that starts gh anywhere is `gh_cli`. A call is a retry if
the last call of the same tool had failed; in a shell, one that starts with the same two words (`cd` is left out).
"""

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from scylla_gha.conditions import is_match
from scylla_gha.interop.exporters.rows import further_columns, json_bytes
from scylla_gha.model import known_sum
from scylla_gha.model.cell_records import AttemptRecord, CellRecord
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome, ToolCall, Trajectory

Json = dict[str, object]
Category = Literal["mcp", "gh_cli", "bash", "file_ops", "other"]

_SHELLS: Final = frozenset({"bash", "shell", "exec_command", "local_shell", "run_shell_command"})
_FILES: Final = frozenset(
    {
        "read",
        "write",
        "edit",
        "multiedit",
        "notebookedit",
        "glob",
        "grep",
        "ls",
        "apply_patch",
        "read_file",
        "write_file",
        "replace",
        "list_directory",
        "search_file_content",
    }
)
_GH: Final = r"(?:^|[;&|({`\n]|\$\(|\b(?:then|do|else)\b)\s*(?:\w+=\S*\s+)*gh\s"
_BEFORE: Final = re.compile(r"\s*(?:cd\s+\S+\s*(?:&&|;)\s*|\w+=\S*\s+)*")
_ERROR_CHARS: Final = 300
_ENDS: Final[Mapping[Outcome, Literal["stop", "timeout"]]] = {Outcome.COMPLETED: "stop", Outcome.TIMEOUT: "timeout"}


def category_of(name: str, arguments: object = None) -> Category:
    """Return the category of a call; without its arguments, a shell's is `bash`."""
    if name.startswith("mcp__"):
        return "mcp"
    if name.lower() in _SHELLS:
        return "gh_cli" if is_match(_GH, _command(arguments)) else "bash"
    return "file_ops" if name.lower() in _FILES else "other"


def tool_metrics(row: Result, names: Mapping[str, int] | None, trajectory: Trajectory | None) -> Json:
    """Return the profiler's `toolCalls`; unknown values are null.

    Args:
        row: its total and failed calls are taken.
        names: number of calls by the tool's name.
        trajectory: all calls; None: it was not stored, so no command is known.
    """
    calls = [call for step in trajectory.steps for call in step.tool_calls] if trajectory else None
    failed, total = row.failed_tool_calls, row.tool_calls
    return {
        "total": total,
        "byCategory": None if names is None else _by_category(names, calls or ()),
        "failed": failed,
        "retried": None if calls is None else retries(calls),
        "errorRate": failed / total if total and failed is not None else None,
        "records": None if calls is None else [_record(call) for call in calls],
    }


def retries(calls: Sequence[ToolCall]) -> int:
    """Count the calls that repeat a tool, or in a shell a command, whose last call failed."""
    last_failed: dict[tuple[str, ...], bool] = {}
    count = 0
    for call in calls:
        is_shell = call.name.lower() in _SHELLS
        words = _BEFORE.sub("", _command(call.arguments), count=1).split()[:2] if is_shell else ()
        target = (call.name, *words)
        count += last_failed.get(target, False)
        last_failed[target] = call.failed is True
    return count


def _by_category(names: Mapping[str, int], calls: Sequence[ToolCall]) -> dict[str, int]:
    """Return counts by category, which add up to those by name."""
    counts: Counter[str] = Counter()
    for name, number in names.items():
        counts[category_of(name)] += number
    by_gh = sum(category_of(call.name, call.arguments) == "gh_cli" for call in calls)
    if by_gh:
        counts["gh_cli"], counts["bash"] = by_gh, counts["bash"] - by_gh
    return {category: number for category, number in sorted(counts.items()) if number}


def _record(call: ToolCall) -> Json:
    record: Json = {
        "name": call.name,
        "category": category_of(call.name, call.arguments),
        "success": None if call.failed is None else not call.failed,
        "durationMs": None if call.seconds is None else call.seconds * 1000,
    }
    return record | {"error": (call.result or "")[:_ERROR_CHARS]} if call.failed else record


def _command(arguments: object) -> str:
    """Return the command line of a shell's call; "" if there is none."""
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return command if isinstance(command, str) else " ".join(map(str, command)) if isinstance(command, list) else ""


def profile_rows(results: Iterable[Result], records: Mapping[str, CellRecord]) -> bytes:
    """Return one line per result, in UTF-8.

    Args:
        results: in the order of the lines.
        records: of their trials, by cell; values that only a missing record has are null.
    """
    return b"".join(json_bytes(_row(row, records.get(row.cell))) + b"\n" for row in results)


def _row(row: Result, record: CellRecord | None) -> Json:
    work = record.works[-1] if record and record.works else AttemptRecord(number=1)
    attempt, checks = work.attempt, record.judgment.checks if record and record.judgment else None
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
        "toolCalls": tool_metrics(row, attempt.tool_calls if attempt else None, work.trajectory),
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
            **{name: getattr(row, name) for name in further_columns()["profile"]},
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
        "total": known_sum(row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens),
        "active": known_sum(row.input_tokens, row.output_tokens),
    }
