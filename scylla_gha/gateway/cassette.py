"""Recordings: what a provider answered, found again by what it was asked.

A cassette `<cell>--<role>.jsonl` has one line per answer. Each recorded answer is given once, so a question that was
asked three times has three answers, in their order, and a fourth is unmatched. No header but the content type is kept,
and no key.
"""

from collections import defaultdict, deque
from pathlib import Path
from typing import Final

import orjson
from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.gateway.paths import Names
from scylla_gha.model.record import Record
from scylla_gha.redaction.pieces import piece_of, recut

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

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        content = path.read_bytes()
        self._file.truncate(content.rfind(b"\n") + 1)

    def keep(self, take: Take) -> None:
        """Append one answer."""
        self._file.write(take.model_dump_json().encode() + b"\n")

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
    """An answer with names for folders and without secrets, also where one is split over several events of a stream."""
    whole = _without_split(body, names) if streamed else body
    return names.hide(whole).decode(errors="replace")


def events(body: bytes) -> list[bytes]:
    """The events of a stream, each with its end."""
    *whole, rest = body.split(_EVENT_END)
    return [event + _EVENT_END for event in whole] + ([rest] if rest else [])


def _without_split(body: bytes, names: Names) -> bytes:
    """The stream, with pieces that end inside a folder's name or a secret prolonged to its end."""
    parts = events(body)
    found = [piece_of(at, _data(part)) for at, part in enumerate(parts)]
    for piece in recut((piece for piece in found if piece), names.spans):
        parts[piece.at] = b"event: content_block_delta\ndata: " + orjson.dumps(piece.event) + _EVENT_END
    return b"".join(parts)


def _data(part: bytes) -> bytes:
    return next((line[5:] for line in part.splitlines() if line.startswith(b"data:")), b"")
