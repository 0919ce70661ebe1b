"""Map columns of another tool's table to fields of results, convert units, and parse the rule by which a row passes."""

import operator
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.config import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.tables import SourceRow, SourceTable, Value
from scylla_gha.interop.importers.values import FIELDS, is_missing, is_percent, parse_number
from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.model.plan import ColumnMap

_ALIASES: Final = {"tokens": "total_tokens"}
_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
_RULE: Final = re.compile(r"\s*(\w+)\s*(>=|<=|==|>|<)\s*(\S+)\s*")
_TIMES: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_MONEY: Final = {"usd": 1.0, "cent": 0.01}
_SHARES: Final = {"share": 1.0, "percent": 0.01}
_MILLISECOND_NAMES: Final = ("_ms", "millis", "milliseconds", "(ms)", "msec")
_MAX_NAMED: Final = 40  # columns in a message


@dataclass(frozen=True, slots=True)
class PassRule:
    """Rule that a row passes if a field compares with a limit, such as `score >= 0.6`."""

    field: str
    comparison: str
    limit: float

    def passed(self, values: Mapping[str, Value]) -> bool | None:
        """Return whether a row passes; None if the number is unknown."""
        value = values.get(self.field)
        return _COMPARISONS[self.comparison](value, self.limit) if isinstance(value, int | float) else None


def parse_rule(text: str) -> PassRule:
    """Parse a rule such as `score>=0.6`.

    Raises:
        ConfigError: the text is not a rule.
    """
    parts = _RULE.fullmatch(text)
    try:
        if parts:
            return PassRule(_field(parts[1], "--passed-if"), parts[2], parse_number(parts[3]))
    except ValueError:
        pass
    raise ConfigError(f"--passed-if {text!r}: not a rule; give a field, a comparison and a number, such as score>=0.6")


def _field(name: str, option: str) -> str:
    """Return the field with a name or an alias."""
    field = _ALIASES.get(name, name)
    if field not in FIELDS:
        hint = did_you_mean(name, FIELDS) or f"; there are: {', '.join(FIELDS)}"
        raise ConfigError(f"{option} {name!r}: not a field of a row{hint}")
    return field


@dataclass(frozen=True, slots=True)
class JudgeTable:
    """Table with a judge's score in each row; `join`: columns that identify the judged row (empty: all common)."""

    table: SourceTable
    judge: str = "judge"
    score: str = "score"
    join: tuple[str, ...] = ()


def map_columns(
    table: SourceTable, mapping: ColumnMap, rule: PassRule | None, judges: JudgeTable | None, where: str
) -> dict[str, str]:
    """Return the column of each field; joined, constant and converted columns are added to the table.

    Args:
        table: the rows.
        mapping: fields and units of columns; other columns are used if they have a field's name.
        rule: rule by which a row passes; None: a column says so.
        judges: judges' scores to join.
        where: the file, for messages.

    Raises:
        ConfigError: a column, field or unit does not exist, a required field has no column, or a score has no row.
    """
    asked = {_field(name, "--map"): column for name, column in mapping.columns.items()}
    for field, column in asked.items():
        parts = [part.strip() for part in column.split("+")]
        if column not in table.columns and len(parts) > 1:
            asked[field] = _join(table, parts, where)
    for name, value in mapping.constants.items():
        field = _field(name, "--set")
        if asked.get(field):
            raise ConfigError(
                f"--set {name}={value}: --map takes {field} from column {asked[field]!r}; remove one of the two"
            )
        asked[field] = f"--set {field}"
        _set_column(table, asked[field], [value] * len(table.rows))
    if judges:
        _join_judges(table, judges, where)
    used = _match(table, asked, rule, where)
    _convert_units(table, used, mapping.units, where)
    return used


def _set_column(table: SourceTable, column: str, values: Sequence[Value]) -> None:
    for row, value in zip(table.rows, values, strict=True):
        row.values[column] = value
    if column not in table.columns:
        table.columns.append(column)


def _join(table: SourceTable, parts: Sequence[str], where: str) -> str:
    """Add a column with the joined values of several columns; return its name."""
    for part in parts:
        _require(table, part, f"{where}: --map")
    cells = [[row.values.get(part) for part in parts] for row in table.rows]
    _set_column(
        table, " + ".join(parts), [None if None in row or "" in row else " + ".join(map(str, row)) for row in cells]
    )
    return " + ".join(parts)


def _match(table: SourceTable, asked: Mapping[str, str], rule: PassRule | None, where: str) -> dict[str, str]:
    for field, column in asked.items():
        if column:
            _require(table, column, f"{where}: --map {field}:")
    by_name = {_ALIASES.get(column, column): column for column in table.columns}
    used = {field: column for field, column in by_name.items() if field in FIELDS and field not in asked}
    used.update({field: column for field, column in asked.items() if column})
    if rule is not None:
        used.pop("passed", None)
    missing = {
        "scenario": "is the scenario",
        "arm": "is the arm",
        **(
            {rule.field: f"is {rule.field}, which --passed-if needs"}
            if rule
            else {"passed": "tells whether a row passed (or give --passed-if 'score>=0.6')"}
        ),
    }
    for field, reason in missing.items():
        if field not in used and table.rows:
            raise ConfigError(f"{where}: no column {reason}; name it: --map {field}=COLUMN; {_columns(table)}")
    return used


def _convert_units(table: SourceTable, used: Mapping[str, str], units: Mapping[str, str], where: str) -> None:
    unused = dict(units)
    for field, column in used.items():
        unit = unused.pop(column, None) or unused.pop(field, None)
        if unit is None and field.endswith("seconds") and column.lower().endswith(_MILLISECOND_NAMES):
            raise ConfigError(
                f"{where}: column {column!r} looks like milliseconds, but {field} is in seconds; "
                f"name the unit: --unit {column}=ms, or =s"
            )
        factor = 1.0 if unit is None else _factor(field, unit)
        if factor != 1:
            _set_column(table, column, [_converted(row, column, field, factor) for row in table.rows])
    if unused:
        raise ConfigError(f"{where}: --unit {next(iter(unused))}: no field uses that column; use it with --map")


def _factor(field: str, unit: str) -> float:
    factors = _TIMES if field.endswith("seconds") else _MONEY if field.endswith("usd") else _SHARES
    if unit not in factors:
        raise ConfigError(f"--unit {unit!r}: not a unit of {field}; there are: {', '.join(factors)}")
    return factors[unit]


def _converted(row: SourceRow, column: str, field: str, factor: float) -> Value:
    """Return a number in the field's unit; words such as N/A and scores with a percent sign stay unchanged."""
    value = row.values.get(column)
    if is_missing(value) or is_percent(field, value):
        return value
    number = _number(row, column)
    return None if number is None else number * factor


def _number(row: SourceRow, column: str) -> float | None:
    value = row.values.get(column)
    if value is None or is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    try:
        return parse_number(value.strip() if isinstance(value, str) else value)
    except ValueError as error:
        raise ConfigError(f"{row.where}: column {column!r}: {value!r:.80} {error}") from None


def _join_judges(table: SourceTable, judges: JudgeTable, where: str) -> None:
    """Add the column `judge_scores`, and if there is no column `score`, one with their median."""
    keys = judges.join or tuple(
        column
        for column in judges.table.columns
        if column in table.columns and column not in {judges.judge, judges.score}
    )
    if not keys:
        raise ConfigError(
            f"{where}: --judge-scores: the files have no column in common; rename columns to join them by"
        )
    for column in keys:
        _require(table, column, f"{where}: --join")
    for column in (*keys, judges.judge, judges.score):
        _require(judges.table, column, "--judge-scores")
    scores = _scores_by_key(judges, keys)
    rows = [_key(row, keys) for row in table.rows]
    unmatched = [key for key in scores if key not in set(rows)]
    if unmatched:
        first = ", ".join(f"{name}={value}" for name, value in zip(keys, unmatched[0], strict=True))
        count = counted(len(unmatched), "judged row is", "judged rows are")
        raise ConfigError(f"--judge-scores: {count} not in {where}; the first: {first}")
    by_row = [scores.get(key, {}) for key in rows]
    _set_column(table, "judge_scores", by_row)
    if "score" not in table.columns:
        _set_column(table, "score", [statistics.median(row.values()) if row else None for row in by_row])
        table.notes.append("No column is a score, so the score is the median of the judges' scores.")


def _scores_by_key(judges: JudgeTable, keys: Sequence[str]) -> dict[tuple[str, ...], dict[str, float]]:
    scores: dict[tuple[str, ...], dict[str, float]] = {}
    for row in judges.table.rows:
        judge, row_scores = str(row.values.get(judges.judge) or ""), scores.setdefault(_key(row, keys), {})
        if not judge or judge in row_scores:
            raise ConfigError(f"{row.where}: {f'judge {judge!r} scored this row already' if judge else 'has no judge'}")
        score = _number(row, judges.score)
        if score is not None:
            row_scores[judge] = score
    return scores


def _key(row: SourceRow, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row.values.get(name)) for name in keys)


def _require(table: SourceTable, column: str, where: str) -> None:
    if column not in table.columns and table.rows and not _open_json(table, column):
        hint = did_you_mean(column, table.columns)
        raise ConfigError(f"{where} {column!r}: there is no such column{hint}; {_columns(table)}")


def _open_json(table: SourceTable, column: str) -> bool:
    """Add a column `outer.inner` from JSON text in the column `outer`; return False if there is no such value."""
    outer = next((name for name in table.columns if column.startswith(f"{name}.")), None)
    if outer is None:
        return False
    cells = [_inner_value(row.values.get(outer), column.removeprefix(f"{outer}.").split(".")) for row in table.rows]
    if all(cell is None for cell in cells):
        return False
    _set_column(table, column, cells)
    return True


def _inner_value(text: Value, keys: Sequence[str]) -> Value:
    try:
        value = parse_json(text) if isinstance(text, str) else None
    except InvalidJsonError:
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _columns(table: SourceTable) -> str:
    more = f" and {len(table.columns) - _MAX_NAMED} more" if len(table.columns) > _MAX_NAMED else ""
    return f"the columns are: {', '.join(table.columns[:_MAX_NAMED]) or 'none'}{more}"
