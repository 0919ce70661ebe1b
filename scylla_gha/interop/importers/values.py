"""Parse the values of another tool's rows: each is checked against its field; none is changed to fit.

| kind | accepted | refused |
|---|---|---|
| passed and other booleans | true, yes, pass, passed, 1 and false, no, fail, failed, 0, in any case | all else |
| numbers | digits with a point, a decimal comma or an exponent, from 0 to 1e18 | `1,250` (1.25 or 1250), units, inf |
| scores | also percent: `50%` | above 1 |
| counts | whole numbers (`12` and `12.0`) | 12.5 |
| names and texts | text; a whole number (`1`, `1.0` of JSON) becomes its digits | other values |
| times | ISO 8601, in UTC if without an offset; seconds, ms, us or ns since 1970, for 2000 to 2100 | all else |
| an empty cell, null | unknown | for a scenario, an arm or a repetition |
| `N/A`, `-`, `null` and the like, except in texts | unknown, with a note | for a repetition |
"""

import datetime
import functools
import json
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, create_model, field_validator

from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.tables import SourceRow, Value
from scylla_gha.model import as_utc, digest
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome

_TRUE: Final = ("true", "yes", "pass", "passed", "1", "1.0")
_FALSE: Final = ("false", "no", "fail", "failed", "0", "0.0")
_NAMES: Final = ("scenario", "arm")
_REQUIRED: Final = (*_NAMES, "repetition")
# Fields of results that no column can set, since they describe this toolkit's run.
_NOT_IMPORTED: Final = {
    "schema_version",
    "experiment",
    "cell",
    "key",
    "epoch",
    "measures_agent",
    "judged",
    "agent_files",
    "uses_by_prompt",
    "skills_read",
}
FIELDS: Final = tuple(name for name in Result.model_fields if name not in _NOT_IMPORTED)
_MISSING: Final = frozenset({"na", "n/a", "#n/a", "#na", "nan", "null", "none", "nil", "-", "--"})
_SHARES: Final = frozenset({"score", "progress"})
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_EPOCHS: Final = (946_684_800, 4_102_444_800)  # the years 2000 and 2100 in seconds since 1970
_MAX_NUMBER: Final = 1e18  # its squares and sums fit every format and statistic
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def parse_number(value: Value) -> float:
    """Return a number from 0 to 1e18.

    Raises:
        ValueError: the value is not such a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("not a number")  # noqa: TRY004 a table's value has no type of ours
    number = float(_decimal_point(value)) if isinstance(value, str) else float(value)
    if not math.isfinite(number):
        raise ValueError("not a finite number; leave the cell empty if it is unknown")
    if not 0 <= number <= _MAX_NUMBER:
        raise ValueError(f"not from 0 to {_MAX_NUMBER:g}; keep the row, and leave the cell empty if it is unknown")
    return number


def _decimal_point(text: str) -> str:
    if _THOUSANDS.fullmatch(text):
        raise ValueError("not a number: its comma may separate decimals or thousands; write a decimal point")
    number = text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text
    if not _NUMBER.fullmatch(number):
        raise ValueError("not a number; leave the cell empty if it is unknown")
    return number


def is_missing(value: Value) -> bool:
    """Return True for a word that stands for no value, such as N/A."""
    return isinstance(value, str) and value.strip().lower() in _MISSING


def is_percent(field: str, value: Value) -> bool:
    """Return True for a score with a percent sign."""
    return field in _SHARES and isinstance(value, str) and value.strip().endswith("%")


def _parse_bool(value: Value) -> bool:
    word = str(value).lower()
    if word not in {*_TRUE, *_FALSE}:
        words = ", ".join((*_TRUE[:-1], *_FALSE[:-1]))
        raise ValueError(f"not one of {words}; keep the row, and write one of these, or N/A if it is unknown")
    return word in _TRUE


def _parse_count(value: Value) -> int:
    number = parse_number(value)
    if not number.is_integer():
        raise ValueError("not a whole number")
    return int(str(value)) if str(value).isdecimal() else int(number)


def _parse_text(value: Value) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # pandas turns a column of whole numbers with gaps into floats
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("not text")  # noqa: TRY004 as above
    return str(value)


def _parse_time(value: Value) -> datetime.datetime:
    return as_utc(_stated_time(value))


def _stated_time(value: Value) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        for unit in (1, 10**3, 10**6, 10**9):
            if _EPOCHS[0] <= float(text) / unit < _EPOCHS[1]:
                return datetime.datetime.fromtimestamp(float(text) / unit, datetime.UTC)
    return datetime.datetime.fromisoformat(text)


_PARSERS: Final[dict[object, Callable[[Value], Value]]] = {
    bool: _parse_bool,
    int: _parse_count,
    float: parse_number,
    str: _parse_text,
    datetime.datetime: _parse_time,
    dict: lambda value: json.loads(value) if isinstance(value, str) else value,
    Literal: _parse_text,
    Outcome: _parse_text,
}


def plain_type(annotation: object) -> object:
    """Return a type without annotations and without None."""
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) in {types.UnionType, typing.Union}:
        return plain_type(next(part for part in get_args(annotation) if part is not type(None)))
    return annotation


_TYPES: Final = typing.get_type_hints(Result, include_extras=True)
_PARSERS_WITHOUT_WORDS: Final = (_parse_bool, _parse_count, parse_number, _parse_time)  # N/A is unknown for these
_TIMES: Final = tuple(name for name in FIELDS if plain_type(_TYPES[name]) is datetime.datetime)


def _parser(field: str) -> Callable[[Value], Value]:
    kind = plain_type(_TYPES[field])
    return _PARSERS[get_origin(kind) or kind]


class _SourceValues(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _parse(cls, value: Value, info: ValidationInfo) -> Value:
        """Parse a value by the type of its field in `Result`."""
        value = value.strip() if isinstance(value, str) else value
        name = str(info.field_name)
        if value is None or value == "":
            if name in _REQUIRED:
                raise ValueError("is empty, but every row needs a value")
            return None
        if is_percent(name, value):
            return parse_number(str(value)[:-1].rstrip()) / 100
        return _parser(name)(value)


_OVERRIDES: Final[Mapping[str, Any]] = {
    "outcome": Annotated[Outcome, Field(strict=False)],
    "repetition": Annotated[int, Field(ge=1)],
}
_Values: Final = create_model(  # type: ignore[call-overload] # fields are those of Result
    "_Values", __base__=_SourceValues, **{name: (_OVERRIDES.get(name, _TYPES[name]) | None, None) for name in FIELDS}
)


@dataclass(frozen=True)
class ParsedRow:
    """Row with its values by field; None is unknown.

    Attributes:
        source: the row as it was read.
        values: values by field.
        unusable: a line for each value that counts as unknown: words such as N/A and, in tables of a tool's trials,
            values that do not fit their field.
        has_local_time: True if a time had no offset and was read as UTC.
    """

    source: SourceRow
    values: dict[str, Any]
    unusable: tuple[str, ...]
    has_local_time: bool

    @functools.cached_property
    def digest(self) -> str:
        """Digest of the values of all columns."""
        return digest(
            {
                column: value if isinstance(value, str | int | float | dict | list | None) else str(value)
                for column, value in self.source.values.items()
            }
        )


def parse_row(row: SourceRow, columns: Mapping[str, str], *, trials_of_a_tool: bool = False) -> ParsedRow:
    """Parse the values of a row.

    Args:
        row: the row, with values by column.
        columns: columns by field.
        trials_of_a_tool: True: a value that does not fit its field is unknown, unless it names the scenario or arm.

    Raises:
        ConfigError: a value does not fit its field.
    """
    raw = {field: row.values.get(column) for field, column in columns.items()}
    missing = [field for field, value in raw.items() if _parser(field) in _PARSERS_WITHOUT_WORDS and is_missing(value)]
    unusable = [f"column {columns[field]!r} (as {field}): {raw[field]!r}" for field in missing]
    raw.update(dict.fromkeys(missing))
    values = None
    while values is None:
        try:
            values = _Values.model_validate(raw)
        except ValidationError as error:
            field, message = _fault(error)
            if field in _SHARES and "less than" in message:
                message += f"; if the column is in percent: --unit {columns[field]}=percent"
            text = f"column {columns[field]!r} (as {field}): {raw[field]!r:.80} {message}"
            if not trials_of_a_tool or field in _NAMES:
                raise ConfigError(f"{row.where}: {text}") from None
            unusable.append(text)
            del raw[field]
    by_field = {field: getattr(values, field) for field in columns if field in raw or field != "repetition"}
    times = [_stated_time(raw[field]) for field in _TIMES if str(raw.get(field) or "").strip()]
    return ParsedRow(row, by_field, tuple(unusable), any(time.tzinfo is None for time in times))


def _fault(error: ValidationError) -> tuple[str, str]:
    """Return the field and the message of the first error."""
    fault = error.errors()[0]
    message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
    return str(fault["loc"][0]), message
