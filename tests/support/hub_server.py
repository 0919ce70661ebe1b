"""A cell's GitHub served in this process on a socket and a port, and the environments of real clients for it."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from aiohttp import web

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.clients import gh_environment, git_environment
from scylla_gha.hub.endpoint import CellEndpoint
from scylla_gha.hub.graphql.register import register as register_graphql
from scylla_gha.hub.request_log import RequestLog
from scylla_gha.hub.rest.dispatch import register as register_rest
from scylla_gha.hub.trial_files import REQUESTS_FILE
from scylla_gha.system.servers import Listener
from tests.support.hub import AUTHOR

BIN = Path(sys.executable).parent  # gh and the MCP server


@dataclass(frozen=True)
class ServedHub:
    """A served hub: `port` of loopback is the HTTP proxy of git and of the MCP server."""

    hub: Hub
    socket: Path
    port: int
    folder: Path
    endpoint: CellEndpoint

    def environment(self, token: str = AUTHOR) -> dict[str, str]:
        """Of processes that use gh and git; the token of a user is the login."""
        home = self.folder / f"home-{token}"
        home.mkdir(exist_ok=True)
        path = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home)}
        return {**path, **gh_environment(self.socket, token, home), **git_environment(self.port, token, home)}

    def run(self, *argv: str, token: str = AUTHOR, cwd: Path | None = None, code: int = 0) -> str:
        """Run a command such as ("gh", "pr", "list") and return what it printed, errors included."""
        ran = subprocess.run(argv, cwd=cwd or self.folder, env=self.environment(token), capture_output=True, text=True,
                             timeout=60, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
        assert ran.returncode == code, f"{argv}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr


class _SocketConnection(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("api.github.com")
        self._is_named = False
        self._path = path

    def endheaders(self, message_body: Any = None, *, encode_chunked: bool = False) -> None:
        """Name the client, which GitHub wants, unless the request does."""
        if not self._is_named:
            super().putheader("User-Agent", "tests")
        super().endheaders(message_body, encode_chunked=encode_chunked)

    def putrequest(self, *args: Any, **options: Any) -> None:
        self._is_named = False
        super().putrequest(*args, **options)

    def putheader(self, header: str | bytes, *values: Any) -> None:
        self._is_named |= str(header).lower() == "user-agent"
        super().putheader(header, *values)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


@contextmanager
def connected(path: Path) -> Iterator[HTTPConnection]:
    """A connection to a cell's socket."""
    connection = _SocketConnection(path)
    try:
        yield connection
    finally:
        connection.close()


def ask_socket(
    path: Path, method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Status and content of an answer; status 0 if nobody listens."""
    try:
        with connected(path) as connection:
            connection.request(method, url, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read()
    except OSError:
        return 0, b""


@contextmanager
def serving_hub(hub: Hub, folder: Path, foreign: Mapping[str, int] | None = None) -> Iterator[ServedHub]:
    """Serve a hub; `foreign` are tokens of other cells. The request log is `folder`/github-requests.jsonl."""
    register_rest()
    register_graphql()
    folder.mkdir(exist_ok=True, parents=True)
    with ThreadPoolExecutor(4) as threads:
        log = RequestLog(folder / REQUESTS_FILE)
        endpoint = CellEndpoint(hub, log, threads, lambda token: token in (foreign or {}))
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        server, listeners = asyncio.run_coroutine_threadsafe(_listen(endpoint, folder / "hub.sock"), loop).result()
        try:
            yield ServedHub(hub, folder / "hub.sock", listeners[1].port, folder, endpoint)
        finally:
            asyncio.run_coroutine_threadsafe(_close(server, listeners), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
            log.close()


async def _listen(endpoint: CellEndpoint, socket: Path) -> tuple[web.Server, list[Listener]]:
    server = endpoint.server()
    return server, [Listener.at(socket, server), Listener.on_loopback(server, 100)]


async def _close(server: web.Server, listeners: list[Listener]) -> None:
    for listener in listeners:
        await listener.close()
    await server.shutdown(1.0)
