"""Whether something may be split over the events in some lines, told without parsing them, which takes far longer.

The events are read by the form in which agents and the provider write them. Where a single one has another form, or a
text of its own that cannot be read, the answer is yes, and who asks has to look closer.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final

import orjson

SIGN: Final = b'"content_block_delta"'  # so it cannot stand in a JSON string, where quotes are escaped
_BLOCK: Final = 32 * 1024
Spans = Callable[[str], list[tuple[int, int]]]

# Three groups: which block it adds to, with the name of the text's field; the text, as JSON writes it; whose block.
_EVENT: Final = re.compile(
    SIGN + rb', ?"index": ?([^"]++"delta": ?\{"type": ?"[^"]++", ?"[^"]++"): ?'
    rb'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)" *+\} *+\}'
    rb'(?:(?:, ?"session_id": ?"[^"]*+")?+, ?"parent_tool_use_id": ?([^,}]++)|[} ]*+\r?$)',
    re.MULTILINE,
)


def may_be_split(lines: bytes, spans: Spans) -> bool:
    """Whether the texts that the events in whole lines add up to hold any of what `spans` finds."""
    blocks: defaultdict[tuple[bytes, bytes], list[bytes]] = defaultdict(list)
    known = 0
    for start, end in _blocks(lines):
        found = _EVENT.findall(lines, start, end)
        known += len(found)
        for block, text, parent in found:
            blocks[block, parent].append(text)
    return known != lines.count(SIGN) or any(_holds_any(texts, spans) for texts in blocks.values())


def _blocks(lines: bytes) -> Iterator[tuple[int, int]]:
    """Where to cut after lines, so that what is found in one part fits into a processor's cache."""
    start = 0
    while start < len(lines):
        end = lines.find(b"\n", start + _BLOCK) + 1 or len(lines)
        yield start, end
        start = end


def _holds_any(texts: list[bytes], spans: Spans) -> bool:
    try:
        return bool(spans(orjson.loads(b'"%s"' % b"".join(texts))))
    except orjson.JSONDecodeError:
        return True
