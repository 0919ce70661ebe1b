"""What one lane seeks: decided, journalled, counted and limited."""

import asyncio
import datetime
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scylla_gha.model.network import UNREAD, Closed, Opened
from scylla_gha.proxy.journal import Journal
from scylla_gha.proxy.permit import Permit, Token
from scylla_gha.proxy.target import Target
from scylla_gha.redaction.redactor import Redactor

How = Literal["connect", "http"]
Refusal = Literal["host", "unreadable", "too_many"]
Error = Literal["private_address", "unreachable", "idle", "too_much", "cut", "ended_with_trial"]


class TooMuchError(Exception):
    """The lane's bytes are used up."""


class Visits:
    """A lane's way out. `tasks` are those of its connections that have not ended."""

    def __init__(self, permit: Permit, path: Path) -> None:
        """Go on with the journal that is there.

        Raises:
            ConfigError: it is none, or a token is too short to be kept out of what is stored.
        """
        self.permit = permit
        self.tasks: set[asyncio.Task[object]] = set()
        self._journal = Journal(path)
        self._number = self._journal.last_number()
        self._bytes = 0
        secrets = [secret for token in permit.tokens.values() for secret in token.secrets]
        self._redactor = Redactor(secrets, public=lambda _: True) if secrets else None

    def open(self, how: How, target: Target | None) -> "Visit | Refusal":
        """An attempt, with its line in the journal where there may be one more."""
        refusal = self._refusal(how, target)
        if self._number >= self.permit.bounds.attempts:
            return "too_many"
        self._number += 1
        host, port = (target.host, target.port) if target else (UNREAD, 0)
        now = datetime.datetime.now(datetime.UTC)
        self._journal.write(Opened(number=self._number, at=now, how=how, host=host, port=port, refused=refusal))
        if refusal is not None or target is None:
            return refusal or "unreadable"
        return Visit(self, self._journal, self._number, target)

    def token(self, target: Target) -> Token | None:
        """What is added to requests to this host."""
        return self.permit.token(target.host, target.port)

    @property
    def redactor(self) -> Redactor | None:
        """What keeps the tokens out of answers."""
        return self._redactor

    def count(self, size: int) -> None:
        """Bytes pass.

        Raises:
            TooMuchError: they are more than may.
        """
        self._bytes += size
        if self._bytes > self.permit.bounds.total_bytes:
            raise TooMuchError

    async def close(self) -> None:
        """End what is open: nobody who may use it is left. When this returns, the journal is complete."""
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _refusal(self, how: How, target: Target | None) -> Refusal | None:
        if target is None:
            return "unreadable"
        by_token = how == "http" and self.token(target) is not None
        if not by_token and not self.permit.allows(target.host, target.port):
            return "host"
        return "too_many" if len(self.tasks) >= self.permit.bounds.connections else None


@dataclass
class Visit:
    """One connection or request that was allowed."""

    visits: Visits
    journal: Journal
    number: int
    target: Target
    error: Error | None = None
    clock: asyncio.Timeout | None = None
    _up: int = 0
    _down: int = 0
    _is_over: bool = False
    _began: float = field(default_factory=time.monotonic)

    def moved(self, up: int = 0, down: int = 0) -> None:
        """Bytes are about to pass; whoever waits for some waits anew.

        Raises:
            TooMuchError: they are more than may.
        """
        try:
            self.visits.count(up + down)
        except TooMuchError:
            self.error = "too_much"  # said here: who reads a body may make an error of its own of this one
            raise
        self._up += up
        self._down += down
        if self.clock is not None and not self.clock.expired():
            self.clock.reschedule(asyncio.get_running_loop().time() + self.visits.permit.bounds.idle_seconds)

    def patience(self) -> asyncio.Timeout:
        """Ends what is done within it when no byte moves any more."""
        self.clock = asyncio.timeout(self.visits.permit.bounds.idle_seconds)
        return self.clock

    def close(self) -> None:
        """Write its end; once."""
        if not self._is_over:
            self._is_over = True
            seconds = round(time.monotonic() - self._began, 6)
            self.journal.write(Closed(number=self.number, up_bytes=self._up, down_bytes=self._down, seconds=seconds,
                                      error=self.error))  # fmt: skip
