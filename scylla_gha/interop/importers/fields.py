"""Foreign values become fields of a row: each is checked, none is bent to fit.

| kind | taken | refused |
|---|---|---|
| passed and other truths | true, yes, pass, passed, 1 and false, no, fail, failed, 0, in any case | all else |
| numbers | digits with a point or an exponent, from 0 to 1e18 | signs of thousands, units, nan, inf |
| counts | the same without a fraction (`12` and `12.0`) | 12.5 |
| names and texts | text; a whole number is its digits | other values |
| times | ISO 8601 | all else |
| an empty cell, and null | unknown | of a name or a repetition |
"""

import datetime
import functools
import json
import math
import re
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError

from scylla_gha.interop.importers.sources import Value
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome

TRUE: Final = ("true", "yes", "pass", "passed", "1", "1.0")
FALSE: Final = ("false", "no", "fail", "failed", "0", "0.0")
REQUIRED: Final = ("scenario", "arm", "repetition")
ALIASES: Final = {"tokens": "total_tokens"}
# What a row says of the run that it was made in; an imported one is of another run.
_OWN: Final = {"schema_version", "experiment", "cell", "key", "epoch", "measures_agent", "judged"}
FIELDS: Final = tuple(name for name in Result.model_fields if name not in _OWN)
_MOST: Final = 1e18  # whose squares and sums every format and every statistic still holds
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def parse_value(field: str, value: Value) -> Value:
    """The value as the field has it; None where it is empty.

    Raises:
        ValueError: the value does not fit; the message says why, without the value.
    """
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "":
        if field in REQUIRED:
            raise ValueError("empty, and every row needs one")
        return None
    kind, adapter = _kind(field)
    found = kind(value)
    try:
        return adapter.validate_python(found)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].replace("Input should be", "should be")) from None


@functools.cache
def _kind(field: str) -> tuple[Callable[[Value], Value], TypeAdapter[Any]]:
    """How the field is read from text, and what checks it; both by its type in `Result`."""
    annotation: Any = typing.get_type_hints(Result, include_extras=True)[field]
    bare = plain_type(annotation)
    reader = _READERS[get_origin(bare) or bare]
    if field == "repetition":
        reader = _repetition
    return reader, TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False))


def plain_type(annotation: object) -> object:
    """The type without its notes and without None."""
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) in {types.UnionType, typing.Union}:
        return plain_type(next(part for part in get_args(annotation) if part is not type(None)))
    return annotation


def _truth(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ValueError(f"neither one of {', '.join(TRUE[:-1])} nor one of {', '.join(FALSE[:-1])}")


def number(value: Value) -> float:
    """A number that is finite and not below 0.

    Raises:
        ValueError: the value is not such a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("not a number")  # noqa: TRY004 what a table holds is a value, not a type of ours
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError("not a number; leave the cell empty where it is unknown")
    found = float(value)
    if not math.isfinite(found):
        raise ValueError("not a finite number; leave the cell empty where it is unknown")
    if found < 0:
        raise ValueError("below 0")
    if found > _MOST:
        raise ValueError(f"is above {_MOST:g}, which no cost, time or count is")
    return found


def _count(value: Value) -> int:
    found = number(value)
    if not found.is_integer():
        raise ValueError("not a whole number")
    return int(str(value)) if str(value).isdecimal() else int(found)


def _repetition(value: Value) -> int:
    found = _count(value)
    if found < 1:
        raise ValueError("below 1; repetitions are counted from 1 up, and `--map repetition=` counts them by order")
    return found


def _text(value: Value) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("not text")  # noqa: TRY004 as above
    return str(value)


def _instant(value: Value) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    try:
        return datetime.datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError("not a time in ISO 8601") from None


def _object(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    try:
        return typing.cast("Value", json.loads(value))
    except ValueError:
        raise ValueError("not a JSON object") from None


def _outcome(value: Value) -> Outcome:
    try:
        return Outcome(str(value))
    except ValueError:
        raise ValueError(f"not one of {', '.join(Outcome)}") from None


_READERS: Final[dict[object, Callable[[Value], Value]]] = {
    bool: _truth, int: _count, float: number, str: _text, datetime.datetime: _instant, dict: _object, Literal: _text,
    Outcome: _outcome,
}  # fmt: skip
