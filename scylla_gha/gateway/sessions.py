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
from scylla_gha.gateway.call_guard import CallGuard
from scylla_gha.gateway.call_notes import CallNotes, SessionStop
from scylla_gha.gateway.log import TrafficLog, read_traffic, traffic_summary
from scylla_gha.gateway.recording import PathAliases, Recorder, Recording
from scylla_gha.gateway.settings import GatewaySettings, Session
from scylla_gha.providers.base import ApiStyle, Circumstances, ModelRequest
from scylla_gha.redaction import Redactor
from scylla_gha.store import write_bytes
from scylla_gha.system.servers import Listener

_MEGABYTE: Final = 1024 * 1024
MAX_REQUEST_BYTES: Final = 32 * _MEGABYTE  # the provider's limit (platform.claude.com/docs/en/api/errors, 2026-11-22)
_MAX_OPEN: Final = 32  # requests of a session
_MAX_WAITING: Final = 128  # requests of a session
_MAX_OPEN_BYTES: Final = 2 * MAX_REQUEST_BYTES
_MAX_HEAD_BYTES: Final = 32 * 1024  # of path and headers; the CLI's have some 2,000
_BODY_SECONDS: Final = 60.0
_MAX_JSON_VALUES: Final = 2_000_000  # in a body; each takes some hundred bytes when parsed
_UNCOUNTED_BYTES: Final = _MEGABYTE  # values are not counted in bodies up to this size
_UNTHREADED_BYTES: Final = 256 * 1024  # of a body that is parsed while other sessions wait
_SLOW_SECONDS: Final = 0.02  # of processor time; a session that needed more has its bodies parsed in a thread
_ALWAYS_FAST_BYTES: Final = 4096
_REQUESTS_PER_TURN: Final = 4  # that are parsed and sent together
_STEPS_TO_SEND: Final = 2  # steps of the event loop after the parsing of a request: its task's and its writer's

_TOO_MANY_TEXT: Final = (
    f"more than {_MAX_OPEN + _MAX_WAITING} requests of this key are open; wait for answers before asking more"
)
_LONG_HEAD_TEXT: Final = (
    f"the request's path and headers are longer than {_MAX_HEAD_BYTES // 1024} KB; send fewer headers"
)
_LONG_BODY_TEXT: Final = f"the request is longer than {MAX_REQUEST_BYTES // _MEGABYTE} MB; send a shorter one"
_OPEN_BYTES_TEXT: Final = (
    f"the open requests of this key have more than {_MAX_OPEN_BYTES // _MEGABYTE} MB; wait for their answers"
)
_SLOW_BODY_TEXT: Final = f"the request's body did not arrive within {_BODY_SECONDS:g} s; send it in one go"
_MANY_VALUES_TEXT: Final = f"the request has more than {_MAX_JSON_VALUES} JSON values; send a shorter one"


class SessionLimitError(Exception):
    """A request exceeds a limit of its session and is refused with `status` and `kind`."""

    def __init__(self, status: HTTPStatus, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class RequestTurns:
    """Queue of requests that arrive together: a few at a time are parsed and sent.

    Without turns, the loop would parse all requests before it sends the first. Turns of a single request would cost
    more processor time, since answers that start together share steps of the loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._free: int | None = None  # free places in the current turn; None: no turn is running

    async def wait(self) -> None:
        """Wait for a turn, which ends after the steps that sending takes."""
        loop = asyncio.get_running_loop()
        if self._free is None:
            self._free = _REQUESTS_PER_TURN - 1
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
        while self._waiting and count < _REQUESTS_PER_TURN:
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
        self._slots = asyncio.Semaphore(_MAX_OPEN)
        self._open = 0
        self._bytes = 0

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request) -> AsyncIterator[bytes]:
        """Wait for a slot and for the body; both count against the limits until the block ends.

        Raises:
            SessionLimitError: there are too many requests or bytes, the body is late, or the body or head is too large.
            ConnectionError: the client has disconnected.
        """
        if len(request.raw_path) + sum(len(name) + len(value) for name, value in request.raw_headers) > _MAX_HEAD_BYTES:
            # Refuse it here: a provider may just disconnect, which would be recorded as the provider's fault.
            raise SessionLimitError(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "invalid_request_error", _LONG_HEAD_TEXT
            )
        if self._open >= _MAX_OPEN + _MAX_WAITING:
            raise SessionLimitError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error", _TOO_MANY_TEXT)
        self._open += 1
        try:
            async with self._slots:
                body = await self._read_body(request)
                try:
                    if len(body) > _UNCOUNTED_BYTES and sum(map(body.count, (b",", b"[", b"{"))) > _MAX_JSON_VALUES:
                        raise SessionLimitError(HTTPStatus.BAD_REQUEST, "invalid_request_error", _MANY_VALUES_TEXT)
                    yield body
                finally:
                    self._bytes -= len(body)
        finally:
            self._open -= 1

    async def _read_body(self, request: web.Request) -> bytes:
        if (request.content_length or 0) > MAX_REQUEST_BYTES:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG_BODY_TEXT)
        if request.content.is_eof():  # the whole body has arrived already
            arrived = request.content.read_nowait()
            self._count(0, len(arrived))
            return arrived
        body = bytearray()  # not a list of chunks: a client may send each byte as its own chunk
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for chunk in request.content.iter_any():
                    self._count(len(body), len(chunk))
                    body += chunk
        except BaseException as error:
            self._bytes -= len(body)
            if isinstance(error, TimeoutError):
                raise SessionLimitError(HTTPStatus.REQUEST_TIMEOUT, "invalid_request_error", _SLOW_BODY_TEXT) from None
            raise
        return bytes(body)

    def _count(self, before: int, more: int) -> None:
        """Count `more` received bytes of a body that had `before` bytes; refuse too many."""
        if before + more > MAX_REQUEST_BYTES:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _LONG_BODY_TEXT)
        if self._bytes + more > _MAX_OPEN_BYTES:
            raise SessionLimitError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large", _OPEN_BYTES_TEXT)
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
    guard: CallGuard | None
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
        return self.stop.reads(tool) or self.notes.reads(tool) or bool(self.guard and self.guard.reads(tool))

    def next_number(self) -> int:
        """Return the number of the next request."""
        self.last_number += 1
        return self.last_number

    async def parse(self, style: ApiStyle, path: str, body: bytes) -> ModelRequest:
        """Parse a request of an API style; in a thread if it may take long, so that others do not wait.

        Raises:
            InvalidRequestError: it cannot be parsed unambiguously.
        """
        if len(body) > _ALWAYS_FAST_BYTES and (self._is_slow or len(body) > _UNTHREADED_BYTES):
            async with self._thread:
                return await asyncio.to_thread(style.parse, path, body, self.aliases.hide, self.circumstances)
        began = time.thread_time()
        try:
            return style.parse(path, body, self.aliases.hide, self.circumstances)
        finally:
            self._is_slow |= time.thread_time() - began > _SLOW_SECONDS

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
            guard=CallGuard(settings.guard) if settings.guard else None,
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
