"""Text of others as a person or a judge can read it: nothing hidden in it, and cut where it is long."""

import re
from typing import Final

# Whatever a person would not see or a terminal would obey: controls, bidirectional overrides, zero-width characters,
# tag characters, lone surrogates, and the line ends that are not a newline.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """The text with every hidden character written out by its code; tabs and newlines stay."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def head_and_tail(text: str, room: int) -> str:
    """The text, or its head and tail with a line between them that says what is missing."""
    if len(text) <= room:
        return text
    half = max(0, room) // 2
    head, tail = text[:half], text[len(text) - half :]
    # On whole lines where there are any, so that nobody reads half a line as a whole one.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    lost = text[len(head) : len(text) - len(tail)]
    return f"{head.rstrip(chr(10))}\n[cut here: {lost.count(chr(10)) or 1} lines, {len(lost)} characters]\n{tail}"
