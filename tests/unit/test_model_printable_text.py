import pytest

from scylla_gha.counting import head_and_tail
from scylla_gha.model import one_line, printable, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\tand\nline", "tab\tand\nline"),
        ("naïve ✓ 漢字 🙂", "naïve ✓ 漢字 🙂"),
        ("\x1b[2Kgone", "\\u001b[2Kgone"),
        ("a\rb", "a\\u000db"),
        ("if \u202elevel\u202c:", "if \\u202elevel\\u202c:"),  # right-to-left override
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\U000e0041", "\\ue0041"),  # a tag character: invisible, and readable by models
        ("line\u2028end\x85", "line\\u2028end\\u0085"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_a_person_would_not_see_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(text).encode()


# Default_Ignorable_Code_Point, as DerivedCoreProperties.txt of Unicode 16.0 has it.
IGNORABLE = """\
00AD 034F 061C 115F..1160 17B4..17B5 180B..180D 180E 180F 200B..200F 202A..202E 2060..2064 2065 2066..206F 3164
FE00..FE0F FEFF FFA0 FFF0..FFF8 1BCA0..1BCA3 1D173..1D17A E0000 E0001 E0002..E001F E0020..E007F E0080..E00FF
E0100..E01EF E01F0..E0FFF"""


def test_every_character_that_no_font_shows_is_written_out() -> None:
    ends = [part.split("..") for part in IGNORABLE.split()]
    points = [point for each in ends for point in range(int(each[0], 16), int(each[-1], 16) + 1)]
    assert len(points) == 4174
    assert [point for point in points if visible(f"a{chr(point)}b") != f"a\\u{point:04x}b"] == []
    assert printable(f"a{''.join(map(chr, points))}b") == "ab"


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("short", 5, "short"),
        ("aaaa\nbbbb\ncccc\ndddd", 12, "aaaa\n[cut here: 2 lines, 10 characters]\ndddd"),
        ("x" * 30, 10, "xxxxx\n[cut here: 1 line, 20 characters]\nxxxxx"),
        ("xy", 0, "\n[cut here: 1 line, 2 characters]\n"),
    ],
)
def test_head_and_tail_are_kept(text: str, room: int, cut: str) -> None:
    assert head_and_tail(text, room) == cut


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("plain words", "plain words"),
        ("two\nlines\r\n\tand a tab", "two lines and a tab"),
        ("  outside  ", "outside"),
        ("a\u2028b\u2029c\x85d\x0be", "a b c d e"),
        ("red \x1b[31malert\x1b[0m", "red [31malert[0m"),
        ("title\x1b]0;x\x07", "title]0;x"),
        ("back\x08\x7f\x00", "back"),
        ("\u202eevil\u2066 a\u200bb", "evil ab"),
        ("café ∞ 日本 🙂", "café ∞ 日本 🙂"),
        ("", ""),
    ],
)
def test_one_line_steers_nothing(given: str, expected: str) -> None:
    assert one_line(given) == expected
