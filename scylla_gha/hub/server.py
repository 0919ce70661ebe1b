"""Process of the hub: it reads its control secret from standard input, serves cells, and ends when that input ends.

It has no provider key and no credentials of GitHub. The harness attaches and detaches cells over loopback with the
secret; each cell has a Unix socket of its own.
"""

import asyncio
import contextlib
import gc
import hmac
import os
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from scylla_gha.errors import ConfigError, FixtureError, ToolError
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.client_tokens import TokenClient
from scylla_gha.hub.control import (
    CONTROL_HEADER,
    AttachedCell,
    AttachRequest,
    DetachedCell,
    DetachRequest,
    FaultRequest,
    HubStart,
)
from scylla_gha.hub.endpoint import CellEndpoint
from scylla_gha.hub.faults import FaultInjector, refuse_impossible_faults
from scylla_gha.hub.fixture import StartCommit
from scylla_gha.hub.graphql.register import register as register_graphql
from scylla_gha.hub.graphql.schema import github_schema
from scylla_gha.hub.rate_limit import RateLimiter, RateLimitRule
from scylla_gha.hub.request_log import RequestLog
from scylla_gha.hub.rest.dispatch import register as register_rest
from scylla_gha.hub.run_queue import RunQueue, run_routes
from scylla_gha.hub.seeds import HubSeed, find_seed
from scylla_gha.hub.trial_files import exported_state, state_digest, write_trial_files
from scylla_gha.system.servers import Listener, raise_file_limit

_THREADS: Final = 32
_CONNECTIONS: Final = 256
_LONGEST_CONTROL: Final = 16 * 1024 * 1024  # reports have the logs of jobs
_DRAIN_SECONDS: Final = 1.0
_GARBAGE_THRESHOLDS: Final = (20_000, 20, 50)  # as in the gateway: each search holds up all cells


@dataclass
class ServedCell:
    """Cell with its listeners."""

    endpoint: CellEndpoint
    seed: HubSeed
    server: web.Server
    queue: RunQueue | None = None
    listeners: list[Listener] = field(default_factory=list)

    @property
    def hub(self) -> Hub:
        """The cell's GitHub."""
        return self.endpoint.hub


class HubServer:
    """All cells of the process, and the application that controls them."""

    def __init__(self, control: str, threads: ThreadPoolExecutor) -> None:
        self._control = control
        self._threads = threads
        self._cells: dict[str, ServedCell] = {}
        application = web.Application(client_max_size=_LONGEST_CONTROL, middlewares=[self._guard])
        application.router.add_get("/", _status)
        application.router.add_post("/control/attach", self._attach)
        application.router.add_post("/control/faults", self._set_faults)
        application.router.add_post("/control/detach", self._detach)
        for path, handler in run_routes(self._queue).items():
            application.router.add_post(path, handler)
        self.harness = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests without the secret, and answer errors as text."""
        secret = request.headers.get(CONTROL_HEADER, "")
        if request.path != "/" and not hmac.compare_digest(secret.encode(), self._control.encode()):
            return web.Response(status=HTTPStatus.FORBIDDEN, text="forbidden")
        try:
            return await handler(request)
        except ValidationError as error:
            return web.Response(status=HTTPStatus.BAD_REQUEST, text=str(error.errors(include_url=False)))
        except (ConfigError, FixtureError, ToolError, OSError) as error:
            return web.Response(status=HTTPStatus.UNPROCESSABLE_ENTITY, text=str(error))

    async def _attach(self, request: web.Request) -> web.Response:
        asked = AttachRequest.model_validate_json(await request.read())
        if asked.cell in self._cells:
            raise ConfigError(f"{asked.cell}: this cell is attached already")
        refuse_impossible_faults(asked.faults)
        seed, hub = await self._in_thread(_restored, asked)
        endpoint = CellEndpoint(hub, RequestLog(asked.log), self._threads, self._is_token, _limiter(seed),
                                seed.review_script)  # fmt: skip
        endpoint.faults = FaultInjector(hub, asked.faults)
        cell = ServedCell(endpoint, seed, endpoint.server())
        try:
            cell.listeners.append(Listener.at(asked.socket, cell.server))
            if asked.loopback:
                cell.listeners.append(Listener.on_loopback(cell.server, _CONNECTIONS))
        except OSError:
            await self._close(cell)
            raise
        self._cells[asked.cell] = cell
        cell.queue = RunQueue(hub, self._threads) if asked.runner else None
        return web.json_response(text=_attached(asked, cell).model_dump_json())

    def _queue(self, cell: str) -> RunQueue | None:
        return self._cells[cell].queue if cell in self._cells else None

    def _is_token(self, token: str) -> bool:
        return any(token in cell.hub.tokens for cell in self._cells.values())

    async def _set_faults(self, request: web.Request) -> web.Response:
        asked = FaultRequest.model_validate_json(await request.read())
        refuse_impossible_faults(asked.faults)
        endpoint = self._cell(asked.cell).endpoint
        endpoint.faults = FaultInjector(endpoint.hub, asked.faults)
        return web.json_response({})

    def _cell(self, name: str) -> ServedCell:
        if name not in self._cells:
            raise ConfigError(f"{name}: this cell is not attached")
        return self._cells[name]

    async def _detach(self, request: web.Request) -> web.Response:
        asked = DetachRequest.model_validate_json(await request.read())
        cell = self._cell(asked.cell)
        del self._cells[asked.cell]
        await self._close(cell)
        detached = await self._in_thread(_finished, cell, asked.files)
        return web.json_response(text=detached.model_dump_json())

    async def _close(self, cell: ServedCell) -> None:
        if cell.queue is not None:
            cell.queue.close()
        for listener in cell.listeners:
            await listener.stop()
        await cell.server.shutdown(_DRAIN_SECONDS)
        for listener in cell.listeners:
            await listener.close()
        cell.endpoint.log.close()

    async def _in_thread(self, work: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401 whatever the work takes
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    async def finish(self) -> None:
        """Close all cells without keeping their state."""
        for cell in self._cells.values():
            await self._close(cell)
            shutil.rmtree(cell.hub.folder, ignore_errors=True)


def _restored(asked: AttachRequest) -> tuple[HubSeed, Hub]:
    start = StartCommit(asked.start, asked.start_git_dir) if asked.start and asked.start_git_dir else None
    seed = find_seed(asked.fixture, asked.cache, start)
    return seed, seed.restore(asked.folder)


def _limiter(seed: HubSeed) -> RateLimiter:
    rule = seed.rate_limit
    return RateLimiter(None if rule is None else RateLimitRule(**rule.model_dump()))


def _attached(asked: AttachRequest, cell: ServedCell) -> AttachedCell:
    facts = cell.seed.facts
    hub = cell.hub
    tokens = {id_: token for token, id_ in hub.tokens.items() if token not in hub.token_clients}
    by_client: dict[int, dict[TokenClient, str]] = {id_: {} for id_ in tokens}
    for token, client in hub.token_clients.items():
        by_client[hub.tokens[token]][client] = token
    ids = {user: facts["names"][f"user.{user}"] for user in facts["logins"]}
    return AttachedCell(
        cell=asked.cell,
        socket=asked.socket,
        port=cell.listeners[1].port if asked.loopback else None,
        tokens={user: tokens[id_] for user, id_ in ids.items()},
        client_tokens={user: by_client[id_] for user, id_ in ids.items()},
        logins=facts["logins"],
        bindings=facts["bindings"],
        names=facts["names"],
    )


def _finished(cell: ServedCell, files: Path | None) -> DetachedCell:
    """Write what a cell leaves, and remove its folder."""
    hub, traffic = cell.hub, cell.endpoint.log.traffic
    with hub.lock:
        digests: dict[str, str] = {}
        if files is not None:
            write_trial_files(files, hub, cell.seed.exported, cell.seed.facts["names"])
            digests = {
                "start_digest": state_digest(cell.seed.exported),
                "end_digest": state_digest(exported_state(hub)),
            }
        shutil.rmtree(hub.folder, ignore_errors=True)
    return DetachedCell(traffic=traffic, **digests)


async def _status(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _run(start: HubStart) -> None:
    """Serve until standard input ends or a signal arrives."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_reader(sys.stdin.fileno(), _stop_at_end, stop)
    raise_file_limit()
    register_rest()
    register_graphql()
    with ThreadPoolExecutor(_THREADS) as threads:
        server = HubServer(start.control, threads)
        await server.harness.setup()
        listener = Listener.on_loopback(server.harness.server, _CONNECTIONS)
        github_schema()
        gc.freeze()
        gc.set_threshold(*_GARBAGE_THRESHOLDS)
        gc.enable()
        print(listener.port, flush=True)  # noqa: T201 the harness waits for it
        await stop.wait()
        await listener.stop()
        await server.finish()
        with contextlib.suppress(asyncio.CancelledError):
            await server.harness.cleanup()


def _stop_at_end(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1):
        stop.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


def main() -> None:
    """Run until the input ends or a signal arrives."""
    asyncio.run(_run(HubStart.model_validate_json(sys.stdin.buffer.readline())))
