"""Recordings: what a provider answered, found again by what it was asked.

A cassette `<cell>--<role>.jsonl` has one line per answer. Each recorded answer is given once, so a question that was
asked three times has three answers, in their order, and a fourth is unmatched. No header but the content type is kept,
and no key.
"""

import itertools
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.gateway.paths import Names
from scylla_gha.model.record import Record

_TEXTS: Final = ("text", "partial_json", "thinking")  # what an event may add to its content block
_EVENT_END: Final = b"\n\n"


class Take(Record):
    """One recorded answer; its body has names in place of the run's folders."""

    digest: str
    status: int
    content_type: str
    body: str

    @property
    def streamed(self) -> bool:
        """Whether the answer is a stream of events."""
        return is_stream(self.content_type)


def is_stream(content_type: str) -> bool:
    """Whether an answer of this type is a stream of server-sent events."""
    return content_type.partition(";")[0].strip() == "text/event-stream"


class Recorder:
    """Appends to one cassette. A killed process leaves at worst a torn last line, which goes at the next start."""

    def __init__(self, path: Path, secrets: tuple[str, ...]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        content = path.read_bytes()
        self._file.truncate(content.rfind(b"\n") + 1)
        self._secrets = secrets

    def keep(self, take: Take) -> None:
        """Append one answer."""
        line = take.model_dump_json()
        for secret in self._secrets:  # an error message may have quoted it
            line = line.replace(secret, "[key]")
        self._file.write(line.encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Tape:
    """The answers of one cassette, each to be given once."""

    def __init__(self, path: Path) -> None:
        """Read the cassette.

        Raises:
            ConfigError: there is none, or a line of it is no recorded answer.
        """
        self.path = path
        self._takes: defaultdict[str, deque[Take]] = defaultdict(deque)
        for take in _read(path):
            self._takes[take.digest].append(take)

    def take(self, digest: str) -> Take | None:
        """The next answer to this question; None where there is none (any more)."""
        answers = self._takes.get(digest)
        return answers.popleft() if answers else None

    def missing(self, digest: str) -> str:
        """Why `take` gave nothing."""
        if digest in self._takes:
            return f"{self.path} holds fewer answers to it than were asked for"
        return f"no question in {self.path} is equal to it"


def _read(path: Path) -> list[Take]:
    try:
        lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line's end is torn or empty
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such recording; record this cell first") from None
    try:
        return [Take.model_validate_json(line) for line in lines]
    except ValidationError as error:
        raise ConfigError(f"{path}: not a recording: {error.errors()[0]['msg']}; record this cell again") from None


def neutral(body: bytes, names: Names, *, streamed: bool) -> str:
    """An answer with names in place of folders, also where a folder is split over several events of a stream."""
    whole = _without_split_folders(body, names) if streamed else body
    return names.hide(whole).decode(errors="replace")


def events(body: bytes) -> list[bytes]:
    """The events of a stream, each with its end."""
    *whole, rest = body.split(_EVENT_END)
    return [event + _EVENT_END for event in whole] + ([rest] if rest else [])


@dataclass
class _Delta:
    """One event's piece of a content block."""

    at: int
    event: dict[str, Any]
    field: str

    @property
    def text(self) -> str:
        return str(self.event["delta"][self.field])


def _without_split_folders(body: bytes, names: Names) -> bytes:
    """The stream, with pieces that end inside a folder's name prolonged to its end; all other bytes as they were."""
    parts = events(body)
    blocks: defaultdict[tuple[Any, str], list[_Delta]] = defaultdict(list)
    for at, part in enumerate(parts):
        delta = _delta(at, part)
        if delta is not None:
            blocks[delta.event.get("index"), delta.field].append(delta)
    for deltas in blocks.values():
        for delta, text in zip(deltas, _recut([each.text for each in deltas], names), strict=True):
            if text != delta.text:
                delta.event["delta"][delta.field] = text
                parts[delta.at] = b"event: content_block_delta\ndata: " + orjson.dumps(delta.event) + _EVENT_END
    return b"".join(parts)


def _recut(texts: list[str], names: Names) -> list[str]:
    whole = "".join(texts)
    spans = names.spans(whole)
    cuts = [0]
    end = 0
    for text in texts:
        end += len(text)
        cuts.append(next((to for start, to in spans if start < end < to), end))
    return [whole[start:to] for start, to in itertools.pairwise(cuts)]


def _delta(at: int, part: bytes) -> _Delta | None:
    data = next((line[5:] for line in part.splitlines() if line.startswith(b"data:")), b"")
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    delta = event.get("delta") if isinstance(event, dict) else None
    if not isinstance(delta, dict) or event.get("type") != "content_block_delta":
        return None
    field = next((name for name in _TEXTS if isinstance(delta.get(name), str)), None)
    return None if field is None else _Delta(at, event, field)
