"""Whether a row can be what the toolkit itself writes; its types alone do not say that."""

from collections.abc import Iterable
from typing import Final

from pydantic import ValidationError

from scylla_gha.intake.files import UnsoundError, safe
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.result import Result

LINE_BYTES: Final = 64 * 1024
_VERSION: Final = Result.model_fields["schema_version"].default
_MOST: Final = 2**53  # a number beyond it is none that was counted here, and does not fit into a table's column
_VERDICT: Final = ("passed", "score", "grade", "progress")


def parsed(line: bytes, number: int) -> Result:
    """The row in a line.

    Raises:
        UnsoundError: the line is no row, or contradicts itself.
    """
    try:
        row = Result.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = safe(".".join(str(part) for part in first["loc"]))
        raise UnsoundError(f"line {number} is no row: {where}: {first['msg'][:200]}") from None
    fault = fault_of(row)
    if fault:
        raise UnsoundError(f"line {number}: {fault}")
    return row


def fault_of(row: Result) -> str | None:
    """What no row of the toolkit's own says."""
    if row.schema_version != _VERSION:
        return f"its schema version is {row.schema_version}, not {_VERSION}; use one version of the toolkit"
    if row.measures_agent != row.outcome.measures_agent:
        return f"measures_agent does not follow from its outcome, {row.outcome}"
    if row.judged and (not row.measures_agent or row.passed is None):
        return "it is judged, and has no verdict on an agent"
    if not row.judged and any(getattr(row, name) is not None for name in _VERDICT):
        return "it has a verdict, and is not judged"
    if row.started_at is not None and row.started_at.tzinfo is None:
        return "started_at has no time zone"
    return _odd_number(row)


def _odd_number(row: Result) -> str | None:
    for name, value in row:
        numbers: Iterable[object] = value.values() if isinstance(value, dict) else (value,)
        for one in numbers:
            if isinstance(one, int | float) and not 0 <= one <= _MOST:
                return f"{name} is out of range"
    return None


def stranger(row: Result, cell: Cell, plan: Plan, arm: Arm) -> str | None:
    """What of a row is not as planned for its cell, and its cell's arm."""
    planned: dict[str, object] = {
        "experiment": plan.experiment.id, "epoch": plan.epoch, "key": cell.key, "scenario": cell.scenario,
        "arm": cell.arm, "repetition": cell.repetition, "agent": arm.agent, "model": arm.model,
        "variant": arm.variant.id if arm.variant else None,
        **({"judging": plan.judging[cell.scenario]} if row.judged and cell.scenario in plan.judging else {}),
    }  # fmt: skip
    for name, value in planned.items():
        if getattr(row, name) != value:
            return f"{cell.id}: its {name} is not the planned one"
    return None
