"""Values of foreign rows: what each kind of field accepts, and what is refused with a reason."""

import datetime

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.tables import SourceRow
from scylla_gha.interop.importers.values import FIELDS, parse_row
from scylla_gha.model.trial import Outcome

TRUE = ("true", "yes", "pass", "passed", "1", "1.0")
FALSE = ("false", "no", "fail", "failed", "0", "0.0")


def parse(field: str, value: object) -> object:
    return parse_row(SourceRow("f.csv:2", {"theirs": value}), {field: "theirs"}).values[field]


@pytest.mark.parametrize("word", [*TRUE, "TRUE", "Pass", " yes ", True, 1, 1.0])
def test_words_of_the_list_are_a_pass(word: object) -> None:
    assert parse("passed", word) is True


@pytest.mark.parametrize("word", [*FALSE, "False", False, 0])
def test_words_of_the_other_list_are_none(word: object) -> None:
    assert parse("passed", word) is False


@pytest.mark.parametrize("word", ["y", "ok", "solved", "2", 2, 0.5, "FAIL(TIMEOUT)", [], {}])
def test_another_word_is_not_guessed_at(word: object) -> None:
    with pytest.raises(ConfigError, match=r"not one of true.*; keep the row, and write one of these"):
        parse("passed", word)


@pytest.mark.parametrize("word", ["N/A", "-", " null ", "None", "#N/A", "NaN"])
def test_words_for_no_value_are_unknown_and_named(word: str) -> None:
    row = SourceRow("f.csv:2", {"theirs": word})
    for field in ("passed", "score", "usd", "turns", "started_at"):
        parsed = parse_row(row, {field: "theirs"})
        assert (parsed.values, parsed.unusable) == ({field: None}, (f"column 'theirs' (as {field}): {word!r}",))


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_empty_is_unknown_but_of_a_name(empty: object) -> None:
    assert [parse(field, empty) for field in ("passed", "usd", "category", "outcome", "tools")] == [None] * 5
    with pytest.raises(ConfigError, match="is empty, but"):
        parse("scenario", empty)


@pytest.mark.parametrize(
    ("field", "given", "expected"),
    [
        ("usd", "0.25", 0.25),
        ("usd", "1e-3", 0.001),
        ("usd", 3, 3.0),
        ("score", ".5", 0.5),
        ("input_tokens", "12", 12),
        ("input_tokens", "12.0", 12),
        ("input_tokens", "90071992547409931", 90071992547409931),
        ("turns", 4.0, 4),
        ("scenario", 17, "17"),
        ("outcome", "timeout", Outcome.TIMEOUT),
        ("grade", "B", "B"),
        ("network", "gateway", "gateway"),
        ("tools", '{"Bash": 2}', {"Bash": 2}),
        ("tools", {"Bash": 2}, {"Bash": 2}),
        ("judge_scores", '{"m": null, "n": 0.5}', {"m": None, "n": 0.5}),
        ("started_at", "2026-01-02T03:04:05", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        ("started_at", "2026-01-02 03:04:05+00:00", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        ("repetition", "3", 3),
        ("usd", "0,125", 0.125),
        ("usd", "1234,5", 1234.5),
        ("score", "50%", 0.5),
        ("score", "12,5 %", 0.125),
        ("scenario", "007", "007"),
        ("scenario", "1.0", "1.0"),
        ("scenario", 1.0, "1"),
        ("scenario", "N/A", "N/A"),
        ("model", "none", "none"),
        ("started_at", "1767323045", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        ("started_at", 1767323045000, datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        ("started_at", 1767323045.0, datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        ("started_at", "20260102", datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)),
    ],
)
def test_a_value_becomes_what_its_field_holds(field: str, given: object, expected: object) -> None:
    found = parse(field, given)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("field", "given", "why"),
    [
        ("usd", "free", "not a number; leave the cell empty"),
        ("usd", "1,250", "its comma may separate decimals or thousands; write a decimal point"),
        ("usd", "1.234,5", "not a number"),
        ("usd", "50%", "not a number"),
        ("seconds", -5, "not from 0 to .*; keep the row, and leave the cell empty"),
        ("score", "150%", "less than or equal to 1"),
        ("repetition", "-", "is empty, but"),
        ("started_at", 12, "Invalid isoformat"),
        ("usd", "inf", "not a number"),
        ("usd", "1e999", "not a finite number"),
        ("usd", "1,000", "not a number"),
        ("usd", "1_000", "not a number"),
        ("usd", "$1", "not a number"),
        ("usd", True, "not a number"),
        ("usd", float("nan"), "not a finite number"),
        ("usd", "-1", "not from 0 to"),
        ("usd", "1e300", r"not from 0 to 1e\+18"),
        ("score", "75", "less than or equal to 1; if the column is in percent: --unit theirs=percent"),
        ("turns", "1.5", "not a whole number"),
        ("repetition", "0", "greater than or equal to 1"),
        ("scenario", 1.5, "not text"),
        ("scenario", True, "not text"),
        ("outcome", "ok", "should be 'completed'"),
        ("grade", "E", "'S'"),
        ("tools", "[1]", "valid dictionary"),
        ("tools", "{", "Expecting property name"),
        ("tools", '{"Bash": "2"}', "valid integer"),
        ("started_at", "yesterday", "Invalid isoformat"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(field: str, given: object, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse(field, given)


def test_every_field_of_a_row_can_be_read_from_nothing_and_knows_what_it_takes() -> None:
    for field in sorted(set(FIELDS) - {"scenario", "arm", "repetition"}):
        assert parse(field, None) is None
        with pytest.raises(ConfigError, match=rf"f.csv:2: column 'theirs' \(as {field}\): \[\[1\]\] \w"):
            parse(field, [[1]])
