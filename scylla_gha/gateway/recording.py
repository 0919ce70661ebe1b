"""Recordings of a provider's responses, looked up by the digest of the request.

A file `<cell>--<role>.jsonl` has one line per response. Each response is used once: a request that was sent three times
has three responses in order, and a fourth is unmatched. Of the headers only the content type is stored, and no key.

Folders that differ between runs have fixed aliases in recordings, and secrets are redacted. Replacement works on text,
including event streams: a folder's spelling inside JSON strings of one and two levels is replaced as well.
"""

import json
from collections import defaultdict, deque
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.model import Record
from scylla_gha.providers.base import ApiStyle
from scylla_gha.redaction import Redactor


class RecordedResponse(Record):
    """One recorded response; its body has aliases for the run's folders."""

    digest: str
    status: int
    content_type: str
    body: str

    @property
    def streamed(self) -> bool:
        """Tell if the response is a stream of events."""
        return is_stream(self.content_type)


def is_stream(content_type: str) -> bool:
    """Tell if a content type is that of server-sent events."""
    return content_type.partition(";")[0].strip() == "text/event-stream"


class Recorder:
    """Writer of one recording. A torn last line, left by a killed process, is removed at the next start."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        content = path.read_bytes()
        self._file.truncate(content.rfind(b"\n") + 1)

    def write(self, response: RecordedResponse) -> None:
        """Append one response."""
        self._file.write(response.model_dump_json().encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Recording:
    """The responses of one recording, each to be used once."""

    def __init__(self, path: Path) -> None:
        """Read the recording.

        Raises:
            ConfigError: it is missing, or a line is not a recorded response.
        """
        self.path = path
        self._responses: defaultdict[str, deque[RecordedResponse]] = defaultdict(deque)
        for response in _read(path):
            self._responses[response.digest].append(response)

    def take(self, digest: str) -> RecordedResponse | None:
        """Return the next response to this request; None if none is left."""
        responses = self._responses.get(digest)
        return responses.popleft() if responses else None

    def missing(self, digest: str) -> str:
        """Explain why `take` returned None."""
        if digest in self._responses:
            return f"{self.path} has fewer answers to this request than were needed"
        return f"no request in {self.path} equals it"


def _read(path: Path) -> list[RecordedResponse]:
    try:
        lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line's end is torn or empty
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such recording; record this cell first") from None
    try:
        return [RecordedResponse.model_validate_json(line) for line in lines]
    except ValidationError as error:
        raise ConfigError(f"{path}: not a recording: {error.errors()[0]['msg']}; record this cell again") from None


class PathAliases:
    """Aliases of one session's folders. The longest folder is replaced first, since folders can be nested."""

    def __init__(self, paths: Mapping[str, str], redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        aliases = {path: name for path, name in paths.items() if path and name}
        self._hidden = sorted(
            ((spelling.encode(), name.encode()) for path, name in aliases.items() for spelling in _spellings(path)),
            key=lambda pair: -len(pair[0]),
        )
        self._shown = sorted(
            ((name.encode(), _quoted(path).encode()) for path, name in aliases.items()),  # for use in JSON strings
            key=lambda pair: -len(pair[0]),
        )

    def hide(self, text: bytes) -> bytes:
        """Replace folders by aliases and redact secrets, so that a replay sends equal requests."""
        text, _ = self._redactor.redact_bytes(text)
        for path, name in self._hidden:
            text = text.replace(path, name)
        return text

    def show(self, text: bytes) -> bytes:
        """Replace aliases by this run's folders: the inverse of `hide` on JSON and event streams."""
        for name, path in self._shown:
            text = text.replace(name, path)
        return text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans (from, to) of folders and secrets in a text, in order."""
        spans = self._redactor.spans(text)
        for path, _ in self._hidden:
            folder, at = path.decode(), 0
            while (at := text.find(folder, at)) >= 0:
                if not any(start <= at < end for start, end in spans):
                    spans.append((at, at + len(folder)))
                at += len(folder)
        return sorted(spans)


def _spellings(path: str) -> list[str]:
    """Return a folder's spellings: plain, and inside JSON strings of one and two levels."""
    once = json.dumps(path, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([path, once, _quoted(path), _quoted(_quoted(path))]))


def _quoted(text: str) -> str:
    return json.dumps(text)[1:-1]


def recordable_text(body: bytes, aliases: PathAliases, style: ApiStyle, *, streamed: bool) -> str:
    """Return a response with aliases for folders and without secrets, even if one is split over events of a stream."""
    joined = style.join_split(body, aliases.spans) if streamed else body
    return aliases.hide(joined).decode(errors="replace")
