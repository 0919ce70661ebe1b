"""Tool calls of a trial in the words of ghx's agent profiler: counts by category, failed and retried ones, records.

The categories are those of ghx's evaluation. A shell command that starts gh anywhere is `gh_cli`. A call is a retry if
the last call of the same tool had failed; in a shell, one that starts with the same two words (`cd` is left out).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from scylla_gha.conditions.patterns import is_match
from scylla_gha.model.result import Result
from scylla_gha.model.trial import ToolCall, Trajectory

Json = dict[str, object]
Category = Literal["mcp", "gh_cli", "bash", "file_ops", "other"]

_SHELLS: Final = frozenset({"bash", "shell", "exec_command", "local_shell", "run_shell_command"})
_FILES: Final = frozenset({"read", "write", "edit", "multiedit", "notebookedit", "glob", "grep", "ls", "apply_patch",
                           "read_file", "write_file", "replace", "list_directory", "search_file_content"})  # fmt: skip
_GH: Final = r"(?:^|[;&|({`\n]|\$\(|\b(?:then|do|else)\b)\s*(?:\w+=\S*\s+)*gh\s"
_BEFORE: Final = re.compile(r"\s*(?:cd\s+\S+\s*(?:&&|;)\s*|\w+=\S*\s+)*")
_ERROR_CHARS: Final = 300


def category_of(name: str, arguments: object = None) -> Category:
    """Return the category of a call; without its arguments, a shell's is `bash`."""
    if name.startswith("mcp__"):
        return "mcp"
    if name.lower() in _SHELLS:
        return "gh_cli" if is_match(_GH, _command(arguments)) else "bash"
    return "file_ops" if name.lower() in _FILES else "other"


def tool_metrics(row: Result, names: Mapping[str, int] | None, trajectory: Trajectory | None) -> Json:
    """Return the profiler's `toolCalls`; what is not known is null.

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
    """Return how many calls try again what had failed when it was last called."""
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
