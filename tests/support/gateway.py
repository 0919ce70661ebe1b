"""A client of the gateway as simple as can be, and the settings that the tests start it with."""

import atexit
import datetime
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from scylla_gha.gateway.client import GatewayProcess, SessionHandle
from scylla_gha.gateway.log import read_traffic
from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess, Session
from scylla_gha.model.traffic import ModelInfo, ModelPrice, RequestRecord, ResponseRecord, Role
from tests.support.provider import Body, Provider, ProviderServer, Say, Script

T = TypeVar("T")
KEY = "sk-ant-api03-real-0123456789-canary"
PRICE = ModelPrice(input=2.0, output=10.0, cache_read=0.2, cache_write_5m=2.5, cache_write_1h=4.0,
              date=datetime.date(2026, 11, 21), source="a test")  # fmt: skip
MODELS = (
    ModelInfo(id="dear", provider="anthropic", context_tokens=1000, price=PRICE),
    ModelInfo(id="stubborn", provider="anthropic", context_tokens=1000, price=PRICE, accepts=("max_tokens",)),
)
EACH = (100 * 2 + 25 * 10) / 1e6  # USD of one scripted answer of `dear`
FOR_TWO = 2.5 * EACH  # a budget that pays for two `question`s: a third fits with its worst case no more


@dataclass(frozen=True)
class Reply:
    """`whole` is False where the connection ended before the answer did."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool = True

    @property
    def error(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.body)["error"]
        return found


@dataclass
class Host:
    """A running gateway and the folder of its journals."""

    gateway: GatewayProcess
    folder: Path
    sessions: list[SessionHandle] = field(default_factory=list)

    def open(self, cell: str = "cell", role: Role = "agent", **more: Any) -> SessionHandle:
        session = Session(cell=cell, role=role, journal=self.journal(cell, role), **more)
        self.sessions.append(self.gateway.open(session))
        return self.sessions[-1]

    def journal(self, cell: str = "cell", role: Role = "agent") -> Path:
        return self.folder / cell / role / "traffic.jsonl"

    def asked(self, cell: str = "cell", role: Role = "agent") -> list[RequestRecord]:
        return [each for each in read_traffic(self.journal(cell, role)) if isinstance(each, RequestRecord)]

    def answered(self, cell: str = "cell", role: Role = "agent") -> list[ResponseRecord]:
        return [each for each in read_traffic(self.journal(cell, role)) if isinstance(each, ResponseRecord)]


@contextmanager
def hosted(folder: Path, upstream: str = "http://127.0.0.1:9", **more: Any) -> Iterator[Host]:
    with GatewayProcess.start(_settings(upstream, more)) as gateway:
        yield Host(gateway, folder)


_SHARED: dict[str, tuple[ProviderServer, GatewayProcess]] = {}


@contextmanager
def shared(folder: Path, script: Script = lambda _: Say("Hi."), **settings: Any) -> Iterator[tuple[Provider, Host]]:
    """A gateway that tests with the same settings share, since its start takes longer than they do.

    Not for tests of what its sessions have in common: rate limits, shared budgets, its memory or its death.
    """
    key = repr(sorted(settings.items()))
    if key not in _SHARED:
        server = ProviderServer()
        gateway = GatewayProcess.start(_settings(server.url, settings))
        atexit.register(gateway.stop)
        _SHARED[key] = server, gateway
    server, gateway = _SHARED[key]
    provider, host = server.follow(script), Host(gateway, folder)
    try:
        yield provider, host
    finally:
        provider.ended.set()
        for session in host.sessions:
            gateway.close(session)


def _settings(upstream: str, more: dict[str, Any]) -> GatewaySettings:
    named = {name: more[name] for name in ("api_key", "federation") if name in more}
    more = {name: value for name, value in more.items() if name not in named}
    return GatewaySettings(**{"access": access_to(upstream, **named), "models": MODELS, "retries": 0, **more})


def access_to(upstream: str, **more: Any) -> tuple[ProviderAccess, ...]:
    """Access to Anthropic's API at an address."""
    return (ProviderAccess(**{"provider": "anthropic", "upstream": upstream, "api_key": KEY, **more}),)


class OverSocket(http.client.HTTPConnection):
    """A connection to a session's own socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def question(text: str = "Hello?", model: str = "dear", **more: Any) -> Body:
    return {"model": model, "max_tokens": 25, "stream": True, "messages": [{"role": "user", "content": text}], **more}


def ask(session: SessionHandle, body: Body | bytes, path: str = "/v1/messages?beta=true", **headers: str) -> Reply:
    connection = connect(session)
    try:
        send(connection, session, body, path, **headers)
        answer = connection.getresponse()
        try:
            content, whole = answer.read(), True
        except http.client.IncompleteRead as error:
            content, whole = error.partial, False
        return Reply(answer.status, {name.lower(): value for name, value in answer.headers.items()}, content, whole)
    finally:
        connection.close()


def connect(session: SessionHandle) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(session.url.removeprefix("http://"), timeout=60)


def send(connection: http.client.HTTPConnection, session: SessionHandle, body: Body | bytes,
         path: str = "/v1/messages", **headers: str) -> None:  # fmt: skip
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", path, data, {"x-api-key": session.token, "content-type": "application/json", **named})


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """All calls begun together, each in a thread of its own."""
    together = threading.Barrier(len(calls))

    def call(each: Callable[[], T]) -> T:
        together.wait()
        return each()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(call, calls))


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.01)
