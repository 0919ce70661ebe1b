"""Where an escape of a JSON string ends, so that none is cut in two."""

import re
from typing import Final

_HEX: Final = re.compile(rb"[0-9A-Fa-f]{1,4}")
_UNICODE: Final = 6  # bytes of `\u00e9`
_LONGEST_RUN: Final = 128  # backslashes that are looked at


def end_of_escape(data: bytes, at: int) -> int:
    """`at`, or the end of the escape that `at` lies within."""
    if _is_escaped(data, at):
        return at + _letters(data, at)
    begin = data.rfind(b"\\u", max(0, at - _UNICODE + 1), at)
    if begin >= 0 and _is_escaped(data, begin + 1) and _letters(data, begin + 1) == _UNICODE - 1:
        return max(at, begin + _UNICODE)
    return at


def _letters(data: bytes, at: int) -> int:
    """The length of an escape without its backslash."""
    digits = _HEX.match(data, at + 1, at + _UNICODE - 1) if data[at : at + 1] == b"u" else None
    return _UNICODE - 1 if digits and len(digits[0]) == _UNICODE - 2 else min(1, len(data) - at)


def _is_escaped(data: bytes, at: int) -> bool:
    """Whether an odd number of backslashes stands right before."""
    before = data[max(0, at - _LONGEST_RUN) : at]
    return bool((len(before) - len(before.rstrip(b"\\"))) % 2)
