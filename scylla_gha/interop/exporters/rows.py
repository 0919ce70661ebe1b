"""Share parts of exporters (rows by planned cell, safe text); export rows to pandas, CSV, Parquet and ghx's profiler.

A table has a column per field, whose type does not depend on the rows. Rows keep their order.
"""

import datetime
import functools
import json
import re
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import yaml

from scylla_gha.conditions import is_match
from scylla_gha.config.installed_packages import require_extra
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.values import plain_type
from scylla_gha.model import as_utc, known_sum
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.result import AttemptRecord, CellRecord, Result
from scylla_gha.model.trial import Outcome, ToolCall, Trajectory

if TYPE_CHECKING:
    import pandas

_REPLACEMENT: Final = "\ufffd"
# Characters that XML 1.0 cannot contain, even escaped. No format can contain lone surrogates.
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DTYPES: Final[dict[object, str]] = {
    bool: "boolean",
    int: "Int64",
    float: "Float64",
    datetime.datetime: "datetime64[us, UTC]",
}
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
_COMMAND_PREFIX: Final = re.compile(r"\s*(?:cd\s+\S+\s*(?:&&|;)\s*|\w+=\S*\s+)*")
_ERROR_CHARS: Final = 300
_COMPLETION_REASONS: Final[Mapping[Outcome, Literal["stop", "timeout"]]] = {
    Outcome.COMPLETED: "stop",
    Outcome.TIMEOUT: "timeout",
}


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A planned cell and its row; None if no trial was collected."""

    cell: Cell
    row: Result | None


@dataclass(frozen=True, slots=True)
class ArmRows:
    """All cells of an arm, in the plan's order."""

    arm: Arm
    cells: tuple[PlannedCell, ...]

    @property
    def rows(self) -> tuple[Result, ...]:
        """The rows that were collected."""
        return tuple(planned.row for planned in self.cells if planned.row is not None)


def rows_by_arm(plan: Plan, results: Iterable[Result]) -> tuple[ArmRows, ...]:
    """Return all arms of the plan with all their cells.

    Raises:
        ConfigError: a cell has two rows, or a row's cell is not planned.
    """
    rows: dict[str, Result] = {}
    planned = {cell.id for cell in plan.cells}
    for row in results:
        if row.cell in rows:
            raise ConfigError(f"{row.cell}: has two rows; run `scylla-gha collect` again")
        if row.cell not in planned:
            raise ConfigError(f"{row.cell}: is not a cell of the plan; put the plan.json of these results beside them")
        rows[row.cell] = row
    cells: dict[str, list[PlannedCell]] = {arm.id: [] for arm in plan.arms}
    for cell in plan.cells:
        cells[cell.arm].append(PlannedCell(cell, rows.get(cell.id)))
    return tuple(ArmRows(arm, tuple(cells[arm.id])) for arm in plan.arms)


@functools.cache
def further_columns() -> dict[str, list[str]]:
    """Return, by format, the result columns that are exported as further values (properties or metadata)."""
    columns: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("columns.yaml").read_text("utf-8"))
    return columns


def escape_xml(text: str) -> str:
    """Replace each character that XML 1.0 cannot contain by U+FFFD; markup is not escaped."""
    return _NOT_IN_XML.sub(_REPLACEMENT, text)


def json_bytes(value: object, indent: int | None = None) -> bytes:
    """Return plain data as JSON in UTF-8; keys keep their order.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _SURROGATE.sub(_REPLACEMENT, text).encode()


def results_frame(rows: Iterable[Result]) -> "pandas.DataFrame":
    """Return rows as a table: unknown values are missing, times are in UTC, objects and lists stay Python objects.

    Raises:
        ConfigError: an integer has more than 64 bits.
        ToolError: pandas is not installed.
    """
    require_extra("pandas", what="a table of results")
    import pandas

    columns: dict[str, list[Any]] = {name: [] for name in Result.model_fields}
    for row in rows:
        for name, values in columns.items():
            values.append(getattr(row, name))
    hints = typing.get_type_hints(Result, include_extras=True)
    return pandas.DataFrame({name: _series(name, plain_type(hints[name]), columns.pop(name)) for name in [*columns]})


def _series(name: str, kind: object, values: list[Any]) -> "pandas.Series[Any]":
    import pandas

    if typing.get_origin(kind) in {dict, tuple}:
        return pandas.Series(values, dtype="object")
    if kind is datetime.datetime:
        values = [None if value is None else as_utc(value).astimezone(datetime.UTC) for value in values]
    elif kind not in _DTYPES:
        values = [None if value is None else str(value) for value in values]
    try:
        return pandas.Series(values, dtype=_DTYPES.get(kind, "string"))
    except OverflowError:
        raise ConfigError(f"column {name}: a value has more than 64 bits; correct it in results.jsonl") from None


def write_csv(rows: Iterable[Result], path: Path) -> None:
    """Write rows as CSV; unknown is an empty cell, objects and lists are JSON text.

    Raises:
        ConfigError: an integer has more than 64 bits.
        ToolError: pandas is not installed.
    """
    frame = _as_text(results_frame(rows), "object", _json_text)
    frame = _as_text(
        frame, _DTYPES[datetime.datetime], lambda time: str(time.to_pydatetime())
    )  # pandas would cut trailing zeros
    frame.to_csv(path, index=False, lineterminator="\n")


def write_parquet(rows: Iterable[Result], path: Path) -> None:
    """Write rows as Parquet; unknown is null, objects and lists are JSON text.

    Raises:
        ConfigError: an integer has more than 64 bits.
        ToolError: pandas or pyarrow is not installed.
    """
    require_extra("pandas", "pyarrow", what="writing Parquet")
    _as_text(results_frame(rows), "object", _json_text).to_parquet(path, index=False)


def _as_text(frame: "pandas.DataFrame", dtype: str, text: Callable[[Any], str]) -> "pandas.DataFrame":
    """Convert the columns with a dtype to text; unknown stays unknown."""
    names = [name for name in frame.columns if frame[name].dtype == dtype]
    return frame.assign(**{name: frame[name].map(text, na_action="ignore").astype("string") for name in names})


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def category_of(name: str, arguments: object = None) -> Category:
    """Return the category of a tool call; a shell call without known arguments is `bash`."""
    if name.startswith("mcp__"):
        return "mcp"
    if name.lower() in _SHELLS:
        return "gh_cli" if is_match(_GH, _command(arguments)) else "bash"
    return "file_ops" if name.lower() in _FILES else "other"


def tool_metrics(row: Result, names: Mapping[str, int] | None, trajectory: Trajectory | None) -> Json:
    """Return the profiler's `toolCalls`; unknown values are null.

    Args:
        row: result with the number of calls and of failed calls.
        names: number of calls by tool name; None: unknown.
        trajectory: trajectory with all calls; None: not stored, so no command is known.
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
    """Return the number of calls of a tool (of a shell: of a command) whose previous call failed."""
    last_failed: dict[tuple[str, ...], bool] = {}
    count = 0
    for call in calls:
        is_shell = call.name.lower() in _SHELLS
        words = _COMMAND_PREFIX.sub("", _command(call.arguments), count=1).split()[:2] if is_shell else ()
        target = (call.name, *words)
        count += last_failed.get(target, False)
        last_failed[target] = call.failed is True
    return count


def _by_category(names: Mapping[str, int], calls: Sequence[ToolCall]) -> dict[str, int]:
    """Return counts by category, with the same total as the counts by name."""
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
    """Return results as JSON lines of ghx's agent profiler, in UTF-8.

    Args:
        results: results in the order of the lines.
        records: records of the results' trials, by cell; without a record, values from it are null.
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
        "completionReason": _COMPLETION_REASONS.get(row.outcome, "error"),
        "extensions": {
            **{name: getattr(row, name) for name in further_columns()["profile"]},
            "tools": attempt.tool_calls if attempt else None,
        },
    }
    if row.outcome != Outcome.COMPLETED:
        profile |= {"error": row.reason, "errorCode": row.outcome.value}
    return profile


def _tokens(row: Result) -> Json:
    """Return the profiler's `tokens`; `active` excludes cached tokens, and reasoning is part of the output."""
    return {
        "input": row.input_tokens,
        "output": row.output_tokens,
        "reasoning": None,
        "cacheRead": row.cache_read_tokens,
        "cacheWrite": row.cache_write_tokens,
        "total": known_sum(row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens),
        "active": known_sum(row.input_tokens, row.output_tokens),
    }
