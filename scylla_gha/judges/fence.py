"""What an agent wrote, shown to a judge as data: readable, harmless, in a fence that it cannot close from inside.

The fence is a pair of tags named after a digest of all that is fenced (who changes the content to hold the tag changes
the tag), around a code fence longer than any run of backticks inside. No randomness: the same trial gives the same
prompt, which can be recorded and replayed.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

# Whatever a person would not see or a terminal would obey: controls, bidirectional overrides, zero-width characters,
# tag characters, lone surrogates, and the line ends that are not a newline.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_TAG_DIGITS: Final = 16


def visible(text: str) -> str:
    """The text with every hidden character written out by its code; tabs and newlines stay."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def tag_of(pieces: Iterable[str]) -> str:
    """A tag that is in none of the pieces, the same for the same pieces."""
    whole = "\0".join(pieces)
    tag = f"untrusted-{hashlib.sha256(whole.encode()).hexdigest()[:_TAG_DIGITS]}"
    while tag in whole:
        tag = f"untrusted-{hashlib.sha256(tag.encode()).hexdigest()[:_TAG_DIGITS]}"
    return tag


def fenced(text: str, what: str, tag: str) -> str:
    """The text between the tags; `what` is the harness's own word for it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f'<{tag} what="{what}">\n{ticks}\n{text.rstrip(chr(10))}\n{ticks}\n</{tag}>'
