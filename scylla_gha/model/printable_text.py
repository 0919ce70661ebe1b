"""Sanitizer of untrusted text for terminals, pages and judges: no hidden characters, limited length."""

import re
from typing import Final

from scylla_gha.counting import counted

# Default_Ignorable_Code_Point of Unicode 16.0 (DerivedCoreProperties.txt of 2024-05-31; 4,174 code points): what fonts
# do not show, and models read. Variation selectors and joiners are among them, so an emoji made of several is shown in
# its parts.
_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# And what a terminal would obey or nobody would see: controls, line ends that are no newline, the marks of an
# annotation, lone surrogates.
HIDDEN: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\udfff{_IGNORABLE}]")


def printable(text: str) -> str:
    """Remove characters that are invisible, break the line, or control a terminal."""
    if text.isascii() and text.isprintable():  # nearly all text, of which sites have millions of characters
        return text
    return "".join(character for character in HIDDEN.sub("", text) if character.isprintable())


def one_line(text: str) -> str:
    """Return `text` on one line, without characters that control a terminal, a log or the writing direction."""
    return printable(" ".join(text.split()))


def visible(text: str) -> str:
    """Replace every hidden character by its code; tabs and newlines stay."""
    return HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def head_and_tail(text: str, room: int) -> str:
    """Return the text, or its head and tail with a line between them that states what is cut."""
    if len(text) <= room:
        return text
    half = max(0, room) // 2
    head, tail = text[:half], text[len(text) - half :]
    # On whole lines where there are any, so that nobody reads half a line as a whole one.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    lost = text[len(head) : len(text) - len(tail)]
    return (
        f"{head.rstrip(chr(10))}\n[cut here: {counted(lost.count(chr(10)) or 1, 'line')}, "
        f"{counted(len(lost), 'character')}]\n{tail}"
    )
