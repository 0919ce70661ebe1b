"""CSV, Parquet and JSON lines. pandas stands at the tables' edges; what it would guess of types is switched off."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import orjson

from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.interop.sources import Source, Table, Value, flat, table_of

if TYPE_CHECKING:
    from pandas import DataFrame

_TABS: Final = frozenset({".tsv", ".tab"})


def need(*packages: str, what: str) -> None:
    """Make sure that what tables are read by is there.

    Raises:
        ToolError: it is not.
    """
    if not all(importlib.util.find_spec(package) for package in packages):
        raise ToolError(f"{what} needs {' and '.join(packages)}: install the extra, pip install 'scylla-gha[report]'")


def read_csv(path: Path) -> Table:
    """Rows of a CSV file with a header; all values are text, blank lines are none, a short row ends in empty cells.

    Raises:
        ConfigError: it cannot be read.
        ToolError: pandas is not installed.
    """
    need("pandas", what="reading CSV")
    import pandas as pd

    try:
        frame = pd.read_csv(path, sep="\t" if path.suffix in _TABS else ",", header=None, dtype=str, index_col=False,
                            keep_default_na=False, skip_blank_lines=False, encoding="utf-8-sig")  # fmt: skip
    except pd.errors.EmptyDataError:
        raise ConfigError(f"{path}: there is no header line; give the columns' names in the first line") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is no CSV in UTF-8: {' '.join(str(error).split())}") from None
    lines = cast("list[list[str]]", frame.to_numpy().tolist())
    columns = [name.strip() for name in lines[0]]
    _check_header(path, columns)
    return Table(tuple(columns), tuple(_csv_rows(path, columns, lines)))


def _csv_rows(path: Path, columns: list[str], lines: list[list[str]]) -> Iterator[Source]:
    """With the line on which each begins: a quoted cell may hold several."""
    number = 1
    for place, cells in enumerate(lines):
        if place and any(cell.strip() for cell in cells):
            yield Source(f"{path}:{number}", {name: cell or None for name, cell in zip(columns, cells, strict=True)})
        number += 1 + sum(cell.count("\n") for cell in cells)


def _check_header(path: Path, columns: list[str]) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if "" in columns:
        raise ConfigError(f"{path}:1: column {columns.index('') + 1} has no name; name it, or take it out")
    if twice:
        raise ConfigError(f"{path}:1: column {twice[0]!r} is there twice; rename one of the two")


def read_parquet(path: Path) -> Table:
    """Rows of a Parquet file, with the types that it gives them.

    Raises:
        ConfigError: it cannot be read.
        ToolError: pandas or pyarrow is not installed.
    """
    need("pandas", "pyarrow", what="reading Parquet")
    import pandas as pd

    try:
        frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet: {error}") from None
    names = [str(name) for name in frame.columns]
    held = frame.astype(object).to_numpy().tolist()
    rows = (Source(f"{path}: row {number}", dict(zip(names, (_known(cell) for cell in cells), strict=True)))
            for number, cells in enumerate(held, start=1))  # fmt: skip
    return Table(tuple(names), tuple(rows))


def _known(cell: object) -> Value:
    """What pandas holds for nothing is None here; a time is one of the standard library."""
    import pandas as pd

    if cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124 NaN alone
        return None
    return cell.to_pydatetime() if isinstance(cell, pd.Timestamp) else cell


def read_jsonl(path: Path) -> Table:
    """Rows of JSON lines: one object a line, inner objects as columns `outer.inner`.

    Not by pandas, which would make 1 of 1.0, 1.0 of 1 beside null, and lose the line's number.

    Raises:
        ConfigError: a line is no JSON object.
    """
    return table_of(_json_rows(path))


def _json_rows(path: Path) -> Iterator[Source]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield Source(f"{path}:{number}", flat(_object(path, number, line)))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None


def _object(path: Path, number: int, line: bytes) -> dict[str, Value]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path}:{number}: is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}:{number}: is no JSON object; each line must be one, as {{...}}")
    return cast("dict[str, Value]", found)


def cell_of(value: Value) -> Value:
    """A value as a table's cell: what has parts is JSON text."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value


def write_csv(frame: "DataFrame", path: Path) -> None:
    """Unknown is an empty cell."""
    frame.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")


def write_parquet(frame: "DataFrame", path: Path) -> None:
    """Unknown is null."""
    need("pyarrow", what="writing Parquet")
    frame.to_parquet(path, index=False, engine="pyarrow")
