"""Request log of a cell: one JSON line per request, limited in size, with counts."""

import contextlib
import datetime
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Final

from scylla_gha.hub.client_tokens import NO_TOKEN, counted_client
from scylla_gha.model.github_requests import GitHubRequest, GitHubTraffic, Interface

_MOST_BYTES: Final = 16 * 1024 * 1024
_LONGEST: Final = 300
_CLIENTS: Final = (("GitHub CLI ", "gh/"), ("git/", "git/"))
_COUNTS: Final = tuple(name for name in GitHubTraffic.model_fields if name not in {"calls", "clients"})
_MOST_FAILED: Final = 1000
_MOST_CLIENTS: Final = 50
_OTHERS: Final = "others"
_FOREIGN: Final = "token of another cell"


@dataclass
class RequestEntry:
    """Request that is being answered; a status that nobody sets means that the hub failed."""

    client: str
    token: str = NO_TOKEN
    interface: Interface = "rest"
    operation: str = ""
    identity: str | None = None
    status: int = HTTPStatus.INTERNAL_SERVER_ERROR
    gaps: tuple[str, ...] = ()
    refused: str | None = None
    fault: str | None = None
    calls: Mapping[str, int] = field(default_factory=dict)
    target: str = ""
    failed: bool = False
    arrived: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    _started: float = field(default_factory=time.perf_counter)

    def refuse(self, reason: str) -> None:
        """Note why the request is refused."""
        self.refused = reason

    def refuse_foreign(self) -> None:
        """Note that the request has a token of another cell."""
        self.refused = _FOREIGN

    def record(self) -> GitHubRequest:
        """Return the entry as it is stored."""
        elapsed = round((time.perf_counter() - self._started) * 1000, 3)
        operation, refused = (None if text is None else text.encode(errors="replace").decode()
                              for text in (self.operation, self.refused))  # fmt: skip
        return GitHubRequest(
            time=self.arrived.isoformat(timespec="milliseconds"),
            interface=self.interface,
            operation=(operation or "")[:_LONGEST],
            identity=self.identity,
            status=int(self.status),
            milliseconds=elapsed,
            client=self.client,
            token=self.token,
            gaps=tuple(gap[:_LONGEST] for gap in self.gaps[:20]),
            refused=refused,
            fault=self.fault,
            calls=dict(self.calls),
            target=self.target[:_LONGEST],
            failed=self.failed,
        )


class RequestLog:
    """Log file of a cell. Entries beyond the size limit are only counted."""

    def __init__(self, path: Path | None, most_bytes: int = _MOST_BYTES) -> None:
        """Open the file; None keeps the counts alone."""
        self._file: BinaryIO | None = None if path is None else path.open("ab")
        self._mark = None if path is None else answering_mark(path)
        self._left = most_bytes
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._calls: Counter[str] = Counter()
        self._clients: Counter[str] = Counter()
        self._failed: dict[tuple[str, str], None] = {}  # operations and targets of which the last request failed

    def add(self, entry: RequestEntry) -> None:
        """Write an entry and count it."""
        self._count("requests")
        self._count("gaps", bool(entry.gaps))
        self._count("foreign", entry.refused == _FOREIGN)
        self._count("errors", entry.status == HTTPStatus.INTERNAL_SERVER_ERROR)
        self._count_calls(entry)
        asks_api = entry.interface in ("rest", "graphql")
        self._count_client(counted_client(entry.client.partition("/")[0], entry.token, asks_api=asks_api))
        if self._file is None:
            return
        line = entry.record().model_dump_json().encode() + b"\n"
        if self._file.closed or len(line) > self._left:
            self._count("unlogged")
            return
        self._left -= len(line)
        self._file.write(line)
        self._file.flush()

    def _count_calls(self, entry: RequestEntry) -> None:
        """Count the API operations of a request, those that failed, and those that had failed before."""
        self._calls.update(entry.calls)
        amount = sum(entry.calls.values())
        key = (entry.operation, entry.target)
        self._counts["repeated"] += amount if key in self._failed else 0
        self._counts["failed"] += amount if entry.failed else 0
        self._failed.pop(key, None)
        if entry.failed and len(self._failed) < _MOST_FAILED:
            self._failed[key] = None

    def _count_client(self, name: str) -> None:
        self._clients[name if name in self._clients or len(self._clients) < _MOST_CLIENTS else _OTHERS] += 1

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Mark that a request is being answered; a process that dies meanwhile leaves the mark."""
        if self._mark is None:
            yield
            return
        self._mark.touch()
        try:
            yield
        finally:
            self._mark.unlink(missing_ok=True)

    def _count(self, name: str, happened: bool = True) -> None:
        self._counts[name] += happened

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    @property
    def traffic(self) -> GitHubTraffic:
        """The counts so far."""
        calls, clients = (dict(sorted(counts.items())) for counts in (self._calls, self._clients))
        return GitHubTraffic(**self._counts, calls=calls, clients=clients)


def answering_mark(log: Path) -> Path:
    """Return the file that exists while a request of a log's cell is being answered."""
    return log.with_suffix(".answering")


def client_name(agent: str) -> str:
    """Return the client's name and version from its User-Agent, such as `gh/2.102.0`; "unknown" without one."""
    for prefix, name in _CLIENTS:
        if agent.startswith(prefix):
            return name + re.sub(r"[^\w.+-].*", "", agent.removeprefix(prefix))[:40]
    return re.sub(r"[^\x21-\x7e]", "", agent.partition(" ")[0])[:60] or "unknown"
