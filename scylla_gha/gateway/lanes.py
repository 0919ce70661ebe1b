"""The open lanes: whose request it is, and what goes with its lane."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from scylla_gha.gateway.cassette import Recorder, Tape
from scylla_gha.gateway.conversation import Conversation
from scylla_gha.gateway.intake import Intake
from scylla_gha.gateway.journal import Journal, account
from scylla_gha.gateway.ledger import Purse, Tally
from scylla_gha.gateway.listener import Listener
from scylla_gha.gateway.paths import Names
from scylla_gha.gateway.request import Question
from scylla_gha.gateway.settings import Lane, Settings
from scylla_gha.proxy.visits import Visits
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.store import write_bytes


@dataclass
class Channel:
    """An open lane. `flights` are the tasks of its requests that have not ended."""

    lane: Lane
    names: Names
    journal: Journal
    purse: Purse
    visits: Visits
    tally: Tally
    conversation: Conversation
    intake: Intake = field(default_factory=Intake)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)  # one long request at a time is read in a thread
    recorder: Recorder | None = None
    tape: Tape | None = None
    listener: Listener | None = None
    asked: int = 0
    is_open: bool = True
    flights: set[asyncio.Task[object]] = field(default_factory=set)

    def next_number(self) -> int:
        """The number of the next request."""
        self.asked += 1
        return self.asked

    def keep_first(self, question: Question) -> None:
        """Keep the body of the lane's first request for an answer, before it is passed on."""
        place = self.lane.first_request
        if place is not None and not (question.counting or question.probing or place.exists()):
            write_bytes(place, question.body)

    async def close(self, seconds: float) -> None:
        """Wait so long for the requests in flight, end what is left of them, and close the files."""
        self.is_open = False
        await self.visits.close()
        await land(self.flights, seconds)
        if self.listener is not None:
            await self.listener.close()
        self.journal.close()
        if self.recorder is not None:
            self.recorder.close()


async def land(flights: set[asyncio.Task[object]], seconds: float) -> None:
    """Let requests end by themselves within `seconds`, then end them; each of them is journalled."""
    if flights:
        _, late = await asyncio.wait(flights, timeout=seconds)
        for flight in late:
            flight.cancel()
        if late:
            await asyncio.wait(late)


class Lanes:
    """The open lanes by their token."""

    def __init__(self, settings: Settings, redactor: Redactor) -> None:
        self._settings = settings
        self._redactor = redactor
        self._open: dict[str, Channel] = {}
        self._tapes: dict[Path, Tape] = {}  # a cell's second attempt goes on where the first one stopped

    def find(self, token: str) -> Channel | None:
        """The lane of this token."""
        return self._open.get(token)

    def visits(self, token: str) -> Visits | None:
        """The way out of the lane of this token."""
        channel = self._open.get(token)
        return channel.visits if channel else None

    def open(self, token: str, lane: Lane, listener: Listener | None = None) -> None:
        """Open a lane.

        Args:
            token: by which its requests are known.
            lane: whose requests, and within which limits.
            listener: takes its connections, and is closed with it.

        Raises:
            ConfigError: its journal or its recording cannot be read.
            OSError: a file cannot be opened.
        """
        earlier = account(lane.journal)
        tape = self._tape(lane)
        self._open[token] = Channel(
            lane=lane,
            names=Names(lane.paths, self._redactor),
            journal=Journal(lane.journal),
            purse=Purse("trial", lane.budget_usd, earlier.charged_usd, share=lane.share_usd),
            visits=Visits(lane.permit, lane.network),
            tally=Tally(lane.budget_tokens, earlier.known_tokens),
            conversation=Conversation(lane.turns, lane.requests, earlier.requests, earlier.turns),
            recorder=self._recorder(lane),
            tape=tape,
            asked=earlier.last_number,
            listener=listener,
        )

    async def close(self, token: str, seconds: float) -> None:
        """Close a lane; what is in flight may take so long to end. From now on its token is unknown."""
        channel = self._open.pop(token, None)
        if channel is not None:
            await channel.close(seconds)

    async def close_all(self, seconds: float) -> None:
        """Close all lanes at once."""
        await asyncio.gather(*(self.close(token, seconds) for token in list(self._open)))

    def _tape(self, lane: Lane) -> Tape | None:
        if self._settings.replay is None:
            return None
        path = self._settings.replay / f"{lane.tape}.jsonl"
        if path not in self._tapes:
            self._tapes[path] = Tape(path)
        return self._tapes[path]

    def _recorder(self, lane: Lane) -> Recorder | None:
        if self._settings.record is None:
            return None
        return Recorder(self._settings.record / f"{lane.tape}.jsonl")
