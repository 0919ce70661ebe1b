"""Our rows as a table: one column per field, in the rows' order, of one type whatever the rows hold."""

import csv
import datetime
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scylla_gha.config.installed_packages import require_extra
from scylla_gha.interop.importers.fields import plain_type
from scylla_gha.interop.importers.tables import cell_of
from scylla_gha.model.result import Result

if TYPE_CHECKING:
    import pyarrow


def write_csv(rows: Iterable[Result], path: Path) -> None:
    """Unknown is an empty cell; what has parts is JSON text."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Result.model_fields)
        writer.writerows([cell_of(getattr(row, name)) for name in Result.model_fields] for row in rows)


def write_parquet(rows: Iterable[Result], path: Path) -> None:
    """Unknown is null; what has parts is JSON text.

    Raises:
        ToolError: pyarrow is not installed.
    """
    require_extra("pyarrow", what="writing Parquet")
    import pyarrow
    from pyarrow import parquet

    held = list(rows)
    hints = typing.get_type_hints(Result, include_extras=True)
    columns = {
        name: _column([getattr(row, name) for row in held], plain_type(hints[name])) for name in Result.model_fields
    }
    parquet.write_table(pyarrow.table(columns), path)


def _column(values: list[Any], kind: object) -> "pyarrow.Array":
    import pyarrow

    types: dict[object, Any] = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    if kind is datetime.datetime:
        return pyarrow.array(values, pyarrow.timestamp("us", "UTC"))
    if kind not in types:
        cells = [cell_of(value) for value in values]
        values = [None if cell is None else str(cell) for cell in cells]
    return pyarrow.array(values, types.get(kind, pyarrow.string()))
