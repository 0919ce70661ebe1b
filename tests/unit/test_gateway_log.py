"""An account is a function of the journal's lines."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.gateway.log import (
    UNMATCHED,
    ModelSpending,
    TrafficLog,
    TrafficSummary,
    read_traffic,
    summarise_traffic,
    traffic_summary,
)
from scylla_gha.model.traffic import RequestRecord, ResponseRecord, Tokens
from scylla_gha.model.trial import NO_USAGE, Usage

NOW = datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC)


def asked(number: int, digest: str = "d", **more: Any) -> RequestRecord:
    return RequestRecord(
        number=number, at=NOW, role="agent", model="m", digest=digest, characters={"conversation": 5}, **more
    )


def answered(number: int, **more: Any) -> ResponseRecord:
    usual: dict[str, Any] = {"source": "live", "status": 200, "complete": True, "usd": 0.5, "seconds": 3.0,
                             "tokens": Tokens(input=1, output=2, cache_read=3, cache_write_5m=4, cache_write_1h=5),
                             "first_byte_seconds": 1.0}  # fmt: skip
    return ResponseRecord(number=number, **{**usual, **more})


FAILED: dict[str, Any] = {"status": 529, "complete": False, "error": "overloaded_error", "usd": 0.0,
                          "tokens": Tokens(), "first_byte_seconds": None}  # fmt: skip


def test_nothing_is_zero() -> None:
    assert traffic_summary([]) == TrafficSummary()
    assert TrafficSummary().usage == NO_USAGE


def test_sums() -> None:
    made = traffic_summary(
        [asked(1), asked(2, "e"), answered(2, first_byte_seconds=2.0), answered(1, waited_seconds=4.0)]
    )
    assert made.usage == Usage(input_tokens=2, output_tokens=4, cache_read_tokens=6, cache_write_tokens=18, usd=1.0)
    assert (made.requests, made.retries, made.unanswered, made.last_number) == (2, 0, 0, 2)
    assert (made.first_byte_seconds, made.generation_seconds, made.waited_seconds) == (1.5, 3.0, 4.0)
    assert made.characters == {"conversation": 10}


def test_tools_that_any_conversation_loaded_are_named_once() -> None:
    records = [asked(1), asked(2, loaded_tools=("b",)), asked(3, loaded_tools=("a", "b")), asked(4)]
    assert traffic_summary(records).loaded_tools == ("b", "a")
    assert "loaded_tools" not in records[0].model_dump_json()


def test_requests_of_other_models_are_told_apart() -> None:
    refused = answered(4, source="refused", status=403, usd=0.0, error="model_not_allowed")
    side = asked(2).model_copy(update={"model": "side"})
    strange = asked(4).model_copy(update={"model": "strange"})
    made = traffic_summary([asked(1), answered(1), side, answered(2), asked(3), answered(3), strange, refused])
    assert made.beside("m") == ModelSpending(requests=1, usd=0.5)
    assert made.beside("another") == ModelSpending(requests=3, usd=1.5)
    assert made.beside(None) == TrafficSummary().beside("m") == ModelSpending(requests=0, usd=0.0)
    assert traffic_summary([asked(1), side]).beside("m") == ModelSpending(requests=1, usd=None), (
        "in flight when the gateway died"
    )


def at(number: int, second: float, **more: Any) -> RequestRecord:
    return asked(number, f"d{number}", **more).model_copy(update={"at": NOW + datetime.timedelta(seconds=second)})


@pytest.mark.parametrize(
    ("records", "seconds"),
    [
        ([], None),
        ([at(1, 0), answered(1)], 0.0),  # what comes after the last answer is nobody's
        ([at(1, 0), answered(1), at(2, 5), answered(2), at(3, 10), answered(3)], 4.0),
        ([at(1, 0), answered(1, waited_seconds=1.0), at(2, 5), answered(2)], 1.0),
        ([at(1, 0), at(2, 1), answered(1), at(3, 3.5), answered(2), answered(3), at(4, 7), answered(4)], 0.5),
        ([at(1, 0), answered(1, **FAILED), at(2, 60), answered(2), at(3, 64), answered(3)], 1.0),
        ([at(1, 0), answered(1), at(2, 2), answered(2)], 0.0),  # a clock that was set back
        ([at(1, 0), at(2, 50), answered(2)], 0.0),  # the first was never answered
    ],
)
def test_tools_work_while_no_request_is_in_flight(
    records: list[RequestRecord | ResponseRecord], seconds: float | None
) -> None:
    assert traffic_summary(records).tool_seconds == seconds


@pytest.mark.parametrize("last", [[], [answered(2, usd=None)], [answered(2, usd=None, tokens=None, complete=False)]])
def test_one_unknown_cost_makes_the_sum_unknown(last: list[ResponseRecord]) -> None:
    made = traffic_summary([asked(1), answered(1), asked(2, "e"), *last])
    assert (made.usage.usd, made.known_usd, made.unanswered) == (None, 0.5, 0 if last else 1)


@pytest.mark.parametrize(
    ("records", "retries"),
    [
        ([asked(1), answered(1), asked(2), answered(2)], 0),  # the same twice is no retry
        ([asked(1), answered(1, **FAILED), asked(2), answered(2)], 1),
        ([asked(1), answered(1, **FAILED), asked(2), answered(2, **FAILED), asked(3), answered(3)], 2),
        ([asked(1), answered(1, **FAILED), asked(2, "e"), answered(2)], 0),
        ([asked(1), answered(1, **FAILED), asked(2), answered(2), asked(3), answered(3)], 1),
        ([asked(1), asked(2), answered(2)], 1),  # the first was cut off
        ([asked(1), answered(1, retries=3)], 3),
    ],
)
def test_retries_are_questions_that_failed_before(records: list[RequestRecord | ResponseRecord], retries: int) -> None:
    assert traffic_summary(records).retries == retries


def test_refusals_unmatched_ones_and_errors_are_counted() -> None:
    refused = answered(1, **{**FAILED, "source": "refused", "error": "budget_exceeded:trial"})
    unmatched = answered(2, **{**FAILED, "source": "replay", "error": UNMATCHED})
    made = traffic_summary([asked(1), refused, asked(2, "e"), unmatched])
    assert (made.refused, made.unmatched, made.usage) == (1, 1, NO_USAGE)
    assert made.errors == {"budget_exceeded:trial": 1, UNMATCHED: 1}


def test_counts_of_tokens_are_no_requests() -> None:
    made = traffic_summary([asked(1, counting=True)])
    assert (made.requests, made.unanswered, made.last_number, made.usage, made.characters) == (0, 1, 1, NO_USAGE, {})


def test_a_torn_line_is_left_out_and_goes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "traffic.jsonl"
    journal = TrafficLog(path)
    journal.write(asked(1))
    journal.close()
    with path.open("a") as file:
        file.write('{"kind":"answ')
    assert summarise_traffic(path).unanswered == 1
    journal = TrafficLog(path)
    journal.write(answered(1))
    journal.close()
    assert read_traffic(path) == [asked(1), answered(1)]


def test_what_is_no_log_is_named(tmp_path: Path) -> None:
    assert summarise_traffic(tmp_path / "none") == TrafficSummary()
    path = tmp_path / "traffic.jsonl"
    path.write_text('{"kind":"asked"}\n')
    with pytest.raises(ConfigError, match=r"traffic\.jsonl:1: not a record of traffic"):
        summarise_traffic(path)


def test_turns_are_those_of_the_main_conversation_that_were_answered_each_once() -> None:
    records: list[RequestRecord | ResponseRecord] = [
        asked(1, turn=1), answered(1, **FAILED), asked(2, turn=1), answered(2), asked(3, "e"), answered(3),
               asked(4, "f", turn=2), answered(4), asked(5, "g", turn=3)]  # fmt: skip
    made = traffic_summary(records)
    assert (made.turns, made.requests) == (2, 5)
