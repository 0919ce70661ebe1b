"""Preparation of imported rows: constants, units, an arm made of several columns, judge scores of a second file."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from scylla_gha.config.load import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.columns import field_of
from scylla_gha.interop.importers.fields import ALIASES, FIELDS, number
from scylla_gha.interop.importers.sources import SourceRow, SourceTable, Value

_TIMES: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_MONEY: Final = {"usd": 1.0, "cent": 0.01}
_SHARES: Final = {"share": 1.0, "percent": 0.01}
_SIGNS_OF_MS: Final = ("_ms", "millis", "milliseconds", "(ms)", "msec")


@dataclass(frozen=True, slots=True)
class JudgeTable:
    """Scores of judges, one a row: the columns with the judge and the score, and those that name the row judged."""

    table: SourceTable
    judge: str = "judge"
    score: str = "score"
    join: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preparation:
    """`constants`: a field's value in all rows. `units`: of a field, or of a column of theirs."""

    constants: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    judges: JudgeTable | None = None


def prepare(
    table: SourceTable, columns: Mapping[str, str], how: Preparation, where: str
) -> tuple[SourceTable, dict[str, str]]:
    """The table with what was asked for, and our field to their column.

    Args:
        table: as it was read.
        columns: our field to their column, or to several that are joined by a plus sign.
        how: what to do.
        where: the file, for messages.

    Raises:
        ConfigError: a column, field or unit is not there, or a score has no row.
    """
    asked = dict(columns)
    for name, column in columns.items():
        parts = [part.strip() for part in column.split("+")]
        if column not in table.columns and len(parts) > 1:
            table, asked[name] = _joined(table, parts, where), " + ".join(parts)
    for name, value in how.constants.items():
        table, asked = _constant(table, asked, field_of(name, "--set"), value)
    if how.judges:
        table = _judged(table, how.judges, where)
    return _in_our_units(table, asked, how.units, where), asked


def _changed(table: SourceTable, column: str, of: Callable[[SourceRow], Value]) -> SourceTable:
    rows = tuple(replace(row, values={**row.values, column: of(row)}) for row in table.rows)
    return replace(table, columns=tuple(dict.fromkeys((*table.columns, column))), rows=rows)


def _joined(table: SourceTable, parts: Sequence[str], where: str) -> SourceTable:
    for part in parts:
        _require(table, part, f"{where}: --map")

    def of(row: SourceRow) -> Value:
        values = [row.values.get(part) for part in parts]
        return None if any(value in {None, ""} for value in values) else " + ".join(str(value) for value in values)

    return _changed(table, " + ".join(parts), of)


def _constant(table: SourceTable, asked: dict[str, str], name: str, value: str) -> tuple[SourceTable, dict[str, str]]:
    if asked.get(name):
        raise ConfigError(f"--set {name}={value}: --map takes {name} from column {asked[name]!r}; give one of the two")
    column = f"--set {name}"
    return _changed(table, column, lambda _: value), {**asked, name: column}


def _in_our_units(table: SourceTable, asked: Mapping[str, str], units: Mapping[str, str], where: str) -> SourceTable:
    named = {ALIASES.get(column, column): column for column in table.columns if ALIASES.get(column, column) in FIELDS}
    columns = {**named, **{name: column for name, column in asked.items() if column}}
    left = dict(units)
    for name, column in columns.items():
        unit = left.pop(column, None) or left.pop(name, None)
        if unit is None and name.endswith("seconds") and column.lower().endswith(_SIGNS_OF_MS):
            raise ConfigError(f"{where}: column {column!r} looks like milliseconds, and {name} is in seconds; "
                              f"say which: --unit {column}=ms, or =s")  # fmt: skip
        if unit is not None:
            table = _scaled(table, column, _factor(name, unit))
    if left:
        raise ConfigError(f"{where}: --unit {next(iter(left))}: no field is taken from that column")
    return table


def _factor(name: str, unit: str) -> float:
    known = _TIMES if name.endswith("seconds") else _MONEY if name.endswith("usd") else _SHARES
    if unit not in known:
        raise ConfigError(f"--unit {unit!r}: not a unit of {name}; there are: {', '.join(known)}")
    return known[unit]


def _scaled(table: SourceTable, column: str, factor: float) -> SourceTable:
    def of(row: SourceRow) -> Value:
        value = row.values.get(column)
        value = value.strip() if isinstance(value, str) else value
        if value is None or value == "":
            return None
        try:
            return number(value) * factor
        except ValueError as error:
            raise ConfigError(f"{row.where}: column {column!r}: {value!r:.80} {error}") from None

    return table if factor == 1 else _changed(table, column, of)


def _judged(table: SourceTable, judges: JudgeTable, where: str) -> SourceTable:
    """With `judge_scores`; and with their median as the score, where no column is one."""
    keys = judges.join or tuple(one for one in judges.table.columns
                                if one in table.columns and one not in {judges.judge, judges.score})  # fmt: skip
    if not keys:
        raise ConfigError(f"{where}: --judge-scores: no column is in both files; name the ones that join them: --join")
    for column in keys:
        _require(table, column, f"{where}: --join")
    for column in (*keys, judges.judge, judges.score):
        _require(judges.table, column, "--judge-scores")
    found = _scores(judges, keys)
    rows = {_key(row, keys) for row in table.rows}
    lost = [key for key in found if key not in rows]
    if lost:
        said = ", ".join(f"{name}={value}" for name, value in zip(keys, lost[0], strict=True))
        many = counted(len(lost), "judged row is", "judged rows are")
        raise ConfigError(f"--judge-scores: {many} not in {where}; the first: {said}")
    made = _changed(table, "judge_scores", lambda row: found.get(_key(row, keys), {}))
    if "score" in table.columns:
        return made
    made = _changed(made, "score", lambda row: _median(found.get(_key(row, keys), {})))
    return replace(made, notes=(*made.notes, "No column is a score: it is the median of the judges' scores."))


def _scores(judges: JudgeTable, keys: Sequence[str]) -> dict[tuple[str, ...], dict[str, float]]:
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for row in judges.table.rows:
        judge, mine = str(row.values.get(judges.judge) or ""), found.setdefault(_key(row, keys), {})
        if not judge or judge in mine:
            raise ConfigError(f"{row.where}: {f'judge {judge!r} scored this row already' if judge else 'has no judge'}")
        for score in _known(row, judges.score):
            mine[judge] = score
    return found


def _known(row: SourceRow, column: str) -> Iterator[float]:
    value = row.values.get(column)
    if value is not None and value != "":
        try:
            yield number(value)
        except ValueError as error:
            raise ConfigError(f"{row.where}: column {column!r}: {value!r:.80} {error}") from None


def _median(scores: Mapping[str, float]) -> float | None:
    return statistics.median(scores.values()) if scores else None


def _key(row: SourceRow, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row.values.get(name)) for name in keys)


def _require(table: SourceTable, column: str, where: str) -> None:
    if column not in table.columns and table.rows:
        raise ConfigError(f"{where} {column!r}: there is no such column{did_you_mean(column, table.columns)}; the "
                          f"columns are: {', '.join(table.columns[:40])}")  # fmt: skip
