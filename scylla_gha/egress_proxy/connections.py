"""The connections of one session: allowed or refused, logged, counted and limited."""

import asyncio
import datetime
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scylla_gha.egress_proxy.log import EgressLog
from scylla_gha.egress_proxy.policy import EgressPolicy, EgressTarget
from scylla_gha.model.sandbox import UNREAD, EgressClosed, EgressOpened

Method = Literal["connect", "http"]
Refusal = Literal["host", "unreadable", "too_many"]
Error = Literal["private_address", "unreachable", "idle", "too_much", "cut", "ended_with_trial"]


class ConnectionLimitError(Exception):
    """The session has transferred as many bytes as it may."""


class Connections:
    """The connections of a session. `tasks` are those of the connections that have not ended."""

    def __init__(self, policy: EgressPolicy, path: Path) -> None:
        """Continue the log at `path`.

        Raises:
            ConfigError: the file is not such a log.
        """
        self.policy = policy
        self.tasks: set[asyncio.Task[object]] = set()
        self._log = EgressLog(path)
        self._number = self._log.last_number()
        self._bytes = 0

    def open(self, method: Method, target: EgressTarget | None) -> "Connection | Refusal":
        """Log an attempt (`target` is None if it could not be parsed) and decide on it."""
        refusal = self._refusal(target)
        if self._number >= self.policy.limits.attempts:
            return "too_many"
        self._number += 1
        host, port = (target.host, target.port) if target else (UNREAD, 0)
        now = datetime.datetime.now(datetime.UTC)
        self._log.write(EgressOpened(number=self._number, at=now, how=method, host=host, port=port, refused=refusal))
        if refusal is not None or target is None:
            return refusal or "unreadable"
        return Connection(self, self._log, self._number, target)

    def count_bytes(self, size: int) -> None:
        """Count bytes before they are passed on.

        Raises:
            ConnectionLimitError: they exceed the session's limit.
        """
        self._bytes += size
        if self._bytes > self.policy.limits.total_bytes:
            raise ConnectionLimitError

    async def close(self) -> None:
        """End all open connections. When this returns, the log is complete."""
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
    log: EgressLog
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
            self.error = "too_much"  # set here, since a reader of a body may turn this into an error of its own
            raise
        self._up += up
        self._down += down
        if self.timeout is not None and not self.timeout.expired():
            self.timeout.reschedule(asyncio.get_running_loop().time() + self.connections.policy.limits.idle_seconds)

    def idle_timeout(self) -> asyncio.Timeout:
        """Return a timeout that expires when no byte has passed for `idle_seconds`."""
        self.timeout = asyncio.timeout(self.connections.policy.limits.idle_seconds)
        return self.timeout

    def close(self) -> None:
        """Log the end, once."""
        if not self._is_closed:
            self._is_closed = True
            seconds = round(time.monotonic() - self._start, 6)
            self.log.write(
                EgressClosed(
                    number=self.number, up_bytes=self._up, down_bytes=self._down, seconds=seconds, error=self.error
                )
            )
