"""CSV, Parquet and JSON lines. Nothing is guessed of types: CSV is text, Parquet has its own."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, cast

import orjson

from scylla_gha.config.installed_packages import require_extra
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.sources import SourceRow, SourceTable, Value, flat, table_of

_TABS: Final = frozenset({".tsv", ".tab"})
_LONGEST: Final = 2**31 - 1  # characters of a cell


def read_csv(path: Path) -> SourceTable:
    """Rows of a CSV file with a header; all values are text, blank lines are none, a short row ends in empty cells.

    Raises:
        ConfigError: it cannot be read.
    """
    csv.field_size_limit(_LONGEST)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(_lines(file, "\t" if path.suffix in _TABS else ","))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a CSV file in UTF-8: {error}") from None
    if not lines:
        raise ConfigError(f"{path}: there is no header line; give the columns' names in the first line")
    columns = [name.strip() for name in lines[0][1]]
    _check_header(path, columns)
    return SourceTable(tuple(columns), tuple(_csv_rows(path, columns, lines[1:])))


def _lines(file: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """With the line on which each begins: a quoted cell may hold several."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    began = 1
    for cells in reader:
        yield began, cells
        began = reader.line_num + 1


def _csv_rows(path: Path, columns: list[str], lines: list[tuple[int, list[str]]]) -> Iterator[SourceRow]:
    for number, cells in lines:
        if len(cells) > len(columns):
            fault = f"Expected {counted(len(columns), 'field')} in line {number}, saw {len(cells)}"
            raise ConfigError(f"{path}: not a CSV file in UTF-8: {fault}")
        if any(cell.strip() for cell in cells):
            held = [*cells, *[""] * (len(columns) - len(cells))]
            yield SourceRow(f"{path}:{number}", {name: cell or None for name, cell in zip(columns, held, strict=True)})


def _check_header(path: Path, columns: list[str]) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if "" in columns:
        raise ConfigError(f"{path}:1: column {columns.index('') + 1} has no name; name it, or take it out")
    if twice:
        raise ConfigError(f"{path}:1: column {twice[0]!r} is there twice; rename one of the two")


def read_parquet(path: Path) -> SourceTable:
    """Rows of a Parquet file, with the types that it gives them.

    Raises:
        ConfigError: it cannot be read.
        ToolError: pyarrow is not installed.
    """
    require_extra("pyarrow", what="reading Parquet")
    import pyarrow
    from pyarrow import parquet

    try:
        held = parquet.read_table(path)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet: {error}") from None
    rows = (SourceRow(f"{path}: row {number}", {name: _known(cell) for name, cell in row.items()})
            for number, row in enumerate(held.to_pylist(), start=1))  # fmt: skip
    return SourceTable(tuple(str(name) for name in held.column_names), tuple(rows))


def _known(cell: Value) -> Value:
    """What not a number is None here."""
    return None if isinstance(cell, float) and cell != cell else cell  # noqa: PLR0124 NaN alone


def read_jsonl(path: Path) -> SourceTable:
    """Rows of JSON lines: one object a line, inner objects as columns `outer.inner`.

    Raises:
        ConfigError: a line not a JSON object.
    """
    return table_of(_json_rows(path))


def _json_rows(path: Path) -> Iterator[SourceRow]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield SourceRow(f"{path}:{number}", flat(_object(path, number, line)))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None


def _object(path: Path, number: int, line: bytes) -> dict[str, Value]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path}:{number}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}:{number}: not a JSON object; each line must be one, as {{...}}")
    return cast("dict[str, Value]", found)


def cell_of(value: Value) -> Value:
    """A value as a table's cell: what has parts is JSON text."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value
