"""How long a response asks its client to wait."""

import datetime
from email.utils import format_datetime

import pytest

from scylla_gha.providers.anthropic import MessagesStyle
from scylla_gha.retry_after import retry_after_seconds


@pytest.mark.parametrize(("value", "seconds"), [
    ("2", 2.0), ("0.5", 0.5), (" 7 ", 7.0), ("0", 0.0),
    ("-1", None), ("soon", None), ("", None), ("nan", None), ("inf", None), ("1e9", None), ("1_0", None),
    ("9" * 400, None),
])  # fmt: skip
def test_seconds(value: str, seconds: float | None) -> None:
    assert retry_after_seconds({"retry-after": value}) == seconds


@pytest.mark.parametrize("until", [
    "Fri, 27 Nov 2026 12:00:30 GMT", "Friday, 27-Nov-26 12:00:30 GMT", "Fri Nov 27 12:00:30 2026",
])  # fmt: skip
def test_a_date_counts_from_the_response_own_date(until: str) -> None:
    assert retry_after_seconds({"retry-after": until, "date": "Fri, 27 Nov 2026 12:00:00 GMT"}) == 30
    assert retry_after_seconds({"retry-after": until, "date": "Fri, 27 Nov 2026 13:00:00 GMT"}) == 0


def test_a_date_counts_from_now_if_the_response_has_none() -> None:
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
    seconds = retry_after_seconds({"retry-after": format_datetime(until, usegmt=True)})
    assert seconds is not None
    assert 80 < seconds <= 90


@pytest.mark.parametrize(
    "value", ["Fri, 99 Nov 2026 12:00:30 GMT", "2026-11-27T12:00:30Z", "Fri, 27 Nov 99999 12:00:30"]
)
def test_a_date_that_is_none_states_nothing(value: str) -> None:
    assert retry_after_seconds({"retry-after": value}) is None


def test_milliseconds_come_first() -> None:
    assert retry_after_seconds({"retry-after-ms": "1500", "retry-after": "2"}) == 1.5
    assert retry_after_seconds({"retry-after-ms": "x", "retry-after": "2"}) == 2
    assert retry_after_seconds({}) is None


@pytest.mark.parametrize(("status", "value", "refused"), [
    (529, "Fri, 27 Nov 2026 12:00:30 GMT", True), (529, "30", True), (529, "soon", False), (503, "30", False),
    (429, "Fri, 27 Nov 2026 12:00:30 GMT", True), (429, "soon", True), (200, "30", False),
])  # fmt: skip
def test_an_overload_that_says_when_to_come_back_is_a_refusal(status: int, value: str, refused: bool) -> None:
    headers = {"retry-after": value, "date": "Fri, 27 Nov 2026 12:00:00 GMT"}
    limit = MessagesStyle().rate_limit(status, headers)
    assert (limit.is_refusal, limit.retry_after) == (refused, None if value == "soon" else 30)
