"""Read rows of other tools from CSV, Parquet and JSON lines, and classify their exceptions as outcomes.

Types are not guessed: cells of CSV are text, and Parquet declares types. pandas does not read these files, because
messages name a row's line and keys depend on each value. `pandas.read_csv` shifts a first row that is too long into
the index, accepts text after a closing quote, and counts a cell of two lines as one line. `pandas.read_json` reads 1
as 1.0 in a column with gaps, and "007" as 7.

An exception's outcome depends on its type, then on words in its type and message.

| exception | outcome |
|---|---|
| `AgentTimeoutError` | timeout |
| type that names the verifier or a reward | judge_error |
| type that names environment, sandbox, container, image or the agent's setup | sandbox_error |
| cancelled task, interrupted run | cancelled |
| rate limit, overload, lost connection, refused key, status 429 or 5xx | provider_error |
| any other, such as an agent's exit code | agent_error |
"""

import csv
import io
import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

from scylla_gha.config.installed_packages import require_extra
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.model.trial import Outcome

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_MOST_CELLS: Final = 20_000_000  # in a Parquet file; 200,000 rows of 100 columns
_MOST_BYTES: Final = 500_000_000  # memory for a Parquet file's values
_BATCH_ROWS: Final = 256
_JSON_LINES: Final = (
    "; write one object per line; if a line was cut off, keep at least scenario and arm, so that the trial counts"
)
_MOST_LEVELS: Final = 8  # nesting depth of objects that become columns
Value = object  # a JSON value, or a time from Parquet
_TABS: Final = frozenset({".tsv", ".tab"})
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")  # byte-order marks
_SEPARATOR_LINE: Final = re.compile(r'"?sep=(.)"?\s*')  # the first line of a CSV file for spreadsheets
_QUOTED: Final = re.compile(r'"[^"]*"')
_MAX_CELL: Final = 2**31 - 1  # characters
_BY_TYPE: Final = (
    (re.compile(r"^(AgentTimeout|TimeLimit)", re.IGNORECASE), Outcome.TIMEOUT),
    (re.compile(r"verifier|reward|scorer", re.IGNORECASE), Outcome.JUDGE_ERROR),
    (re.compile(r"environment|sandbox|container|image|agentsetup|docker", re.IGNORECASE), Outcome.SANDBOX_ERROR),
    (re.compile(r"cancel|KeyboardInterrupt", re.IGNORECASE), Outcome.CANCELLED),
)
_PROVIDER: Final = re.compile(
    r"rate.?limit|overloaded|too many requests|service.?unavailable|bad gateway|api.?connection|api.?timeout|"
    r"internal.?server.?error|authentication.?error|api.?status|insufficient.?quota|credit balance|"
    r"\b(error|status|code|http)\W{0,9}(429|5\d\d)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row: its file and line for messages, and its values by column; None is an empty cell."""

    where: str
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """All rows of a file or folder, in order. Columns may be added later.

    Attributes:
        columns: names of the columns.
        rows: the rows.
        notes: sentences for the report, such as on rows that were left out.
        trials_of_a_tool: True if a reader built a row for each trial of a known tool, not from the user's columns. A
            value that does not fit its field is then unknown, so that one faulty trial does not stop the import.
    """

    columns: list[str]
    rows: list[SourceRow]
    notes: list[str] = field(default_factory=list)
    trials_of_a_tool: bool = False


def trials_table(rows: Iterable[SourceRow], notes: Iterable[str]) -> SourceTable:
    """Return the table of a known tool's trials."""
    table = table_of(rows)
    return SourceTable(table.columns, table.rows, list(notes), trials_of_a_tool=True)


def table_of(rows: Iterable[SourceRow]) -> SourceTable:
    """Return a table with the columns of all rows, in the order of their first use."""
    all_rows = list(rows)
    return SourceTable(list(dict.fromkeys(column for row in all_rows for column in row.values)), all_rows)


def text_of(value: Value) -> str | None:
    """Return a text, or the digits of a whole number; None for an empty text and any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def is_number(value: Value) -> TypeGuard[int | float]:
    """Return True for a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def outcome_of_exception(kind: str, message: str) -> Outcome:
    """Return the outcome of a trial that ended with an exception of the type `kind`."""
    for pattern, outcome in _BY_TYPE:
        if pattern.search(kind):
            return outcome
    return Outcome.PROVIDER_ERROR if _PROVIDER.search(f"{kind}: {message}") else Outcome.AGENT_ERROR


def read_json_object(data: bytes, where: object, hint: str = "", *, keep_non_finite: bool = False) -> dict[str, Any]:
    """Parse a JSON object with `lenient_json`; NaN and infinities become None unless `keep_non_finite` is set.

    Raises:
        ConfigError: the data is not a JSON object; the message begins with `where` and ends with `hint`.
    """
    try:
        content = parse_json(data, keep_non_finite=keep_non_finite)
    except InvalidJsonError as error:
        raise ConfigError(f"{where}: {error}{hint}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{where}: not a JSON object{hint}")
    return cast("dict[str, Any]", content)


def read_csv(path: Path) -> SourceTable:
    """Read a CSV file with a header; values are text, blank lines are skipped, cells missing in short rows are empty.

    The separator is the most frequent of comma, semicolon and tab in the header, unless the first line is `sep=...`.
    Columns without a name are left out.

    Raises:
        ConfigError: the file is not such a CSV file.
    """
    csv.field_size_limit(_MAX_CELL)
    try:
        with path.open("rb") as binary:
            encoding = "utf-16" if binary.read(2) in _UTF_16 else "utf-8-sig"
        with path.open(encoding=encoding, newline="") as file:
            delimiter, before = _delimiter(file.readline(), path)
            file.seek(0)
            lines = list(_csv_lines(file, delimiter))[before:]
    except UnicodeDecodeError as error:
        where = f"{path}: neither UTF-8 nor UTF-16 with a byte-order mark"
        raise ConfigError(f"{where}; save it as UTF-8: {error}") from None
    except csv.Error as error:
        raise ConfigError(f"{path}: not a CSV file: {error}") from None
    if not lines:
        raise ConfigError(f"{path}: there is no header line; write the columns' names into the first line")
    header = [name.strip() for name in lines[0][1]]
    columns = [name for name in header if name]
    if len(set(columns)) < len(columns) or not columns:
        names = ", ".join(columns)
        raise ConfigError(f"{path}:{lines[0][0]}: no column has a name, or two have the same: {names}; rename them")
    rows = [_csv_row(path, number, cells, header) for number, cells in lines[1:] if any(map(str.strip, cells))]
    nameless = (index for index, name in enumerate(header) if not name)
    unnamed = sum(any("".join(cells[index : index + 1]).strip() for _, cells in lines[1:]) for index in nameless)
    notes = [f"{counted(unnamed, 'column has', 'columns have')} no name and cannot be used."] if unnamed else []
    return SourceTable(columns, rows, notes)


def _csv_row(path: Path, number: int, cells: list[str], header: list[str]) -> SourceRow:
    if any(cell.strip() for cell in cells[len(header) :]):
        raise ConfigError(
            f"{path}:{number}: expected {counted(len(header), 'field')} as in the header, got {len(cells)}; "
            "put cells that contain the separator between quotes"
        )
    values: dict[str, Value] = dict.fromkeys(name for name in header if name)
    values.update({name: cell or None for name, cell in zip(header, cells, strict=False) if name})
    return SourceRow(f"{path}:{number}", values)


def _delimiter(first_line: str, path: Path) -> tuple[str, int]:
    """Return the separator of the cells, and the number of lines before the header."""
    separator_line = _SEPARATOR_LINE.fullmatch(first_line)
    if separator_line:
        return separator_line[1], 1
    names = _QUOTED.sub("", first_line)
    return max("\t,;" if path.suffix.lower() in _TABS else ",;\t", key=names.count), 0


def _csv_lines(file: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the number of their first line; a quoted cell may span several lines."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    first_line = 1
    for cells in reader:
        yield first_line, cells
        first_line = reader.line_num + 1


def read_parquet(path: Path) -> SourceTable:
    """Read a Parquet file with its types; NaN becomes None.

    Raises:
        ConfigError: the file cannot be read, or is too large.
        ToolError: pyarrow is not installed.
    """
    require_extra("pyarrow", what="reading Parquet")
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            _require_small(path, file.metadata.num_rows * file.metadata.num_columns)
            columns = [str(name) for name in file.schema_arrow.names]
            rows = [row for batch in _batches(path, file) for row in batch]
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet: {error}") from None
    return SourceTable(columns, [SourceRow(f"{path}: row {number}", row) for number, row in enumerate(rows, start=1)])


def _require_small(path: Path, cells: int) -> None:
    if cells > _MOST_CELLS:
        raise ConfigError(
            f"{path}: has {counted(cells, 'value')}, but the maximum is {_MOST_CELLS:,}; select rows or columns"
        )


def _batches(path: Path, file: "ParquetFile") -> Iterator[list[dict[str, Value]]]:
    """Yield batches of rows, and check their size, since a small file can unpack to texts of any size."""
    total = 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS):
        rows = batch.to_pylist()
        total += batch.nbytes + sum(sys.getsizeof(cell) for row in rows for cell in row.values())
        if total > _MOST_BYTES:
            raise ConfigError(f"{path}: its values need more than {_MOST_BYTES:,} bytes; select rows or columns")
        yield [{name: None if cell != cell else cell for name, cell in row.items()} for row in rows]  # noqa: PLR0124 true of NaN


def read_jsonl(path: Path) -> SourceTable:
    """Read JSON lines in UTF-8, or UTF-16 with a byte-order mark; values of inner objects are also `outer.inner`.

    Raises:
        ConfigError: a line is not a JSON object.
    """
    data = path.read_bytes()
    if data.startswith(_UTF_16):
        data = data.decode("utf-16", "replace").encode()
    lines = ((f"{path}:{number}", line) for number, line in enumerate(io.BytesIO(data), start=1) if line.strip())
    return table_of(SourceRow(where, _flat(read_json_object(line, where, _JSON_LINES))) for where, line in lines)


def _flat(value: dict[str, Value], prefix: str = "", levels: int = _MOST_LEVELS) -> dict[str, Value]:
    columns: dict[str, Value] = {}
    for name, inner in value.items():
        columns[f"{prefix}{name}"] = inner
        if isinstance(inner, dict) and levels:
            columns.update(_flat(inner, f"{prefix}{name}.", levels - 1))
    return columns
