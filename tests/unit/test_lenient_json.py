"""Reading JSON that other programs wrote."""

import pytest

from scylla_gha.lenient_json import InvalidJsonError, parse_json, repair_json


@pytest.mark.parametrize(("text", "value"), [
    pytest.param(rb'{"a": "done \ud83d"}', {"a": "done �"}, id="high half"),
    pytest.param(rb'["\ude00", "\uD83D\uDE00", "\ud83d\ud83d\ude00"]', ["�", "😀", "�😀"], id="halves and a pair"),
    pytest.param(rb'"\\ud83d \\\ud83d"', "\\ud83d \\�", id="escaped backslash"),
    pytest.param('"half \ud83d"', "half �", id="a character of a str"),
    pytest.param(b'"caf\xe9"', "caf�", id="latin-1"),
    pytest.param(b'\xef\xbb\xbf{"a": 1}', {"a": 1}, id="byte-order mark"),
    pytest.param('\ufeff{"a": 1}', {"a": 1}, id="byte-order mark of a str"),
    pytest.param(b"[NaN, Infinity, -Infinity, 1e400, -1e400, 1]", [None, None, None, None, None, 1], id="not finite"),
    pytest.param(b"[NaN, 18446744073709551615, 18446744073709551616]", [None, 2**64 - 1, 2.0**64], id="64 bits"),
    pytest.param(b"1" * 5_000, None, id="digits without end"),
    pytest.param(b'{"a": 1, "a": 2}', {"a": 2}, id="a key twice"),
    pytest.param(b'{"a": NaN, "a": 2}', {"a": 2}, id="a key twice, in the second parser"),
])  # fmt: skip
def test_what_other_programs_write_is_read_by_stated_rules(text: bytes | str, value: object) -> None:
    assert parse_json(text) == value


def test_values_that_are_not_finite_are_kept_on_demand() -> None:
    assert repr(parse_json(b"[NaN, -1e400]", keep_non_finite=True)) == "[nan, -inf]"


@pytest.mark.parametrize("text", [b"", b"{", b"[1] 2", b"{'a': 1}", b"undefined", b'"line\nbreak"', b"\xff\xfe1\0"])
def test_other_texts_are_refused(text: bytes) -> None:
    with pytest.raises(InvalidJsonError, match="not JSON"):
        parse_json(text)


@pytest.mark.parametrize("inner", [b"", b"NaN"])
def test_nesting_without_end_is_refused(inner: bytes) -> None:
    with pytest.raises(InvalidJsonError, match="nested too deeply"):
        parse_json(b"[" * 100_000 + inner + b"]" * 100_000)


def test_a_key_twice_is_refused_on_demand() -> None:
    with pytest.raises(InvalidJsonError, match="a key is given twice"):
        parse_json(b'{"a": [{"b": 1, "b": 1}]}', unique_keys=True)


def test_a_repaired_text_keeps_its_numbers() -> None:
    assert repair_json(b'\xef\xbb\xbf{"a": [1.50, "\\ud83d"]}') == '{"a": [1.50, "�"]}'
