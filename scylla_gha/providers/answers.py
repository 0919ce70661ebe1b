"""Code that all API styles share for responses: reading as bytes pass, calls of tools, and texts in pieces.

Bytes are read as they pass; none is held back. Server-sent events may be cut at any byte.
"""

import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from scylla_gha.lenient_json import InvalidJsonError, parse_json, whole_number
from scylla_gha.providers.base import Body, Spans, ToolRequest, objects, parse_object, split_events

_MAX_BYTES: Final = 4 * 1024 * 1024  # of an event or a whole body; a longer one is passed on unread
_MAX_ARGUMENTS: Final = 256 * 1024  # characters of one call; longer ones are not read
_DATA: Final = b"data:"
LAST: Final = "[DONE]"  # type of the event that a line `data: [DONE]` stands for
_LAST_LINES: Final = (b"data: [DONE]", b"data:[DONE]")
INPUT: Final = "input"  # argument of a tool that takes a text
TextDelta = tuple[object, Body, str]  # which text a piece belongs to, the object that holds the piece, and its key


@dataclass(frozen=True, slots=True)
class ArgumentsPlace:
    """Place of a call's arguments in an event: an object, JSON text, a piece of it (`is_piece`), or a bare text."""

    event: int
    call: object
    holder: Body
    key: str
    is_piece: bool = False
    is_text: bool = False


Places = Callable[[Sequence[Body]], Iterator[ArgumentsPlace]]


@dataclass
class CallBlock:
    """A tool call of an answer, with pieces of its arguments (None: they are not read, or too long)."""

    id: str
    tool: str
    arguments: Body
    pieces: list[str] | None
    characters: int = 0

    def add(self, piece: object) -> None:
        """Add a piece of the arguments."""
        if self.pieces is None or not isinstance(piece, str):
            return
        self.pieces.append(piece)
        self.characters += len(piece)
        if self.characters > _MAX_ARGUMENTS:
            self.pieces = None

    def request(self) -> ToolRequest:
        """Return the call with its arguments."""
        text = "".join(self.pieces or ())
        return ToolRequest(self.id, self.tool, (parse_object(text) or {}) if text else self.arguments)


@dataclass
class AnswerReader(ABC):
    """Reader of one response.

    Attributes:
        reads: tells if the arguments of a tool's calls are read.
        usage: the usage that the response states, in the style's own words.
        complete: False if the stream ended before its last event.
        malformed: an event is not a JSON object, or a whole body is neither an answer nor an error.
        keeps_texts: pieces of a streamed answer's text are kept in `texts`.
    """

    streamed: bool
    reads: Callable[[str], bool]
    keeps_texts: bool = False
    texts: list[str] = field(default_factory=list)
    usage: Body = field(default_factory=dict)
    error: str | None = None
    complete: bool = False
    malformed: bool = False
    stop_reason: str | None = None
    has_call: bool = False
    has_gap: bool = False
    _rest: bytearray = field(default_factory=bytearray)
    _overlong: bool = False
    _blocks: dict[object, CallBlock] = field(default_factory=dict)  # by their number or id in the answer
    _event_name: bytes = b""

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes."""
        if self._overlong and not self.streamed:
            return
        self._rest += chunk
        if self.streamed:
            self._lines()
        if len(self._rest) > _MAX_BYTES:
            self._rest.clear()
            self._overlong = self.has_gap = True
            self.malformed |= self.keeps_texts

    def end(self) -> None:
        """Handle the end of the response."""
        if not self.streamed and not self._overlong:
            answer = self._parse_whole(self._rest)
            self._whole(answer)
            self.malformed = not (self.complete or self.error)
        self._rest.clear()

    @property
    def calls(self) -> tuple[ToolRequest, ...]:
        """Calls of tools in the answer; none unless it is complete and without an error."""
        if not self.complete or self.error is not None:
            return ()
        return tuple(block.request() for block in self._blocks.values())

    @property
    def begun_calls(self) -> dict[object, ToolRequest]:
        """Calls of tools that have begun; arguments that did not arrive completely are empty."""
        return {key: block.request() for key, block in self._blocks.items()}

    @abstractmethod
    def _skips(self, line: bytes | bytearray) -> bool:
        """Tell if a line with data can be skipped, since it states nothing that this reader needs."""

    @abstractmethod
    def _event(self, event: Body) -> None:
        """Read an event of a stream; empty if it is malformed."""

    @abstractmethod
    def _texts(self, event: Body) -> Iterable[str]:
        """Return the pieces of the answer's text in an event, without its thinking."""

    @abstractmethod
    def _whole(self, answer: Body) -> None:
        """Read a whole body; empty if it is malformed."""

    def _parse_whole(self, body: bytearray) -> Body:
        return parse_object(body, keep_non_finite=True) or {}

    def _lines(self) -> None:
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        for line in lines:
            if self._overlong:
                self._overlong = False  # the end of a line whose beginning was dropped
            elif not line.startswith(_DATA):
                self._event_name = bytes(line[6:].strip()) if line.startswith(b"event:") else b""
            elif line.startswith(_LAST_LINES):
                self._event({"type": LAST})
            elif self.keeps_texts or not self._skips(line):
                event = parse_object(line[5:], keep_non_finite=True) or {}  # NaN: a count is stated but unknown
                self.malformed |= not event
                self._event(event)
                if self.keeps_texts:
                    self.texts.extend(self._texts(event))

    def _add_call(self, key: object, call: object, tool: object, arguments: Body) -> CallBlock | None:
        """Store a call of a client's tool; return None if it has no id or name. Only needed arguments are kept."""
        self.has_call = True
        if not isinstance(call, str) or not isinstance(tool, str):
            self.has_gap |= key not in self._blocks
            return None
        is_read = self.reads(tool)
        self._blocks[key] = CallBlock(call, tool, arguments if is_read else {}, [] if is_read else None)
        return self._blocks[key]

    def _update(self, usage: object) -> None:
        if isinstance(usage, dict):
            self.usage.update({kind: value for kind, value in usage.items() if value is not None})


def count(value: object) -> int | None:
    """Return a count; 0 if none is stated, None if the stated value is not a count."""
    return 0 if value is None else whole_number(value)


def join_split(body: bytes, spans: Spans, deltas: Callable[[Body], Iterable[TextDelta]]) -> bytes:
    """Return the stream; each piece of text that ends inside a span is extended to the span's end.

    Args:
        body: the stream's bytes.
        spans: finds the spans (from, to) of a text.
        deltas: returns the pieces of text in an event.
    """
    parts = split_events(body)
    pieces: defaultdict[object, list[tuple[int, Body, str]]] = defaultdict(list)
    events: dict[int, Body] = {}
    for at, part in enumerate(parts):
        event = _data(part)
        for text, holder, key in deltas(event):
            events[at] = event
            pieces[text].append((at, holder, key))
    changed: set[int] = set()
    for text_pieces in pieces.values():
        texts = [str(holder[key]) for _, holder, key in text_pieces]
        for (at, holder, key), before, after in zip(text_pieces, texts, _cut(texts, spans), strict=True):
            if before != after:
                holder[key] = after
                changed.add(at)
    for at in changed:
        parts[at] = _with_data(parts[at], events[at])
    return b"".join(parts)


def replace_arguments(body: bytes, arguments: Mapping[object, Body], places: Places, *, streamed: bool) -> bytes:
    """Return an answer, or lines of a stream, with other arguments of some calls; `places` finds them in events."""
    if streamed:
        lines = body.split(b"\n")
        events = {at: event for at, line in enumerate(lines) if (event := _line_object(line))}
        for at in _put_arguments(list(events.values()), arguments, places):
            number = list(events)[at]
            lines[number] = b"data: " + orjson.dumps(events[number]) + b"\r" * lines[number].endswith(b"\r")
        return b"\n".join(lines)
    try:
        content = parse_json(body, keep_non_finite=True)
    except InvalidJsonError:
        return body
    is_changed = _put_arguments(objects(content if isinstance(content, list) else [content]), arguments, places)
    return orjson.dumps(content) if is_changed else body


def _line_object(line: bytes) -> Body | None:
    return parse_object(line[5:]) if line.startswith(_DATA) else None


def _put_arguments(events: Sequence[Body], arguments: Mapping[object, Body], places: Places) -> set[int]:
    """Put arguments into events; return the positions of changed events. The first piece gets the whole text."""
    changed, begun = set[int](), set[object]()
    for place in places(events):
        if place.call not in arguments:
            continue
        value = arguments[place.call]
        is_later = place.is_piece and place.call in begun
        begun |= {place.call} if place.is_piece else set()
        text = str(value.get(INPUT)) if place.is_text else orjson.dumps(value).decode()
        is_object = isinstance(place.holder[place.key], dict)
        place.holder[place.key] = value if is_object else "" if is_later else text
        changed.add(place.event)
    return changed


def _data(part: bytes) -> Body:
    """Return the object in an event; empty if there is none."""
    return parse_object(next((line[5:] for line in part.splitlines() if line.startswith(_DATA)), b"")) or {}


def _with_data(part: bytes, event: Body) -> bytes:
    head = [line + b"\n" for line in part.splitlines() if line and not line.startswith(_DATA)]
    return b"".join(head) + b"data: " + orjson.dumps(event) + b"\n\n"


def _cut(texts: list[str], spans: Spans) -> list[str]:
    """Move the cuts between texts so that none is inside a span."""
    joined = "".join(texts)
    joined_spans = spans(joined)
    cuts = [0]
    end = 0
    for text in texts:
        end += len(text)
        cuts.append(next((to for start, to in joined_spans if start < end < to), end))
    return [joined[start:to] for start, to in itertools.pairwise(cuts)]
