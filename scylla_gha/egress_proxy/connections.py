"""Connections of one session, which are allowed or refused, counted, limited, and logged in `network.jsonl`.

A line is written before the action that it records. So after the end of a killed gateway, at worst a connection has no
logged end.
"""

import asyncio
import datetime
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from scylla_gha.egress_proxy import EgressPolicy, EgressTarget
from scylla_gha.model.sandbox import UNREAD, EgressClosed, EgressOpened, HostContact
from scylla_gha.store.records import open_journal, read_journal

NETWORK_LOG: Final = "network.jsonl"  # in an attempt's folder
_MAX_HOSTS: Final = 50  # that are counted by name
_OTHERS: Final = "(others)"
_LINE: Final[TypeAdapter[EgressOpened | EgressClosed]] = TypeAdapter(
    Annotated[EgressOpened | EgressClosed, Field(discriminator="kind")]
)
Method = Literal["connect", "http"]
Refusal = Literal["host", "unreadable", "too_many"]
Error = Literal["private_address", "unreachable", "idle", "too_much", "cut", "ended_with_trial"]


class ConnectionLimitError(Exception):
    """The session has transferred as many bytes as it may."""


class Connections:
    """Connections of a session; `tasks` are the tasks of its open connections."""

    def __init__(self, policy: EgressPolicy, path: Path) -> None:
        """Continue the log at `path`, which is created at the first attempt; an incomplete last line is removed.

        Raises:
            ConfigError: the file is not a log of connections.
        """
        self.policy = policy
        self.tasks: set[asyncio.Task[object]] = set()
        self._path = path
        if path.exists():
            open_journal(path).close()
        self._number = max((record.number for record in read_egress_log(path)), default=0)
        self._bytes = 0

    def open(self, method: Method, target: EgressTarget | None) -> "Connection | Refusal":
        """Log an attempt to connect, and decide on it; `target` is None if it could not be parsed."""
        refusal = self._refusal(target)
        if self._number >= self.policy.limits.attempts:
            return "too_many"
        self._number += 1
        host, port = (target.host, target.port) if target else (UNREAD, 0)
        now = datetime.datetime.now(datetime.UTC)
        self.log(EgressOpened(number=self._number, at=now, how=method, host=host, port=port, refused=refusal))
        if refusal is not None or target is None:
            return refusal or "unreadable"
        return Connection(self, self._number, target)

    def log(self, record: EgressOpened | EgressClosed) -> None:
        """Append a line to the log; a crash of this process afterwards does not lose it."""
        with self._path.open("ab", buffering=0) as file:
            file.write(record.model_dump_json().encode() + b"\n")

    def count_bytes(self, size: int) -> None:
        """Count bytes before they are passed on.

        Raises:
            ConnectionLimitError: the bytes exceed the session's limit.
        """
        self._bytes += size
        if self._bytes > self.policy.limits.total_bytes:
            raise ConnectionLimitError

    async def close(self) -> None:
        """End all open connections, and complete the log."""
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _refusal(self, target: EgressTarget | None) -> Refusal | None:
        if target is None:
            return "unreadable"
        if not self.policy.allows(target.host, target.port):
            return "host"
        return "too_many" if len(self.tasks) >= self.policy.limits.connections else None


@dataclass
class Connection:
    """One allowed connection or request."""

    connections: Connections
    number: int
    target: EgressTarget
    error: Error | None = None
    timeout: asyncio.Timeout | None = None
    _up: int = 0
    _down: int = 0
    _is_closed: bool = False
    _start: float = field(default_factory=time.monotonic)

    def count_bytes(self, up: int = 0, down: int = 0) -> None:
        """Count bytes before they are passed on, and restart the idle timeout.

        Raises:
            ConnectionLimitError: they exceed the session's limit.
        """
        try:
            self.connections.count_bytes(up + down)
        except ConnectionLimitError:
            self.error = "too_much"  # set here, since the reader of a body may raise another error instead
            raise
        self._up += up
        self._down += down
        if self.timeout is not None and not self.timeout.expired():
            self.timeout.reschedule(asyncio.get_running_loop().time() + self.connections.policy.limits.idle_seconds)

    def idle_timeout(self) -> asyncio.Timeout:
        """Return a timeout that expires if no byte is passed for `idle_seconds`."""
        self.timeout = asyncio.timeout(self.connections.policy.limits.idle_seconds)
        return self.timeout

    def close(self) -> None:
        """Log the end of the connection, at most once."""
        if not self._is_closed:
            self._is_closed = True
            seconds = round(time.monotonic() - self._start, 6)
            self.connections.log(
                EgressClosed(
                    number=self.number, up_bytes=self._up, down_bytes=self._down, seconds=seconds, error=self.error
                )
            )


def read_egress_log(path: Path) -> list[EgressOpened | EgressClosed]:
    """Read all records in order of time; return an empty list if there is no file.

    Raises:
        ConfigError: a line other than an incomplete last line is not a record of a connection.
    """
    return read_journal(path, _LINE, "the network")


def egress_summary(path: Path) -> HostContact:
    """Summarise a log; return zeros if there is no file.

    Raises:
        ConfigError: the file is not a log of connections.
    """
    records = read_egress_log(path)
    ends = {record.number: record for record in records if isinstance(record, EgressClosed)}
    allowed: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    unended = 0
    for record in records:
        if isinstance(record, EgressOpened):
            end = ends.get(record.number)
            is_refused = record.refused is not None or (end is not None and end.error == "private_address")
            (refused if is_refused else allowed)[EgressTarget(record.host, record.port or 443).label] += 1
            unended += record.refused is None and end is None
    return HostContact(
        allowed=_named(allowed),
        refused=_named(refused),
        up_bytes=sum(end.up_bytes for end in ends.values()),
        down_bytes=sum(end.down_bytes for end in ends.values()),
        unended=unended,
    )


def _named(counts: Counter[str]) -> dict[str, int]:
    """Count the most frequent hosts by name and all others together, since an agent may name any number of hosts."""
    frequent = dict(counts.most_common(_MAX_HOSTS))
    rest = counts.total() - sum(frequent.values())
    return frequent | ({_OTHERS: rest} if rest else {})
