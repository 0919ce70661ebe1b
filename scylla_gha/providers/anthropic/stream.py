"""Streams of the Messages API: a span of text that is split over events is moved into the first of them."""

import itertools
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from scylla_gha.providers.base import Spans, split_events

_TEXT_FIELDS: Final = ("text", "partial_json", "thinking")  # of a delta of a content block


@dataclass(frozen=True, slots=True)
class _TextDelta:
    """The piece of text in one event: which event, its content, and the content block that it belongs to."""

    at: int
    event: dict[str, Any]
    delta: dict[str, Any]
    block: Hashable
    field: str

    @property
    def text(self) -> str:
        """The piece itself."""
        return str(self.delta[self.field])


def join_split(body: bytes, spans: Spans) -> bytes:
    """Return the stream with each piece of text that ends inside a span prolonged to its end."""
    parts = split_events(body)
    blocks: defaultdict[Hashable, list[_TextDelta]] = defaultdict(list)
    for at, part in enumerate(parts):
        if delta := _text_delta(at, part):
            blocks[delta.block].append(delta)
    for block in blocks.values():
        for delta, text in zip(block, _cut([delta.text for delta in block], spans), strict=True):
            if text != delta.text:
                delta.delta[delta.field] = text
                parts[delta.at] = b"event: content_block_delta\ndata: " + orjson.dumps(delta.event) + b"\n\n"
    return b"".join(parts)


def _text_delta(at: int, part: bytes) -> _TextDelta | None:
    """Parse the piece of text in an event; None if the event has none."""
    try:
        event = orjson.loads(next((line[5:] for line in part.splitlines() if line.startswith(b"data:")), b""))
    except orjson.JSONDecodeError:
        return None
    delta = event.get("delta") if isinstance(event, dict) else None
    if not isinstance(delta, dict) or event.get("type") != "content_block_delta":
        return None
    field = next((name for name in _TEXT_FIELDS if isinstance(delta.get(name), str)), None)
    return None if field is None else _TextDelta(at, event, delta, (str(event.get("index")), field), field)


def _cut(texts: list[str], spans: Spans) -> list[str]:
    """Move the cuts between texts so that none is inside a span."""
    whole = "".join(texts)
    found_spans = spans(whole)
    cuts = [0]
    end = 0
    for text in texts:
        end += len(text)
        cuts.append(next((to for start, to in found_spans if start < end < to), end))
    return [whole[start:to] for start, to in itertools.pairwise(cuts)]
