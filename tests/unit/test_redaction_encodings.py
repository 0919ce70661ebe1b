"""The encodings of a secret, and escapes of JSON strings, which are never cut."""

import base64

import pytest

from scylla_gha.redaction.patterns import SecretEncoding, end_of_escape, secret_encodings


def test_a_secret_of_letters_and_digits_has_few_spellings() -> None:
    found = secret_encodings("kT9xQ2mZ7vB4nL8c")
    assert len(found) == 1 + 2 + 3 + 2 * 5 + 2  # itself, every byte for a URL, base64, base32 at five places, hex
    assert len({spelling.text for spelling in found}) == len(found)


def test_what_base64_shares_with_its_neighbours_goes_too() -> None:
    secret = b"kT9xQ2mZ7vB4nL8c"
    for before in range(3):
        text = base64.b64encode(b"ab"[:before] + secret)
        for spelling in secret_encodings(secret.decode()):
            at = text.find(spelling.text)
            if at >= 0:
                start, end = spelling.find(text, at, 0) or (0, 0)
                assert (text[:start], text[end:]) == (text[: 8 * before // 6], b"")


def test_an_anchor_after_a_line_end_finds_the_whole() -> None:
    spelling = SecretEncoding(b"0123456789abcdefghijklmnopqrstuv", wraps=True)
    assert spelling.anchors == [(b"0123456789ab", 0), (b"cdefghijklmn", 12)]
    data = b"-01234\\n56789abcdefghijklmnopqrstuv-"
    assert spelling.find(data, data.index(b"cdef"), 12) == (1, len(data) - 1)
    assert spelling.find(b"cdefghijklmn", 0, 12) is None
    assert spelling.find(b"0123456789ab", 0, 0) is None


@pytest.mark.parametrize(
    ("data", "at", "end"),
    [
        (b"abc", 1, 1),
        (rb"a\nb", 2, 3),
        (rb"a\nb", 1, 1),
        (rb"a\nb", 3, 3),
        (rb"a\\nb", 3, 3),
        (rb"a\\\nb", 4, 5),
        (rb"\u00e9x", 1, 6),
        (rb"\u00e9x", 4, 6),
        (rb"\u00e9x", 6, 6),
        (rb"\\u00e9x", 4, 4),
        (rb"\u0z", 1, 2),
        (rb"\u0z", 3, 3),
        (rb"a\"b", 2, 3),
        (b"\\", 1, 1),
        (b"", 0, 0),
    ],
)
def test_no_escape_is_cut(data: bytes, at: int, end: int) -> None:
    assert end_of_escape(data, at) == end
