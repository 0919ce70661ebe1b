"""Our rows as a table: one column per field, in the rows' order, of one type whatever the rows hold."""

import datetime
import typing
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scylla_gha.interop.fields import bare_type
from scylla_gha.interop.tables import cell_of, need
from scylla_gha.model.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_TYPES: typing.Final[dict[object, str]] = {bool: "boolean", int: "Int64", float: "Float64"}


def table(rows: Iterable[Result]) -> "DataFrame":
    """The table; null stays null, and what has parts is JSON text.

    Raises:
        ToolError: pandas is not installed.
    """
    need("pandas", what="a table")
    import pandas as pd

    held = list(rows)
    hints = typing.get_type_hints(Result, include_extras=True)
    columns = {
        name: _column([getattr(row, name) for row in held], bare_type(hints[name])) for name in Result.model_fields
    }
    return pd.DataFrame(columns)


def _column(values: list[Any], kind: object) -> "Series[Any]":
    import pandas as pd

    if kind is datetime.datetime:
        return pd.Series(pd.to_datetime(pd.Series(values, dtype="object"), utc=True), dtype="datetime64[us, UTC]")
    if kind not in _TYPES:
        cells = [cell_of(value) for value in values]
        values = [None if cell is None else str(cell) for cell in cells]
    return pd.Series(values, dtype=_TYPES.get(kind, "string"))
