"""Parts that exporters share: rows by planned cell, columns, safe text; and rows as a table of pandas, CSV or Parquet.

A table has one column per field, of one type whatever the rows hold, in the order of the rows.
"""

import datetime
import functools
import json
import re
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from scylla_gha.config.installed_packages import require_extra
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.values import plain_type
from scylla_gha.model import as_utc
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.result import Result

if TYPE_CHECKING:
    import pandas

_REPLACEMENT: Final = "\ufffd"
# The characters that XML 1.0 cannot contain, not even escaped; no format can contain lone surrogates.
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DTYPES: Final[dict[object, str]] = {
    bool: "boolean",
    int: "Int64",
    float: "Float64",
    datetime.datetime: "datetime64[us, UTC]",
}


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
            raise ConfigError(
                f"{row.cell}: is not a cell of the plan; export results beside the plan.json that they belong to"
            )
        rows[row.cell] = row
    cells: dict[str, list[PlannedCell]] = {arm.id: [] for arm in plan.arms}
    for cell in plan.cells:
        cells[cell.arm].append(PlannedCell(cell, rows.get(cell.id)))
    return tuple(ArmRows(arm, tuple(cells[arm.id])) for arm in plan.arms)


@functools.cache
def further_columns() -> dict[str, list[str]]:
    """Return, by format, the columns of results that a format has in its part for further values."""
    columns: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("columns.yaml").read_text("utf-8"))
    return columns


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


def results_frame(rows: Iterable[Result]) -> "pandas.DataFrame":
    """Return rows as a table: unknown values are missing, times are in UTC, objects and lists stay Python objects.

    Raises:
        ConfigError: a number does not fit into a column.
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
    """Write rows; unknown is an empty cell, objects and lists are JSON text.

    Raises:
        ConfigError: a number does not fit into a column.
        ToolError: pandas is not installed.
    """
    frame = _as_text(results_frame(rows), "object", _json_text)
    frame = _as_text(
        frame, _DTYPES[datetime.datetime], lambda time: str(time.to_pydatetime())
    )  # pandas would cut trailing zeros
    frame.to_csv(path, index=False, lineterminator="\n")


def write_parquet(rows: Iterable[Result], path: Path) -> None:
    """Write rows; unknown is null, objects and lists are JSON text.

    Raises:
        ConfigError: a number does not fit into a column.
        ToolError: pandas or pyarrow is not installed.
    """
    require_extra("pandas", "pyarrow", what="writing Parquet")
    _as_text(results_frame(rows), "object", _json_text).to_parquet(path, index=False)


def _as_text(frame: "pandas.DataFrame", dtype: str, text: Callable[[Any], str]) -> "pandas.DataFrame":
    """Convert the columns of a type to text; unknown stays unknown."""
    names = [name for name in frame.columns if frame[name].dtype == dtype]
    return frame.assign(**{name: frame[name].map(text, na_action="ignore").astype("string") for name in names})


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
