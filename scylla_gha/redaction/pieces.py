"""Text that a model's stream brings in pieces, one an event: what is split over events is put whole into the first.

Whoever joins the pieces gets the same text; and what is searched for, a secret or a folder's name, stands in one.
"""

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from scylla_gha.redaction.skim import SIGN, Spans, may_be_split

_TEXTS: Final = ("text", "partial_json", "thinking")  # what an event may add to its content block
_TYPE: Final = SIGN.strip(b'"').decode()
_END: Final = b'"message_stop"'
_OPEN_BYTES: Final = 16 << 20  # of a message whose end is awaited before its events are looked at together
_HELD_BYTES: Final = 8 << 20  # lines that wait for the end of their message
_LINE_BYTES: Final = 16 << 20  # a longer line is no event
_OVERLAP: Final = 64 * 1024  # characters before a cut that are looked at again together with what follows


@dataclass(slots=True)
class Piece:
    """One event's piece of a text. `at`: which part of the stream it is; `block`: which text it belongs to."""

    at: int
    event: dict[str, Any]
    delta: dict[str, Any]
    block: Hashable
    field: str

    @property
    def text(self) -> str:
        """The piece itself."""
        return str(self.delta[self.field])


def piece_of(at: int, data: bytes) -> Piece | None:
    """The piece in an event of the provider, or in one of an agent's that carries it; None where there is none."""
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    inner = event.get("event", event) if isinstance(event, dict) else None
    delta = inner.get("delta") if isinstance(inner, dict) else None
    if not isinstance(delta, dict) or inner is None or inner.get("type") != _TYPE:
        return None
    field = next((name for name in _TEXTS if isinstance(delta.get(name), str)), None)
    block = (str(inner.get("index")), str(event.get("parent_tool_use_id")), field)
    return None if field is None else Piece(at, event, delta, block, field)


def recut(pieces: Iterable[Piece], spans: Spans) -> Iterator[Piece]:
    """Prolong pieces that end inside a span to its end; gives those that changed."""
    blocks: defaultdict[Hashable, list[Piece]] = defaultdict(list)
    for piece in pieces:
        blocks[piece.block].append(piece)
    for block in blocks.values():
        for piece, text in zip(block, _cut([each.text for each in block], spans), strict=True):
            if text != piece.text:
                piece.delta[piece.field] = text
                yield piece


def _cut(texts: list[str], spans: Spans) -> list[str]:
    whole = "".join(texts)
    found = spans(whole)
    cuts = [0]
    end = 0
    for text in texts:
        end += len(text)
        cuts.append(next((to for start, to in found if start < end < to), end))
    return [whole[start:to] for start, to in itertools.pairwise(cuts)]


def rejoined(chunks: Iterable[bytes], spans: Spans) -> Iterator[bytes]:
    """A transcript of JSON lines in chunks, with what is split over events whole; all other bytes as they are."""
    messages = _Messages(spans)
    for lines in _whole_lines(chunks):
        yield from messages.take(lines)
    yield from messages.end()


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, cut after lines, unless one is too long; the last may have no end."""
    begun: list[bytes] = []
    size = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, chunk[:end]])
            begun, size = [], 0
        begun.append(chunk[end:])
        size += len(chunk) - end
        if size > _LINE_BYTES:
            yield from begun
            begun, size = [], 0
    yield b"".join(begun)


class _Messages:
    """The lines since the end of the last message, where a piece is among them; they wait for the end of theirs.

    A message's lines are skimmed first, and gone through one by one only where something may be split over them.
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._open: list[bytes] = []
        self._waiting = _Waiting(spans)

    def take(self, lines: bytes) -> Iterator[bytes]:
        """Take lines in; gives what need not wait."""
        if self._waiting.lines:
            yield from self._one_by_one(lines)
        elif not self._open and SIGN not in lines:
            yield lines
        elif end := _end_of_messages(lines):
            yield from self._given([*self._open, lines[:end]])
            self._open = []
            yield from self.take(lines[end:])
        else:
            self._open.append(lines)
            if sum(map(len, self._open)) > _OPEN_BYTES:
                yield from self._one_by_one(b"".join(self._open))
                self._open = []

    def end(self) -> Iterator[bytes]:
        """Give what is left."""
        yield from self._given(self._open)
        yield from self._waiting.give()

    def _given(self, blocks: list[bytes]) -> Iterator[bytes]:
        lines = b"".join(blocks)
        if may_be_split(lines, self._spans):
            yield from self._one_by_one(lines)
        else:
            yield lines

    def _one_by_one(self, lines: bytes) -> Iterator[bytes]:
        yield b"".join(given for line in lines.splitlines(keepends=True) for given in self._waiting.take(line))


def _end_of_messages(lines: bytes) -> int:
    """Where the last line that ends a message ends itself; 0 where there is none."""
    at = len(lines)
    while (at := lines.rfind(_END, 0, at)) >= 0:
        start, end = lines.rfind(b"\n", 0, at) + 1, lines.find(b"\n", at) + 1
        if SIGN not in lines[start:at] and lines.find(SIGN, at, end or len(lines)) < 0:
            return end or len(lines)
        at = start
    return 0


class _Waiting:
    """The lines since a piece whose message has not ended."""

    def __init__(self, spans: Spans) -> None:
        self.lines: list[bytes] = []
        self._pieces: list[Piece] = []
        self._bytes = 0
        self._spans = spans

    def take(self, line: bytes) -> Iterator[bytes]:
        """Take a line in; gives what need not wait."""
        piece = piece_of(len(self.lines), line) if SIGN in line else None
        if piece is None and not self.lines:
            yield line
            return
        self.lines.append(line)
        self._bytes += len(line)
        if piece is not None:
            self._pieces.append(piece)
        elif _END in line:
            yield from self.give()
        if self._bytes > _HELD_BYTES:
            yield from self.give(overlap=_OVERLAP)

    def give(self, overlap: int = 0) -> Iterator[bytes]:
        """Give all lines, but for the last ones of up to `overlap` characters of each text."""
        for piece in recut(self._pieces, self._spans):
            self.lines[piece.at] = orjson.dumps(piece.event) + b"\n"
        first = min(self._tails(overlap), default=len(self.lines))
        yield from self.lines[:first]
        self.lines = self.lines[first:]
        self._bytes = sum(map(len, self.lines))
        kept = [piece for piece in self._pieces if piece.at >= first]
        for piece in kept:
            piece.at -= first
        self._pieces = kept

    def _tails(self, overlap: int) -> Iterator[int]:
        """For each text the earliest line of its last `overlap` characters, if those do not fill the half of all."""
        left: defaultdict[Hashable, int] = defaultdict(lambda: overlap)
        seen = 0
        for piece in reversed(self._pieces):
            seen += len(self.lines[piece.at])
            if left[piece.block] > 0 and seen < _HELD_BYTES // 2:
                left[piece.block] -= len(piece.text)
                yield piece.at
