"""Open sessions: the state that belongs to the dummy key of a request, and the limits of its requests.

A session has a maximum number of open requests: further ones wait. Heads and bodies with more bytes than a
limit are refused, and so is a body that does not arrive within a minute.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

from aiohttp import web

from scylla_gha.egress_proxy import Connections
from scylla_gha.gateway.budget import Budget, Conversation, SessionBudget, TokenCounter
from scylla_gha.gateway.call_notes import CallNotes, SessionStop
from scylla_gha.gateway.log import TrafficLog, read_traffic, traffic_summary
from scylla_gha.gateway.recording import PathAliases, Recorder, Recording
from scylla_gha.gateway.settings import GatewaySettings, Session
from scylla_gha.providers.base import ApiStyle, Circumstances, ModelRequest
from scylla_gha.redaction import Redactor
from scylla_gha.store import write_bytes
from scylla_gha.system.servers import Listener

_MEGA: Final = 1024 * 1024
LONGEST_REQUEST: Final = 32 * _MEGA  # what the provider takes (platform.claude.com/docs/en/api/errors, 2026-11-22)
_REQUESTS: Final = 32
_WAITING: Final = 128
_BYTES: Final = 2 * LONGEST_REQUEST
_HEAD: Final = 32 * 1024  # bytes of path and headers; the CLI's have some 2,000
_BODY_SECONDS: Final = 60.0
_PARTS: Final = 2_000_000  # of JSON; each takes some hundred bytes of memory when it is parsed
_SMALL: Final = _MEGA  # bodies up to this size are not searched for too many parts
_PARSED_AT_ONCE: Final = 256 * 1024  # bytes of a body that is parsed while other sessions wait
_PARSING_SECONDS: Final = 0.02  # of processor time; a session that needed more has its bodies parsed in a thread
_ALWAYS_FAST: Final = 4096  # bytes
_REQUESTS_OF_TURN: Final = 4  # that are parsed and sent together
_STEPS_TO_SEND: Final = 2  # steps of the event loop after the parsing of a request: its task's and its writer's

_MANY: Final = f"more than {_REQUESTS + _WAITING} requests of this key are open; wait for answers before asking more"
_LONG_HEAD: Final = f"the request's path and headers are longer than {_HEAD // 1024} KB; send fewer"
_LONG: Final = f"the request is longer than {LONGEST_REQUEST // _MEGA} MB; send a shorter one"
_HELD: Final = f"the open requests of this key have more than {_BYTES // _MEGA} MB; wait for their answers"
_SLOW: Final = f"the request's body did not arrive within {_BODY_SECONDS:g} s; send it in one go"
_SPLIT: Final = f"the request has more than {_PARTS} parts; send a shorter one"


class SessionLimitError(Exception):
    """A request is refused, with this status and kind of error."""

    def __init__(self, status: HTTPStatus, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class RequestTurns:
    """Queue of requests that arrive together: a few at a time are parsed and sent.

    Otherwise the event loop would take each step for all of them, and send the first when the last is parsed. One alone
    in a turn would take more processor time: answers that begin together pass the loop together.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._free: int | None = None  # in a turn that has begun just now; None: there is no turn

    async def wait(self) -> None:
        """Wait for a turn, which ends after the steps that sending takes."""
        loop = asyncio.get_running_loop()
        if self._free is None:
            self._free = _REQUESTS_OF_TURN - 1
            loop.call_soon(self._step, loop, _STEPS_TO_SEND - 1)
        elif self._free:
            self._free -= 1
        else:
            turn = loop.create_future()
            self._waiting.append(turn)
            await turn

    def _step(self, loop: asyncio.AbstractEventLoop, steps: int) -> None:
        """Count down the steps of a turn; at its end, start the next turn."""
        self._free = 0
        if steps:
            loop.call_soon(self._step, loop, steps - 1)
            return
        count = 0
        while self._waiting and count < _REQUESTS_OF_TURN:
            turn = self._waiting.popleft()
            if not turn.done():  # else its task was cancelled
                turn.set_result(None)
                count += 1
        if count:
            loop.call_soon(self._step, loop, _STEPS_TO_SEND)
        else:
            self._free = None


class SessionLimits:
    """Limits of one session's open requests. Not thread-safe: for one event loop."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_REQUESTS)
        self._open = 0
        self._bytes = 0

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request) -> AsyncIterator[bytes]:
        """Wait for a slot and for the body; both are held until the block ends.

        Raises:
            SessionLimitError: there are too many requests or bytes, the body is late, or the body or head is too large.
            ConnectionError: the client has disconnected.
        """
        if len(request.raw_path) + sum(len(name) + len(value) for name, value in request.raw_headers) > _HEAD:
            # providers do not document how they answer to more: one may hang up, which would look like its own fault
            raise SessionLimitError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "invalid_request_error", _LONG_HEAD)
        if self._open >= _REQUESTS + _WAITING:
            raise SessionLimitError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error", _MANY)
        self._open += 1
        try:
            async with self._slots:
                body = await self._read_body(request)
                try:
                    if len(body) > _SMALL and sum(map(body.count, (b",", b"[", b"{"))) > _PARTS:
                        raise SessionLimitError(HTTPStatus.BAD_REQUEST, "invalid_request_error", _SPLIT)
                    yield body
                finally:
                    self._bytes -= len(body)
        finally:
            self._open -= 1

    async def _read_body(self, request: web.Request) -> bytes:
        if (request.content_length or 0) > LONGEST_REQUEST:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG)
        if request.content.is_eof():  # all of it has come already
            whole = request.content.read_nowait()
            self._count(0, len(whole))
            return whole
        body = bytearray()  # not a list of chunks: a client may send each byte in one of its own
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for chunk in request.content.iter_any():
                    self._count(len(body), len(chunk))
                    body += chunk
        except BaseException as error:
            self._bytes -= len(body)
            if isinstance(error, TimeoutError):
                raise SessionLimitError(HTTPStatus.REQUEST_TIMEOUT, "invalid_request_error", _SLOW) from None
            raise
        return bytes(body)

    def _count(self, before: int, more: int) -> None:
        """Count received bytes of a body after the `before` earlier ones; refuse too many."""
        if before + more > LONGEST_REQUEST:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG)
        if self._bytes + more > _BYTES:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _HELD)
        self._bytes += more


@dataclass
class SessionState:
    """An open session. `tasks` are its open requests."""

    settings: Session
    aliases: PathAliases
    log: TrafficLog
    budget: SessionBudget
    token_counter: TokenCounter
    conversation: Conversation
    egress: Connections
    recorder: Recorder | None
    recording: Recording | None
    listener: Listener | None
    last_number: int
    notes: CallNotes
    stop: SessionStop
    circumstances: Circumstances  # patterns of the agent
    ended: asyncio.Event  # set at the end by the stop rule, and when the session is closed
    is_open: bool = True
    limits: SessionLimits = field(default_factory=SessionLimits)
    tasks: set[asyncio.Task[web.StreamResponse]] = field(default_factory=set)
    _is_slow: bool = False
    _thread: asyncio.Lock = field(default_factory=asyncio.Lock)  # a session uses one thread at a time

    @property
    def is_over(self) -> bool:
        """True if the session answers no further request."""
        return not self.is_open or self.stop.end is not None

    def reads(self, tool: str) -> bool:
        """Tell if the arguments of a tool's calls are needed."""
        return self.stop.reads(tool) or self.notes.reads(tool)

    def next_number(self) -> int:
        """Return the number of the next request."""
        self.last_number += 1
        return self.last_number

    async def parse(self, style: ApiStyle, path: str, body: bytes) -> ModelRequest:
        """Parse a request of an API style; in a thread if it may take long, so that others do not wait.

        Raises:
            InvalidRequestError: it cannot be parsed unambiguously.
        """
        if len(body) > _ALWAYS_FAST and (self._is_slow or len(body) > _PARSED_AT_ONCE):
            async with self._thread:
                return await asyncio.to_thread(style.parse, path, body, self.aliases.hide, self.circumstances)
        began = time.thread_time()
        try:
            return style.parse(path, body, self.aliases.hide, self.circumstances)
        finally:
            self._is_slow |= time.thread_time() - began > _PARSING_SECONDS

    def store_first_request(self, request: ModelRequest) -> None:
        """Store the body of the session's first request for an answer, before it is forwarded."""
        path = self.settings.first_request
        if path is not None and not (request.counting or request.probing or path.exists()):
            write_bytes(path, request.body)

    async def close(self, seconds: float) -> None:
        """Wait up to `seconds` for requests in flight, cancel the rest (each is logged), and close the files."""
        self.is_open = False
        self.ended.set()
        await self.egress.close()
        if self.tasks:
            _, late = await asyncio.wait(self.tasks, timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        if self.listener is not None:
            await self.listener.close()
        self.log.close()
        if self.recorder is not None:
            self.recorder.close()


class SessionRegistry:
    """The open sessions by token."""

    def __init__(self, settings: GatewaySettings, redactor: Redactor) -> None:
        self._settings = settings
        self._redactor = redactor
        self._open: dict[str, SessionState] = {}
        self._recordings: dict[Path, Recording] = {}  # a cell's second attempt continues where the first one stopped

    def find(self, token: str) -> SessionState | None:
        """Return the session of this token, or None."""
        return self._open.get(token)

    def egress(self, token: str) -> Connections | None:
        """Return the egress connections of the session of this token, or None."""
        session = self._open.get(token)
        return session.egress if session else None

    def open(self, token: str, settings: Session, listener: Listener | None = None) -> None:
        """Open a session for the requests with this dummy key; `listener` is closed with it.

        Raises:
            ConfigError: its log or its recording cannot be read.
            OSError: a file cannot be opened.
        """
        records = read_traffic(settings.journal)
        earlier = traffic_summary(records)
        recording = self._recording(settings)
        aliases = PathAliases(settings.paths, self._redactor)
        trial = Budget("trial", settings.budget_usd, earlier.charged_usd, share=settings.share_usd)
        self._open[token] = SessionState(
            settings=settings,
            aliases=aliases,
            log=TrafficLog(settings.journal),
            budget=SessionBudget(trial, settings.role, settings.cell),
            token_counter=TokenCounter(settings.budget_tokens, earlier.known_tokens),
            conversation=Conversation(settings.turns, settings.requests, earlier.requests, earlier.turns),
            egress=Connections(settings.egress, settings.network),
            recorder=Recorder(self._settings.record / settings.recording_file) if self._settings.record else None,
            recording=recording,
            listener=listener,
            last_number=earlier.last_number,
            notes=CallNotes(settings.watch, aliases.hide, records),
            stop=SessionStop(settings.stop, records),
            circumstances=settings.circumstance_patterns(),
            ended=asyncio.Event(),
        )

    async def close(self, token: str, seconds: float) -> None:
        """Close a session, with up to `seconds` for requests in flight. From now on its token is unknown."""
        session = self._open.pop(token, None)
        if session is not None:
            await session.close(seconds)

    async def close_all(self, seconds: float) -> None:
        """Close all sessions at once."""
        await asyncio.gather(*(self.close(token, seconds) for token in list(self._open)))

    def _recording(self, settings: Session) -> Recording | None:
        if self._settings.replay is None:
            return None
        path = self._settings.replay / settings.recording_file
        if path not in self._recordings:
            self._recordings[path] = Recording(path)
        return self._recordings[path]
