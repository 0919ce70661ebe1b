import pytest

from scylla_gha.model.visible import head_and_tail, visible


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


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("short", 5, "short"),
        ("aaaa\nbbbb\ncccc\ndddd", 12, "aaaa\n[cut here: 2 lines, 10 characters]\ndddd"),
        ("x" * 30, 10, "xxxxx\n[cut here: 1 lines, 20 characters]\nxxxxx"),
        ("xy", 0, "\n[cut here: 1 lines, 2 characters]\n"),
    ],
)
def test_head_and_tail_are_kept(text: str, room: int, cut: str) -> None:
    assert head_and_tail(text, room) == cut
