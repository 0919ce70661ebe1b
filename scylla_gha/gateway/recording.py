"""Recordings of a provider's responses, looked up by the digest of the request.

A file `<cell>--<role>.jsonl` has one line per response. Each response is used once: a request that was sent three times
has three responses in order, and a fourth is unmatched. Only the content type is kept of the headers, and no key.
"""

from collections import defaultdict, deque
from pathlib import Path

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.gateway.path_aliases import PathAliases
from scylla_gha.model.record import Record
from scylla_gha.providers.base import Provider


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

    def keep(self, take: RecordedResponse) -> None:
        """Append one response."""
        self._file.write(take.model_dump_json().encode() + b"\n")

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
        self._takes: defaultdict[str, deque[RecordedResponse]] = defaultdict(deque)
        for take in _read(path):
            self._takes[take.digest].append(take)

    def take(self, digest: str) -> RecordedResponse | None:
        """Return the next response to this request; None if there is none left."""
        answers = self._takes.get(digest)
        return answers.popleft() if answers else None

    def missing(self, digest: str) -> str:
        """Explain why `take` returned None."""
        if digest in self._takes:
            return f"{self.path} holds fewer answers to it than were asked for"
        return f"no question in {self.path} is equal to it"


def _read(path: Path) -> list[RecordedResponse]:
    try:
        lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line's end is torn or empty
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such recording; record this cell first") from None
    try:
        return [RecordedResponse.model_validate_json(line) for line in lines]
    except ValidationError as error:
        raise ConfigError(f"{path}: not a recording: {error.errors()[0]['msg']}; record this cell again") from None


def neutral_text(body: bytes, aliases: PathAliases, provider: Provider, *, streamed: bool) -> str:
    """Return a response with aliases for folders and without secrets, even if one is split over events of a stream."""
    whole = provider.join_split(body, aliases.spans) if streamed else body
    return aliases.hide(whole).decode(errors="replace")
