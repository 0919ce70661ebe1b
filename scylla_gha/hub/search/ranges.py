"""Ranges of dates and numbers, as GitHub's queries have them: 2026-01-05, >=10, 2026-01-01..2026-02-01, *..5.

By https://docs.github.com/en/search-github/getting-started-with-searching-on-github/understanding-the-search-syntax.
"""

import datetime
import re
from collections.abc import Callable
from typing import Final, TypeVar

_SIGNS: Final = re.compile(r"(>=|<=|>|<)?(.*)", re.DOTALL)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
T = TypeVar("T", int, datetime.datetime)


def _moment(text: str) -> tuple[datetime.datetime, datetime.datetime] | None:
    """Return the first and the last second of a day, or of a time; None if it is neither."""
    try:
        start = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    start = start.astimezone(datetime.UTC) if start.tzinfo else start.replace(tzinfo=datetime.UTC)
    seconds = 86_399 if _DATE.fullmatch(text) else 0
    return start, start + datetime.timedelta(seconds=seconds)


def _number(text: str) -> tuple[int, int] | None:
    return (int(text), int(text)) if text.isascii() and text.isdecimal() and len(text) < 10 else None  # noqa: PLR2004


def in_range(text: str, value: datetime.datetime | None) -> bool:
    """Return whether a time is in a range; one that cannot be read has nothing in it."""
    return value is not None and _within(text, value.replace(microsecond=0), _moment)


def number_in_range(text: str, value: int) -> bool:
    """Return whether a number is in a range; one that cannot be read has nothing in it."""
    return _within(text, value, _number)


def is_range(text: str) -> bool:
    """Return whether a text is a range of dates or of numbers."""
    matched = _SIGNS.fullmatch(text)
    parts = matched[2].split("..", 1) if matched else []
    return all(part == "*" or _moment(part) or _number(part) for part in parts)


def _within(text: str, value: T, read: Callable[[str], tuple[T, T] | None]) -> bool:
    if ".." in text:
        low, _, high = text.partition("..")
        first, last = read(low), read(high)
        if (low != "*" and first is None) or (high != "*" and last is None):
            return False
        return (first is None or value >= first[0]) and (last is None or value <= last[1])
    matched = _SIGNS.fullmatch(text)
    span = read(matched[2]) if matched else None
    if matched is None or span is None:
        return False
    start, end = span
    outcomes = {">=": value >= start, ">": value > end, "<=": value <= end, "<": value < start}
    return outcomes.get(matched[1], start <= value <= end)
