"""Rows by planned cell, text that every format can contain, and rows as CSV and Parquet tables.

A table has one column per field, of one type whatever the rows hold, in the order of the rows.
"""

import csv
import datetime
import json
import re
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scylla_gha.config.installed_packages import require_extra
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.values import plain_type
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.result import Result

if TYPE_CHECKING:
    import pyarrow

_REPLACEMENT: Final = "\ufffd"
# The characters that XML 1.0 cannot contain, not even escaped; no format can contain lone surrogates.
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell and its row; None if no trial was collected."""

    cell: Cell
    row: Result | None


@dataclass(frozen=True, slots=True)
class ArmRows:
    """All cells of one arm, in the plan's order."""

    arm: Arm
    cells: tuple[PlannedCell, ...]

    @property
    def rows(self) -> tuple[Result, ...]:
        """The rows of cells that have one."""
        return tuple(planned.row for planned in self.cells if planned.row is not None)


def rows_by_arm(plan: Plan, results: Iterable[Result]) -> tuple[ArmRows, ...]:
    """Return all arms of the plan with all of their cells.

    Raises:
        ConfigError: two rows of one cell, or a row of a cell that is not planned.
    """
    rows: dict[str, Result] = {}
    planned = {cell.id for cell in plan.cells}
    for row in results:
        if row.cell in rows:
            raise ConfigError(f"{row.cell}: has two rows; run `scylla-gha collect` again")
        if row.cell not in planned:
            raise ConfigError(f"{row.cell}: is not a cell of the plan; export results beside the plan.json that they "
                              "belong to")  # fmt: skip
        rows[row.cell] = row
    cells: dict[str, list[PlannedCell]] = {arm.id: [] for arm in plan.arms}
    for cell in plan.cells:
        cells[cell.arm].append(PlannedCell(cell, rows.get(cell.id)))
    return tuple(ArmRows(arm, tuple(cells[arm.id])) for arm in plan.arms)


def escape_xml(text: str) -> str:
    """Replace each character that XML 1.0 cannot contain; markup is not escaped."""
    return _NOT_IN_XML.sub(_REPLACEMENT, text)


def json_bytes(value: object, indent: int | None = None) -> bytes:
    """Return plain data as JSON in UTF-8, with keys in their order.

    Raises:
        ValueError: NaN or an infinity, which JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _SURROGATE.sub(_REPLACEMENT, text).encode()


def write_csv(rows: Iterable[Result], path: Path) -> None:
    """Write rows; unknown is an empty cell, objects and lists are JSON text."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Result.model_fields)
        writer.writerows([_cell(getattr(row, name)) for name in Result.model_fields] for row in rows)


def write_parquet(rows: Iterable[Result], path: Path) -> None:
    """Write rows; unknown is null, objects and lists are JSON text.

    Raises:
        ToolError: pyarrow is not installed.
    """
    require_extra("pyarrow", what="writing Parquet")
    import pyarrow
    from pyarrow import parquet

    all_rows = list(rows)
    hints = typing.get_type_hints(Result, include_extras=True)
    columns = {
        name: _column([getattr(row, name) for row in all_rows], plain_type(hints[name])) for name in Result.model_fields
    }
    parquet.write_table(pyarrow.table(columns), path)


def _column(values: list[Any], kind: object) -> "pyarrow.Array":
    import pyarrow

    types: dict[object, Any] = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    if kind is datetime.datetime:
        return pyarrow.array(values, pyarrow.timestamp("us", "UTC"))
    if kind not in types:
        cells = [_cell(value) for value in values]
        values = [None if cell is None else str(cell) for cell in cells]
    return pyarrow.array(values, types.get(kind, pyarrow.string()))


def _cell(value: object) -> object:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value
