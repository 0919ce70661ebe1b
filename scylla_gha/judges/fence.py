"""What an agent wrote, shown to a judge as data: readable, harmless, in a fence that it cannot close from inside.

The fence is a pair of tags named after a digest of all that is fenced (who changes the content to hold the tag changes
the tag), around a code fence longer than any run of backticks inside. No randomness: the same trial gives the same
prompt, which can be recorded and replayed.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

_TAG_DIGITS: Final = 16


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
