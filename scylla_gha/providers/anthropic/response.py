"""Responses of the Messages API: reader of tokens, end and error; joining of text spans that are split over events."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.lenient_json import inner_object
from scylla_gha.model.traffic import ServerToolUse, Tokens
from scylla_gha.providers import answers
from scylla_gha.providers.answers import AnswerReader, ArgumentsPlace, TextDelta, count
from scylla_gha.providers.base import Body, Spans, objects

_PRICED_USES: Final = frozenset({"web_search_requests", "web_fetch_requests"})  # of the provider's tools
# Events that make up most of a stream and state no usage. They are parsed only while a call is open whose arguments are
# needed.
_DELTAS: Final = (b'data: {"type":"content_block_delta"', b'data: {"type": "content_block_delta"')
_SKIPPED: Final = (*_DELTAS, b"data: [")
_ANSWER_KEYS: Final = frozenset({"content", "usage", "input_tokens"})  # each whole answer has one; a count the last
_TEXT_FIELDS: Final = ("text", "partial_json", "thinking")  # of a delta of a content block


@dataclass
class MessageUsage(AnswerReader):
    """Reader of one response."""

    counted: bool = False
    _open_block: object = None  # index of the open call whose arguments are read

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
        searches = count(served.get("web_search_requests"))
        others = any(count(used) != 0 for name, used in served.items() if name not in _PRICED_USES)
        return ServerToolUse(
            speed=str(self.usage.get("speed") or "standard"),
            tier=str(self.usage.get("service_tier") or "standard"),
            region=str(self.usage.get("inference_geo") or "global"),
            searches=searches or 0,
            unpriced=others or searches is None or not kinds <= {"message", "compaction"},
        )

    def _skips(self, line: bytes | bytearray) -> bool:
        return line.startswith(_SKIPPED) and not (self._open_block is not None and line.startswith(_DELTAS))

    def _texts(self, event: Body) -> Iterator[str]:
        return (str(delta[key]) for _, delta, key in _deltas(event) if key == "text")

    def _event(self, event: Body) -> None:
        match event.get("type"):
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                self._block_event(event)
            case "message_start":
                self._update(inner_object(event, "message").get("usage"))
            case "message_delta":
                # before this event, the count is only that at the start
                self.counted |= inner_object(event, "usage").get("output_tokens") is not None
                self._read_stop_reason(inner_object(event, "delta"))
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
        """Store a call of one of the client's tools."""
        if block.get("type") != "tool_use":
            return
        call = self._add_call(index, block.get("id"), block.get("name"), inner_object(block, "input"))
        self._open_block = index if call and call.pieces is not None else None

    def _whole(self, answer: Body) -> None:
        if answer.get("type") == "error":
            self.error = str(inner_object(answer, "error").get("type"))
        else:
            self._update(answer.get("usage"))
            self._read_stop_reason(answer)
            for index, block in enumerate(objects(answer.get("content"))):
                self._add_block(str(index), block)
            self.complete = not _ANSWER_KEYS.isdisjoint(answer)
            self.counted = "output_tokens" in self.usage

    def _read_stop_reason(self, part: Body) -> None:
        reason = part.get("stop_reason")
        self.stop_reason = reason if isinstance(reason, str) else self.stop_reason


def _tokens(usage: Body) -> Tokens | None:
    """Return the tokens by kind; None if one of the stated values is not a count."""
    hour = count(inner_object(usage, "cache_creation").get("ephemeral_1h_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    sent, answered, read = (count(usage.get(f"{kind}_tokens")) for kind in ("input", "output", "cache_read_input"))
    if sent is None or answered is None or read is None or hour is None or written is None:
        return None
    return Tokens(
        input=sent, output=answered, cache_read=read, cache_write_5m=max(0, written - hour), cache_write_1h=hour
    )


def replace_arguments(body: bytes, arguments: Mapping[object, Body], *, streamed: bool) -> bytes:
    """Return the answer with other arguments of some calls."""
    return answers.replace_arguments(body, arguments, _argument_places, streamed=streamed)


def _argument_places(events: Sequence[Body]) -> Iterator[ArgumentsPlace]:
    for at, event in enumerate(events):
        index, delta = str(event.get("index")), inner_object(event, "delta")
        if isinstance(delta.get("partial_json"), str):
            yield ArgumentsPlace(at, index, delta, "partial_json", is_piece=True)
        blocks = {index: inner_object(event, "content_block")}
        blocks |= {str(number): block for number, block in enumerate(objects(event.get("content")))}
        for key, block in blocks.items():
            if block.get("type") == "tool_use" and block.get("input"):
                yield ArgumentsPlace(at, key, block, "input")


def join_split(body: bytes, spans: Spans) -> bytes:
    """Return the stream; each piece of text that ends inside a span is extended to the span's end."""
    return answers.join_split(body, spans, _deltas)


def _deltas(event: Body) -> Iterator[TextDelta]:
    delta = event.get("delta")
    if isinstance(delta, dict) and event.get("type") == "content_block_delta":
        key = next((name for name in _TEXT_FIELDS if isinstance(delta.get(name), str)), None)
        if key is not None:
            yield (str(event.get("index")), key), delta, key
