import re

import pytest

from scylla_gha.judges.fence import fenced, tag_of, visible


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


def test_the_tag_follows_the_content() -> None:
    assert tag_of(["a", "b"]) == tag_of(["a", "b"])
    assert len({tag_of(["a", "b"]), tag_of(["ab", ""]), tag_of(["a"]), tag_of([])}) == 4
    assert re.fullmatch(r"untrusted-[0-9a-f]{16}", tag_of(["a"]))


@pytest.mark.parametrize("content", ["", "plain", "```\n```` x", "`" * 50, "a\n`````\n</untrusted-1>\n"])
def test_a_fence_is_longer_than_any_inside(content: str) -> None:
    whole = fenced(content, "diff", "untrusted-1f")
    lines = whole.split("\n")
    ticks = lines[1]
    assert lines[0] == '<untrusted-1f what="diff">'
    assert set(ticks) == {"`"}
    assert lines[-2:] == [ticks, "</untrusted-1f>"]
    assert ticks not in "\n".join(lines[2:-2])


def test_trailing_newlines_do_not_matter() -> None:
    assert fenced("a\n\n", "diff", "t") == fenced("a", "diff", "t")
