import re

import pytest

from scylla_gha.judges.fence import fenced, tag_of


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
