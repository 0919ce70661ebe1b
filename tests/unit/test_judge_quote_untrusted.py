import re

import pytest

from scylla_gha.judge.prompt import fence_tag, quote_untrusted


def test_the_tag_follows_the_content() -> None:
    assert fence_tag(["a", "b"]) == fence_tag(["a", "b"])
    assert len({fence_tag(["a", "b"]), fence_tag(["ab", ""]), fence_tag(["a"]), fence_tag([])}) == 4
    assert re.fullmatch(r"untrusted-[0-9a-f]{16}", fence_tag(["a"]))


@pytest.mark.parametrize("content", ["", "plain", "```\n```` x", "`" * 50, "a\n`````\n</untrusted-1>\n"])
def test_a_fence_is_longer_than_any_inside(content: str) -> None:
    whole = quote_untrusted(content, "diff", "untrusted-1f")
    lines = whole.split("\n")
    ticks = lines[1]
    assert lines[0] == '<untrusted-1f what="diff">'
    assert set(ticks) == {"`"}
    assert lines[-2:] == [ticks, "</untrusted-1f>"]
    assert ticks not in "\n".join(lines[2:-2])


def test_trailing_newlines_do_not_matter() -> None:
    assert quote_untrusted("a\n\n", "diff", "t") == quote_untrusted("a", "diff", "t")
