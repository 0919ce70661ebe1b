r"""Reader of JSON that other programs wrote: agent CLIs, model providers, judges, MCP servers, other evaluation tools.

One odd value must not lose the rest of a text, so these rules read what common programs really write:

| in the text | is read as |
|---|---|
| half of a UTF-16 pair (`\ud83d` alone), or bytes that are not UTF-8 | U+FFFD, the replacement character |
| a byte-order mark of UTF-8 at the start | left out |
| `NaN`, `Infinity`, or a number too large for a float (`1e400`) | None: unknown; a float with `keep_non_finite` |
| an integer beyond 64 bits | the nearest float |
| a key twice in an object | its last value; an error with `unique_keys` |
| arrays or objects in more than about 1,000 levels, or other faults | `InvalidJsonError` |

Files that only this toolkit writes are not read by this module: each of these oddities is an error in them.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

_ESCAPES: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_REPLACEMENT: Final = "\ufffd"
_BYTE_ORDER_MARK: Final = "\ufeff"
_BITS: Final = 64
_MAX_COUNT: Final = 10**15


class InvalidJsonError(ValueError):
    """A text that is not JSON, even by this module's lenient rules."""


def parse_json(text: bytes | bytearray | str, *, keep_non_finite: bool = False, unique_keys: bool = False) -> object:
    """Parse a text by this module's rules.

    Args:
        text: the JSON.
        keep_non_finite: return NaN and infinities as floats, for callers that count or name them.
        unique_keys: refuse an object that has a key twice.

    Raises:
        InvalidJsonError: it is not JSON, or an object has a key twice.
    """
    if not unique_keys:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
    return _parse_repaired(repair_json(text), keep_non_finite=keep_non_finite, unique_keys=unique_keys)


def inner_object(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object under a key of an object that another program wrote; empty if there is none."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def whole_number(value: object) -> int | None:
    """Return a count that another program wrote: 7 for 7 and 7.0.

    None if the value is not a count: 7.5, -7, "7", true, or above 10^15, where floats begin to lose digits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MAX_COUNT and value == int(value) else None


def repair_json(text: bytes | bytearray | str) -> str:
    """Return the text without byte-order mark, and with U+FFFD for what UTF-8 cannot hold.

    Its numbers stay as they are written. A parser that checks types, such as pydantic's, then reads it.
    """
    decoded = repair_text(text) if isinstance(text, str) else text.decode("utf-8", "replace")
    content = decoded.removeprefix(_BYTE_ORDER_MARK)
    if "\\u" not in content:
        return content
    return _ESCAPES.sub(lambda escape: _REPLACEMENT if escape[1] else escape[0], content)


def repair_text(text: str) -> str:
    """Return the text with both halves of each UTF-16 pair joined, and U+FFFD for a half that is alone."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _parse_repaired(text: str, *, keep_non_finite: bool, unique_keys: bool) -> object:
    """Parse with the standard library, which calls back for numbers and objects."""

    def number(written: str) -> float | None:
        value = float(written)
        return value if keep_non_finite or math.isfinite(value) else None

    def integer(written: str) -> float | None:
        value = int(written) if len(written) < _BITS else None
        return value if value is not None and -(1 << _BITS - 1) <= value < 1 << _BITS else number(written)

    try:
        return json.loads(
            text,
            parse_float=number,
            parse_int=integer,
            parse_constant=number,
            object_pairs_hook=_unique_pairs if unique_keys else None,
        )
    except json.JSONDecodeError as error:
        raise InvalidJsonError(f"not JSON: {error}") from None
    except RecursionError:
        raise InvalidJsonError("not read as JSON: its arrays and objects are nested too deeply") from None


def _unique_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise InvalidJsonError("a key is given twice in one object")
    return unique
