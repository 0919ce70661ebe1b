import pytest

from scylla_gha.redaction.escapes import end_of_escape


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
