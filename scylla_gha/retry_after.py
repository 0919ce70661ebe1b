"""Reader of the wait that an HTTP response asks for: seconds, or a date (RFC 9110, section 10.2.3, 2026-11-27)."""

import datetime
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

_NUMBER: Final = re.compile(r"\d{1,15}(?:\.\d{1,15})?", re.ASCII)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `retry-after-ms` or `retry-after`; None if neither states a time that can be read.

    A date counts from the response's own `date`, so that a wrong clock on either side changes nothing; a past one is 0.

    Args:
        headers: headers of the response, with names in lower case or in a mapping that ignores case.
    """
    if (milliseconds := decimal_number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1_000
    text = headers.get("retry-after", "")
    if (seconds := decimal_number(text)) is not None:
        return seconds
    until = _http_date(text)
    if until is None:
        return None
    now = _http_date(headers.get("date", "")) or datetime.datetime.now(datetime.UTC)
    return max(0.0, (until - now).total_seconds())


def decimal_number(text: str) -> float | None:
    """Return a number of decimal digits without a sign; None for other texts, such as `nan`, `1e9` and `-1`."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def _http_date(text: str) -> datetime.datetime | None:
    try:
        time = parsedate_to_datetime(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)  # one of the three forms of a date names no zone
