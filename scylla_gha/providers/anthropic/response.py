"""Responses of the Messages API: reads tokens, end and error as bytes pass, and joins text spans split over events.

Bytes are read as they pass; none is held back. Server-sent events may be cut at any byte.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import orjson

from scylla_gha.lenient_json import inner_object, whole_number
from scylla_gha.model.traffic import ServerToolUse, Tokens
from scylla_gha.providers.base import Body, Spans, ToolRequest, objects, parse_object, split_events

_MAX_BYTES: Final = 4 * 1024 * 1024  # of an event or a whole body; a longer one is passed on unread
_PRICED_USES: Final = frozenset({"web_search_requests", "web_fetch_requests"})  # of the provider's tools
# Events that make up most of a stream and state no usage. They are parsed only while a call is open whose arguments are
# asked for.
_DELTAS: Final = (b'data: {"type":"content_block_delta"', b'data: {"type": "content_block_delta"')
_SKIPPED: Final = (*_DELTAS, b"data: [")
_MAX_ARGUMENTS: Final = 256 * 1024  # characters of one call; longer ones are not read
_TEXT_FIELDS: Final = ("text", "partial_json", "thinking")  # of a delta of a content block


@dataclass
class _CallBlock:
    """A tool call of an answer, with the pieces of its arguments; None: they are not read, or too long."""

    id: str
    tool: str
    arguments: Body
    pieces: list[str] | None
    characters: int = 0

    def add(self, piece: object) -> None:
        if self.pieces is None or not isinstance(piece, str):
            return
        self.pieces.append(piece)
        self.characters += len(piece)
        if self.characters > _MAX_ARGUMENTS:
            self.pieces = None

    def request(self) -> ToolRequest:
        text = "".join(self.pieces or ())
        return ToolRequest(self.id, self.tool, (parse_object(text) or {}) if text else self.arguments)


@dataclass
class MessageUsage:
    """Reader of one response.

    Attributes:
        reads: tells if the arguments of a tool's calls are read.
        complete: False if the stream ended before its last event.
        malformed: an event, or a whole body, is not a JSON object.
    """

    streamed: bool
    reads: Callable[[str], bool]
    usage: Body = field(default_factory=dict)
    error: str | None = None
    complete: bool = False
    counted: bool = False
    malformed: bool = False
    stop_reason: str | None = None
    _rest: bytearray = field(default_factory=bytearray)
    _overlong: bool = False
    _blocks: dict[object, _CallBlock] = field(default_factory=dict)  # by their index in the answer
    _open_block: object = None  # index of the open call whose arguments are read

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes."""
        if self._overlong and not self.streamed:
            return
        self._rest += chunk
        if self.streamed:
            self._lines()
        if len(self._rest) > _MAX_BYTES:
            self._rest.clear()
            self._overlong = True

    def end(self) -> None:
        """Note that the response has ended."""
        if not self.streamed and not self._overlong:
            answer = parse_object(self._rest, keep_non_finite=True) or {}
            self.malformed = not answer
            self._whole(answer)
        self._rest.clear()

    @property
    def calls(self) -> tuple[ToolRequest, ...]:
        """Calls of tools in the answer; none unless it is whole and without an error."""
        if not self.complete or self.error is not None:
            return ()
        return tuple(block.request() for block in self._blocks.values())

    @property
    def tokens(self) -> Tokens | None:
        """Tokens by kind; None if the response did not end, or does not state its usage."""
        if not (self.complete and self.counted and "input_tokens" in self.usage):
            return None
        iterations = objects(self.usage.get("iterations"))
        compactions = (part for part in iterations if part.get("type") == "compaction")  # they are not in the sums
        total: Tokens | None = Tokens()
        for tokens in map(_tokens, (self.usage, *compactions)):
            total = total.plus(tokens) if total and tokens else None
        return total

    @property
    def use(self) -> ServerToolUse:
        """Use of server tools and service tiers: costs in addition to tokens, and factors of the token price."""
        served = inner_object(self.usage, "server_tool_use")
        kinds = {str(iteration.get("type")) for iteration in objects(self.usage.get("iterations"))}
        searches = _count(served.get("web_search_requests"))
        others = any(_count(count) != 0 for name, count in served.items() if name not in _PRICED_USES)
        return ServerToolUse(
            speed=str(self.usage.get("speed") or "standard"),
            tier=str(self.usage.get("service_tier") or "standard"),
            region=str(self.usage.get("inference_geo") or "global"),
            searches=searches or 0,
            unpriced=others or searches is None or not kinds <= {"message", "compaction"},
        )

    def _lines(self) -> None:
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        for line in lines:
            if self._overlong:
                self._overlong = False  # the end of a line whose beginning was dropped
            elif line.startswith(b"data:") and not self._skips(line):
                event = parse_object(line[5:], keep_non_finite=True) or {}  # NaN: a count is stated but unknown
                self.malformed |= not event
                self._event(event)

    def _skips(self, line: bytes | bytearray) -> bool:
        return line.startswith(_SKIPPED) and not (self._open_block is not None and line.startswith(_DELTAS))

    def _event(self, event: Body) -> None:
        match event.get("type"):
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                self._block_event(event)
            case "message_start":
                self._update(inner_object(event, "message").get("usage"))
            case "message_delta":
                # before this event, the count is only that at the start
                self.counted |= inner_object(event, "usage").get("output_tokens") is not None
                self._stopped(inner_object(event, "delta"))
                self._update(event.get("usage"))
            case "message_stop":
                self.complete = True
            case "error":
                self.error = str(inner_object(event, "error").get("type"))
            case _:
                pass

    def _block_event(self, event: Body) -> None:
        index = str(event.get("index"))
        if event["type"] == "content_block_start":
            self._add_block(index, inner_object(event, "content_block"))
        elif event["type"] == "content_block_stop":
            self._open_block = None
        elif block := self._blocks.get(index):
            block.add(inner_object(event, "delta").get("partial_json"))

    def _add_block(self, index: str, block: Body) -> None:
        """Note a tool call of the client's tools."""
        call, tool = block.get("id"), block.get("name")
        if block.get("type") != "tool_use" or not isinstance(call, str) or not isinstance(tool, str):
            return
        is_read = self.reads(tool)
        arguments = inner_object(block, "input") if is_read else {}
        self._blocks[index] = _CallBlock(call, tool, arguments, [] if is_read else None)
        self._open_block = index if is_read else None

    def _whole(self, answer: Body) -> None:
        if answer.get("type") == "error":
            self.error = str(inner_object(answer, "error").get("type"))
        else:
            self._update(answer.get("usage"))
            self._stopped(answer)
            for index, block in enumerate(objects(answer.get("content"))):
                self._add_block(str(index), block)
            self.complete = bool(answer)
            self.counted = "output_tokens" in self.usage

    def _stopped(self, part: Body) -> None:
        reason = part.get("stop_reason")
        self.stop_reason = reason if isinstance(reason, str) else self.stop_reason

    def _update(self, usage: object) -> None:
        if isinstance(usage, dict):
            self.usage.update({kind: value for kind, value in usage.items() if value is not None})


def _tokens(usage: Body) -> Tokens | None:
    """Return the tokens by kind; None if one of the stated values is not a count."""
    hour = _count(inner_object(usage, "cache_creation").get("ephemeral_1h_input_tokens"))
    written = _count(usage.get("cache_creation_input_tokens"))
    sent, answered, read = (_count(usage.get(f"{kind}_tokens")) for kind in ("input", "output", "cache_read_input"))
    if sent is None or answered is None or read is None or hour is None or written is None:
        return None
    return Tokens(
        input=sent, output=answered, cache_read=read, cache_write_5m=max(0, written - hour), cache_write_1h=hour
    )


def _count(value: object) -> int | None:
    """Return a count; 0 if none is stated, None if the stated value is not a count."""
    return 0 if value is None else whole_number(value)


@dataclass(frozen=True, slots=True)
class _TextDelta:
    """A piece of text in a stream: its event, the event's index, and the field with the text."""

    at: int
    event: Body
    field: str

    @property
    def text(self) -> str:
        return str(self.event["delta"][self.field])


def join_split(body: bytes, spans: Spans) -> bytes:
    """Return the stream; each piece of text that ends inside a span is extended to the span's end."""
    parts = split_events(body)
    blocks: defaultdict[tuple[str, str], list[_TextDelta]] = defaultdict(list)
    for at, part in enumerate(parts):
        if delta := _text_delta(at, part):
            blocks[str(delta.event.get("index")), delta.field].append(delta)
    for block in blocks.values():
        for delta, text in zip(block, _cut([delta.text for delta in block], spans), strict=True):
            if text != delta.text:
                delta.event["delta"][delta.field] = text
                parts[delta.at] = b"event: content_block_delta\ndata: " + orjson.dumps(delta.event) + b"\n\n"
    return b"".join(parts)


def _text_delta(at: int, part: bytes) -> _TextDelta | None:
    """Parse the piece of text in an event; None if the event has none."""
    event = parse_object(next((line[5:] for line in part.splitlines() if line.startswith(b"data:")), b"")) or {}
    delta = event.get("delta")
    if not isinstance(delta, dict) or event.get("type") != "content_block_delta":
        return None
    field = next((name for name in _TEXT_FIELDS if isinstance(delta.get(name), str)), None)
    return None if field is None else _TextDelta(at, event, field)


def _cut(texts: list[str], spans: Spans) -> list[str]:
    """Move the cuts between texts so that none is inside a span."""
    whole = "".join(texts)
    whole_spans = spans(whole)
    cuts = [0]
    end = 0
    for text in texts:
        end += len(text)
        cuts.append(next((to for start, to in whole_spans if start < end < to), end))
    return [whole[start:to] for start, to in itertools.pairwise(cuts)]
