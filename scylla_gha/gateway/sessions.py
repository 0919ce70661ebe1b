"""Open sessions: the state that belongs to the dummy key of a request."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from scylla_gha.egress_proxy.connections import Connections
from scylla_gha.gateway.budget import TokenCounter, TrialBudget
from scylla_gha.gateway.conversation import Conversation
from scylla_gha.gateway.listener import Listener
from scylla_gha.gateway.log import TrafficLog, summarise_traffic
from scylla_gha.gateway.path_aliases import PathAliases
from scylla_gha.gateway.recording import Recorder, Recording
from scylla_gha.gateway.session_limits import SessionLimits
from scylla_gha.gateway.settings import Session, SessionSettings
from scylla_gha.providers.base import ModelRequest, Provider
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.store.records import write_bytes


@dataclass
class SessionState:
    """An open session. `flights` are the tasks of its requests that have not ended."""

    lane: Session
    names: PathAliases
    journal: TrafficLog
    purse: TrialBudget
    visits: Connections
    tally: TokenCounter
    conversation: Conversation
    provider: Provider
    intake: SessionLimits = field(default_factory=SessionLimits)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)  # one long request at a time is read in a thread
    recorder: Recorder | None = None
    tape: Recording | None = None
    listener: Listener | None = None
    asked: int = 0
    is_open: bool = True
    flights: set[asyncio.Task[object]] = field(default_factory=set)

    def next_number(self) -> int:
        """Return the number of the next request."""
        self.asked += 1
        return self.asked

    def keep_first(self, question: ModelRequest) -> None:
        """Store the body of the session's first request for an answer, before it is forwarded."""
        place = self.lane.first_request
        if place is not None and not (question.counting or question.probing or place.exists()):
            write_bytes(place, question.body)

    async def close(self, seconds: float) -> None:
        """Wait up to `seconds` for requests in flight, cancel the rest, and close the files."""
        self.is_open = False
        await self.visits.close()
        await finish_requests(self.flights, seconds)
        if self.listener is not None:
            await self.listener.close()
        self.journal.close()
        if self.recorder is not None:
            self.recorder.close()


async def finish_requests(flights: set[asyncio.Task[object]], seconds: float) -> None:
    """Wait up to `seconds` for requests to end, then cancel the rest; each of them is logged."""
    if flights:
        _, late = await asyncio.wait(flights, timeout=seconds)
        for flight in late:
            flight.cancel()
        if late:
            await asyncio.wait(late)


class SessionRegistry:
    """The open sessions by token."""

    def __init__(self, settings: SessionSettings, redactor: Redactor) -> None:
        self._settings = settings
        self._redactor = redactor
        self._open: dict[str, SessionState] = {}
        self._tapes: dict[Path, Recording] = {}  # a cell's second attempt continues where the first one stopped

    def find(self, token: str) -> SessionState | None:
        """Return the session of this token, or None."""
        return self._open.get(token)

    def visits(self, token: str) -> Connections | None:
        """Return the egress connections of the session of this token, or None."""
        channel = self._open.get(token)
        return channel.visits if channel else None

    def open(self, token: str, lane: Session, listener: Listener | None = None) -> None:
        """Open a session.

        Args:
            token: the dummy key of its requests.
            lane: its settings.
            listener: accepts its connections, and is closed with it.

        Raises:
            ConfigError: its log or its recording cannot be read.
            OSError: a file cannot be opened.
        """
        earlier = summarise_traffic(lane.journal)
        tape = self._tape(lane)
        self._open[token] = SessionState(
            lane=lane,
            names=PathAliases(lane.paths, self._redactor),
            journal=TrafficLog(lane.journal),
            purse=TrialBudget("trial", lane.budget_usd, earlier.charged_usd, share=lane.share_usd),
            visits=Connections(lane.egress, lane.network),
            tally=TokenCounter(lane.budget_tokens, earlier.known_tokens),
            conversation=Conversation(lane.turns, lane.requests, earlier.requests, earlier.turns),
            provider=self._settings.api,
            recorder=self._recorder(lane),
            tape=tape,
            asked=earlier.last_number,
            listener=listener,
        )

    async def close(self, token: str, seconds: float) -> None:
        """Close a session, with up to `seconds` for requests in flight. From now on its token is unknown."""
        channel = self._open.pop(token, None)
        if channel is not None:
            await channel.close(seconds)

    async def close_all(self, seconds: float) -> None:
        """Close all sessions at once."""
        await asyncio.gather(*(self.close(token, seconds) for token in list(self._open)))

    def _tape(self, lane: Session) -> Recording | None:
        if self._settings.replay is None:
            return None
        path = self._settings.replay / f"{lane.tape}.jsonl"
        if path not in self._tapes:
            self._tapes[path] = Recording(path)
        return self._tapes[path]

    def _recorder(self, lane: Session) -> Recorder | None:
        if self._settings.record is None:
            return None
        return Recorder(self._settings.record / f"{lane.tape}.jsonl")
