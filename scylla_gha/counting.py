"""Texts of counts, durations and amounts of money; and shortened texts, which state how much is left out."""

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Final

_LEAST_DOLLARS: Final = 1e-6


def counted(number: float, noun: str, plural: str = "", form: str = ",") -> str:
    """Return a number with its noun: `1 trial`, `2 trials`, `1,000 trials`.

    Args:
        number: the number.
        noun: noun for one, with its verb if that has another form for several (`row is`).
        plural: form for several; "": the noun with an s.
        form: format of the number.
    """
    shown = format(number, form)
    return f"{shown} {noun if shown.lstrip('+-') == '1' else plural or f'{noun}s'}"


def first_of(texts: Iterable[str], most: int, separator: str = ", ") -> str:
    """Return at most `most` of the texts, joined, and the number of the others: `a, b and 3 more`, `a; b; and 3 more`.

    Args:
        texts: the texts.
        most: maximum number of texts to return.
        separator: text between two texts.
    """
    listed = list(texts)
    others = len(listed) - most
    more = f"{separator.strip(', ')} and {others} more" if others > 0 else ""
    return separator.join(listed[:most]) + more


def dollars(value: float | None, sign: str = "") -> str:
    """Return US dollars with two digits, or two significant ones below a cent: `$1,234.50`, `$0.0012`; unknown: `?`.

    Pages have the same rule in `report/templates/basics.js`.

    Args:
        value: the amount.
        sign: `+` for a difference, which then always has its sign.
    """
    if value is None or not math.isfinite(value):
        return "?"
    if 0 < abs(value) < _LEAST_DOLLARS:
        return f"<${_LEAST_DOLLARS:f}"
    exponent = int(f"{value:.1e}".partition("e")[2])
    digits = 2 if exponent >= -2 else 1 - exponent  # noqa: PLR2004 a cent
    with localcontext(rounding=ROUND_HALF_UP):  # as JavaScript rounds
        amount = f"{Decimal(abs(value)):,.{digits}f}"
    return f"{'-' if value < 0 else sign}${amount}"


def duration(seconds: float) -> str:
    """Return seconds, or minutes from two minutes on, with their unit."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 two minutes


def head_and_tail(text: str, room: int) -> str:
    """Return the text; if it has more than `room` characters, its head, a line that states the cut, and its tail."""
    if len(text) <= room:
        return text
    half = max(0, room) // 2
    head, tail = text[:half], text[len(text) - half :]
    # On whole lines where there are any, so that nobody reads half a line as a whole one.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    lost = text[len(head) : len(text) - len(tail)]
    return (
        f"{head.rstrip(chr(10))}\n[cut here: {counted(lost.count(chr(10)) or 1, 'line')}, "
        f"{counted(len(lost), 'character')}]\n{tail}"
    )
