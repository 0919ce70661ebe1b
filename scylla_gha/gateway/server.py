"""The gateway's process: it reads its settings from standard input, serves, and ends when the input ends.

One HTTP application serves the model API to clients with a session's dummy key; the other controls sessions.
"""

import asyncio
import ctypes
import gc
import hmac
import os
import signal
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Final

import aiohttp
import uvloop
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from scylla_gha.config.model_names import SDK_PROVIDER, resolved_model
from scylla_gha.egress_proxy.forward import EgressProxy, http_session, is_proxy_request
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.budget import LOG_IS_FULL, BudgetLedger
from scylla_gha.gateway.forward import ForwardedRequest, GatewayState, failure
from scylla_gha.gateway.log_entry import RequestLogEntry
from scylla_gha.gateway.sessions import (
    MAX_REQUEST_BYTES,
    RequestTurns,
    SessionLimitError,
    SessionRegistry,
    SessionState,
)
from scylla_gha.gateway.settings import CONTROL_HEADER, GatewayStart, JudgeReserveRequest, OpenSessionRequest, Session
from scylla_gha.gateway.upstream import Upstream, Upstreams
from scylla_gha.providers import PROVIDERS, close_memory
from scylla_gha.providers.base import ApiStyle, InvalidRequestError, ModelRequest
from scylla_gha.redaction import Redactor
from scylla_gha.redaction.patterns import unsearchable_reason
from scylla_gha.system.servers import Listener, raise_file_limit

_FINISH_SECONDS: Final = 2.0  # for requests in flight when the gateway is stopped
_MAX_MODEL_CHARACTERS: Final = 200
_JSON: Final = "application/json"
_INVALID: Final = "invalid_request_error"
_CONNECT_SECONDS: Final = 30.0
_KEEPALIVE_SECONDS: Final = 10.0  # shorter than a provider keeps an idle connection, so that none is used as it closes
_HARNESS_CONNECTIONS: Final = 256
_THREADS: Final = 64  # a session uses one at a time, so a slow request leaves threads for other sessions
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_GARBAGE_THRESHOLDS: Final = (20_000, 20, 50)  # requests make few cycles, and each search for them holds up all streams


class GatewayServer:
    """Request handlers and their shared state. Agents and judges reach `sessions`; the harness, `harness`."""

    def __init__(
        self, start: GatewayStart, clients: Mapping[bool, aiohttp.ClientSession], other_hosts: aiohttp.ClientSession
    ) -> None:
        settings = start.settings
        ledger = BudgetLedger(settings.experiment_usd, settings.role_usd, settings.spent_usd)
        for cell, usd in settings.judge_reserves_usd.items():
            ledger.reserve_for_judges(cell, usd)
        redactor = Redactor(secret for secret in settings.secrets if unsearchable_reason(secret) is None)
        self._gateway = GatewayState(settings, clients, ledger, redactor)
        self._control = start.control
        self._knobs = {role: knobs.configured() for role, knobs in settings.knobs.items()}
        self._upstreams = Upstreams(settings)
        self._registry = SessionRegistry(settings, redactor)
        self._turns = RequestTurns()
        self._egress_proxy = EgressProxy(self._registry.egress, other_hosts)
        self._models = {model.id: model for model in settings.models}
        self.sessions = _runner(self._model_api())
        self.harness = _runner(self._controls())

    def _model_api(self) -> web.Application:
        application = web.Application(middlewares=[self._divert])
        application.router.add_get("/", _status)
        for route in self._upstreams.routes:
            application.router.add_post(route, self._messages)
        for route in self._upstreams.lists:
            application.router.add_get(route, self._list_models)
        application.router.add_route("*", "/{path:.*}", self._not_found)
        return application

    def _controls(self) -> web.Application:
        application = web.Application(client_max_size=MAX_REQUEST_BYTES, middlewares=[self._require_control])
        application.router.add_get("/", _status)
        application.router.add_post("/control/sessions", self._open)
        application.router.add_delete("/control/sessions/{token}", self._close)
        application.router.add_get("/control/sessions/{token}/end", self._wait_for_end)
        application.router.add_put("/control/judge-reserves", self._reserve_for_judges)
        return application

    async def finish(self) -> None:
        """Close all sessions, after up to 2 s for requests in flight."""
        await self._registry.close_all(_FINISH_SECONDS)
        self._egress_proxy.close()

    @web.middleware
    async def _divert(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Pass requests for other hosts to the proxy."""
        return await (self._egress_proxy.handle(request) if is_proxy_request(request) else handler(request))

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        style = self._upstreams.style(_route(request))
        session = self._registry.find(style.session_token(request.headers, request.query))
        if session is None:
            return self._unknown(style)
        try:
            async with session.limits.read(request) as body:
                return await self._forward(session, request, body, style)
        except SessionLimitError as error:
            response = failure(style, error.status, error.kind, str(error))
            response.force_close()  # the rest of the body is not read
            return response

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        """Answer with the models that the session may use; this sends no request to the provider and costs nothing."""
        style = self._upstreams.lists[_route(request)]
        session = self._registry.find(style.session_token(request.headers, request.query))
        if session is None:
            return await self._not_found(request)
        allowed = session.settings.models
        names = self._models if allowed is None else allowed
        models = {name: self._models.get(name) for name in names}
        body = style.models_body(models, request.match_info.get("model"))
        return await self._not_found(request) if body is None else web.Response(body=body, content_type=_JSON)

    async def _forward(
        self, session: SessionState, request: web.Request, body: bytes, style: ApiStyle
    ) -> web.StreamResponse:
        """Handle a request of an API style."""
        await self._turns.wait()
        try:
            model_request = await self._parse(session, request, body, style)
            upstream = self._upstreams.choose(_route(request), model_request.model)
        except InvalidRequestError as error:
            return failure(style, HTTPStatus.BAD_REQUEST, _INVALID, str(error))
        if not session.is_open:
            return self._unknown(style)
        if session.log.is_full:
            return failure(style, HTTPStatus.FORBIDDEN, "permission_error", LOG_IS_FULL.message)
        forwarded = self._forwarded(session, upstream, request, model_request)
        task: asyncio.Task[web.StreamResponse] = asyncio.create_task(forwarded.handle())
        session.tasks.add(task)
        task.add_done_callback(session.tasks.discard)
        return await task

    async def _parse(self, session: SessionState, request: web.Request, body: bytes, style: ApiStyle) -> ModelRequest:
        """Parse a request; replace a model's alias by its id."""
        model_request = await session.parse(style, request.path, body)
        if len(model_request.model) > _MAX_MODEL_CHARACTERS:
            message = f"the request is not a JSON object with a model of up to {_MAX_MODEL_CHARACTERS} characters"
            raise InvalidRequestError(message)
        allowed = session.settings.models
        name = resolved_model(model_request.model, self._models if allowed is None else allowed)
        if name is None or name == model_request.model:
            return model_request
        return style.with_model(model_request, name)  # an alias, whose model the provider could change

    def _forwarded(
        self, session: SessionState, upstream: Upstream, request: web.Request, model_request: ModelRequest
    ) -> ForwardedRequest:
        model = self._models.get(model_request.model)
        if not model_request.counting:
            knobs = self._knobs.get(session.settings.role)
            model_request = upstream.style.with_settings(model_request, knobs, model) if knobs else model_request
        session.store_first_request(model_request)
        entry = RequestLogEntry.of(session, model_request, model.price if model else None, upstream.style)
        return ForwardedRequest(self._gateway, upstream, session, model_request, request, entry, model)

    @web.middleware
    async def _require_control(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse control requests without the harness's secret."""
        secret = request.headers.get(CONTROL_HEADER, "")
        if request.path != "/" and not hmac.compare_digest(secret.encode(), self._control.encode()):
            return self._failure(HTTPStatus.FORBIDDEN, "permission_error", "forbidden")
        return await handler(request)

    async def _open(self, request: web.Request) -> web.Response:
        try:
            opening = OpenSessionRequest.model_validate_json(await request.read())
            await self._open_session(opening)
        except ValidationError as error:  # its own text would quote the input, tokens included
            details = error.errors(include_url=False, include_context=False, include_input=False)
            return self._failure(HTTPStatus.BAD_REQUEST, _INVALID, str(details))
        except (ConfigError, OSError) as error:
            return self._failure(HTTPStatus.BAD_REQUEST, _INVALID, str(error))
        return web.Response(status=HTTPStatus.CREATED)

    async def _open_session(self, opening: OpenSessionRequest) -> None:
        path = opening.session.socket
        listener = None if path is None else Listener.at(path, self.sessions.server)
        try:
            self._registry.open(opening.token, self._with_model_ids(opening.session), listener)
        except BaseException:
            if listener is not None:
                await listener.close()
            raise

    def _with_model_ids(self, session: Session) -> Session:
        """Return the session with ids in place of aliases in its list of models."""
        if session.models is None:
            return session
        return session.model_copy(
            update={"models": tuple(resolved_model(name, self._models) or name for name in session.models)}
        )

    async def _close(self, request: web.Request) -> web.Response:
        await self._registry.close(request.match_info["token"], self._gateway.settings.drain_seconds)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _wait_for_end(self, request: web.Request) -> web.Response:
        """Answer when the session ends, by its stop rule or because it is closed."""
        session = self._registry.find(request.match_info["token"])
        if session is not None:
            await session.ended.wait()
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _reserve_for_judges(self, request: web.Request) -> web.Response:
        reserve = JudgeReserveRequest.model_validate_json(await request.read())
        self._gateway.ledger.reserve_for_judges(reserve.cell, reserve.usd)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    def _failure(self, status: HTTPStatus, kind: str, message: str) -> web.Response:
        """Return an error for a request whose API is unknown, in the form of the first style."""
        return failure(next(iter(PROVIDERS[SDK_PROVIDER].styles.values())), status, kind, message)

    def _unknown(self, style: ApiStyle) -> web.Response:
        return failure(style, HTTPStatus.UNAUTHORIZED, "authentication_error", "invalid x-api-key")

    async def _not_found(self, request: web.Request) -> web.Response:
        message = f"{request.method} {request.path[:200]} does not exist"
        return self._failure(HTTPStatus.NOT_FOUND, "not_found_error", message)


def _runner(application: web.Application) -> web.AppRunner:
    # compressed bodies are not decompressed: the header would no longer be true, and they may be huge
    return web.AppRunner(application, access_log=None, shutdown_timeout=0.1, auto_decompress=False)


def _route(request: web.Request) -> str:
    """Return the route of a request, as in `ApiStyle.routes`."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else request.path


async def _status(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _run(start: GatewayStart) -> None:
    """Serve until standard input ends or a signal arrives."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_reader(sys.stdin.fileno(), _stop_at_end, stop)
    loop.set_default_executor(ThreadPoolExecutor(_THREADS))
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
    clients = {
        uses_proxies: aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_SECONDS),
            timeout=timeout,
            auto_decompress=False,
            trust_env=uses_proxies,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        )
        for uses_proxies in (True, False)
    }
    async with clients[True], clients[False], http_session() as other_hosts:
        await _serve(GatewayServer(start, clients, other_hosts), stop)


async def _serve(server: GatewayServer, stop: asyncio.Event) -> None:
    """Listen on two free ports of loopback, for sessions and for the harness, and print them."""
    files = raise_file_limit()
    applications = {server.sessions: files // 2, server.harness: _HARNESS_CONNECTIONS}
    for application in applications:
        await application.setup()
    listeners = [Listener.on_loopback(application.server, most) for application, most in applications.items()]
    gc.freeze()  # imported objects are never garbage, and searching them takes longer than a request may
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    gc.enable()
    print(*(listener.port for listener in listeners), flush=True)  # noqa: T201 the harness waits for it
    await stop.wait()
    for listener in listeners:
        await listener.stop()
    await server.finish()
    for application in applications:
        await application.cleanup()


def _stop_at_end(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1):
        stop.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


def _reuse_freed_memory() -> None:
    """Let malloc keep freed blocks of up to 1 MB: by default, glibc unmaps blocks above 128 kB and maps them again.

    Claude Code's requests are that large and are copied several times; without this they took 7 % more processor time.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # glibc and musl; on musl it does nothing
        library.mallopt(_M_MMAP_THRESHOLD, 1024 * 1024)
        library.mallopt(_M_TRIM_THRESHOLD, 64 * 1024 * 1024)


def main() -> None:
    """Run until the input ends or a signal arrives."""
    close_memory()
    _reuse_freed_memory()
    uvloop.run(_run(GatewayStart.model_validate_json(sys.stdin.buffer.readline())))
