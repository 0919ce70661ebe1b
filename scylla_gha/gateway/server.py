"""The gateway's HTTP application: the Messages API for clients with a lane's dummy key, and the control of lanes."""

import asyncio
import gc
import hmac
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Final, cast

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from scylla_gha.egress_proxy.forward import http_session
from scylla_gha.egress_proxy.handler import EgressProxy, is_proxy_request
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.budget import BudgetLedger
from scylla_gha.gateway.conversation import FULL
from scylla_gha.gateway.forward import ForwardedRequest, GatewayState
from scylla_gha.gateway.headers import failure
from scylla_gha.gateway.limiter import Limiters
from scylla_gha.gateway.listener import Listener, raise_file_limit
from scylla_gha.gateway.log_entry import RequestLogEntry
from scylla_gha.gateway.session_limits import LONGEST_REQUEST, SessionLimitError
from scylla_gha.gateway.sessions import SessionRegistry, SessionState
from scylla_gha.gateway.settings import CONTROL, GatewaySettings, OpenedSession, RecordingSettings
from scylla_gha.model.experiment import ModelKnobs
from scylla_gha.providers.base import InvalidRequestError, ModelRequest
from scylla_gha.redaction.patterns import unsearchable_reason
from scylla_gha.redaction.redactor import Redactor

_CONNECT_SECONDS: Final = 30.0
_KEEP_SECONDS: Final = 10.0  # shorter than a provider keeps an idle connection, so that none is used as it closes
_LAST_SECONDS: Final = 2.0
_CONTROLS: Final = 256  # connections of the harness's own
_LONG: Final = 4096  # bytes of a request; a longer one may be made so that others would wait while it is understood
_LONGEST_NAME: Final = 200
_THREADS: Final = 64  # a session takes one at a time, however long its request takes: so others have one as well


class GatewayServer:
    """All handlers, and what they share. Agents and judges reach `sessions`, and only the harness reaches `harness`."""

    def __init__(self, start: GatewaySettings, session: aiohttp.ClientSession, outward: aiohttp.ClientSession) -> None:
        settings = start.settings
        ledger = BudgetLedger.opened(settings.experiment_usd, settings.role_usd, settings.spent_usd)
        for cell, usd in settings.kept_usd.items():
            ledger.hold(cell, usd)
        redactor = Redactor(secret for secret in settings.secrets if unsearchable_reason(secret) is None)
        bearer = settings.api.token_source(settings.federation, settings.base_url) if settings.federation else None
        self._desk = GatewayState(settings, session, ledger, Limiters(), redactor, bearer)
        self._control = start.control
        self._provider = settings.api
        self._lanes = SessionRegistry(settings, redactor)
        self._gate = EgressProxy(self._lanes.visits, outward)
        self._models = {model.id: model for model in settings.models}
        self.sessions = _runner(self._model_api())
        self.harness = _runner(self._controls())

    def _model_api(self) -> web.Application:
        application = web.Application(middlewares=[self._divert])
        application.router.add_get("/", _here)
        for path in self._provider.routes:
            application.router.add_post(path, self._messages)
        application.router.add_route("*", "/{path:.*}", self._not_found)
        return application

    def _controls(self) -> web.Application:
        application = web.Application(client_max_size=LONGEST_REQUEST)
        application.router.add_get("/", _here)
        application.router.add_post("/control/lanes", self._open)
        application.router.add_delete("/control/lanes/{token}", self._close)
        application.router.add_put("/control/kept", self._keep)
        return application

    async def land(self) -> None:
        """Let what is in flight end, for a moment."""
        await self._lanes.close_all(_LAST_SECONDS)
        self._gate.close()

    @web.middleware
    async def _divert(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """What is for other hosts than this server is for the proxy."""
        return await (self._gate.handle(request) if is_proxy_request(request) else handler(request))

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        channel = self._lanes.find(self._provider.session_token(request.headers))
        if channel is None:
            return self._unknown()
        try:
            async with channel.intake.take(request) as body:
                return await self._fly(channel, request, body)
        except SessionLimitError as error:
            response = self._failure(error.status, error.kind, str(error))
            response.force_close()  # the rest of the body is not read
            return response

    async def _fly(self, channel: SessionState, request: web.Request, body: bytes) -> web.StreamResponse:
        try:
            question = await _understood(channel, request, body)
        except InvalidRequestError as error:
            return self._failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
        if len(question.model) > _LONGEST_NAME:
            message = f"the request is no JSON object with a model of up to {_LONGEST_NAME} characters"
            return self._failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", message)
        if not channel.is_open:
            return self._unknown()
        if channel.journal.is_full:
            return self._failure(HTTPStatus.FORBIDDEN, "permission_error", FULL.message)
        flight = self._flight(channel, request, question)
        task: asyncio.Task[web.StreamResponse] = asyncio.create_task(flight.land())
        channel.flights.add(task)
        task.add_done_callback(channel.flights.discard)
        return await task

    def _flight(self, channel: SessionState, request: web.Request, question: ModelRequest) -> ForwardedRequest:
        model = self._models.get(question.model)
        knobs = self._desk.settings.knobs.get(channel.lane.role, ModelKnobs()).configured()
        if not question.counting:
            question = self._provider.with_settings(question, knobs, model)
        channel.keep_first(question)
        entry = RequestLogEntry.opened(channel, question, model.price if model else None)
        return ForwardedRequest(self._desk, channel, question, request, entry, model)

    async def _open(self, request: web.Request) -> web.Response:
        if not self._may_control(request):
            return self._forbidden()
        try:
            opening = OpenedSession.model_validate_json(await request.read())
            await self._listen(opening)
        except ValidationError as error:  # not as it words itself: it would quote what it was given, tokens too
            return self._failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error.errors(
                include_url=False, include_context=False, include_input=False)))  # fmt: skip
        except (ConfigError, OSError) as error:
            return self._failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
        return web.Response(status=HTTPStatus.CREATED)

    async def _listen(self, opening: OpenedSession) -> None:
        """Open the lane, on its socket where it has one."""
        place = opening.lane.socket
        listener = None if place is None else Listener.at(place, _protocol(self.sessions))
        try:
            self._lanes.open(opening.token, opening.lane, listener)
        except BaseException:
            if listener is not None:
                await listener.close()
            raise

    async def _close(self, request: web.Request) -> web.Response:
        if not self._may_control(request):
            return self._forbidden()
        await self._lanes.close(request.match_info["token"], self._desk.settings.drain_seconds)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _keep(self, request: web.Request) -> web.Response:
        if not self._may_control(request):
            return self._forbidden()
        keeping = RecordingSettings.model_validate_json(await request.read())
        self._desk.ledger.hold(keeping.cell, keeping.usd)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    def _may_control(self, request: web.Request) -> bool:
        return hmac.compare_digest(request.headers.get(CONTROL, "").encode(), self._control.encode())

    def _failure(self, status: HTTPStatus, kind: str, message: str) -> web.Response:
        return failure(self._provider, status, kind, message)

    def _unknown(self) -> web.Response:
        return self._failure(HTTPStatus.UNAUTHORIZED, "authentication_error", "invalid x-api-key")

    async def _not_found(self, request: web.Request) -> web.Response:
        message = f"{request.method} {request.path[:200]} does not exist"
        return self._failure(HTTPStatus.NOT_FOUND, "not_found_error", message)

    def _forbidden(self) -> web.Response:
        return self._failure(HTTPStatus.FORBIDDEN, "permission_error", "forbidden")


async def serve(start: GatewaySettings, stop: asyncio.Event) -> None:
    """Serve on two free ports of loopback, for sessions and for the harness, say which, and end when told to stop."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS)
    through_proxy = start.settings.base_url.startswith("https:")
    session = aiohttp.ClientSession(
        connector=connector, timeout=timeout, auto_decompress=False, trust_env=through_proxy,
        cookie_jar=aiohttp.DummyCookieJar(), skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
    )  # fmt: skip
    async with session, http_session() as outward:
        server = GatewayServer(start, session, outward)
        files = raise_file_limit()
        runners = [server.sessions, server.harness]
        listeners = [
            await _listening(runner, most) for runner, most in zip(runners, (files // 2, _CONTROLS), strict=True)
        ]
        gc.freeze()  # what is imported lives for ever; to search it for garbage takes longer than a request may
        print(*(listener.port for listener in listeners), flush=True)  # noqa: T201 what the harness waits for
        await stop.wait()
        for listener in listeners:
            await listener.stop()
        await server.land()
        for runner in runners:
            await runner.cleanup()


def _runner(application: web.Application) -> web.AppRunner:
    # what is compressed stays so: it would be passed on under a header that is no longer true, and may be huge
    return web.AppRunner(application, access_log=None, shutdown_timeout=0.1, auto_decompress=False)


async def _listening(runner: web.AppRunner, most: int) -> Listener:
    await runner.setup()
    return Listener.on_loopback(_protocol(runner), most)


def _protocol(runner: web.AppRunner) -> Callable[[], asyncio.BaseProtocol]:
    """What speaks HTTP on a connection, of a runner that is set up."""
    return cast("web.Server", runner.server)


async def _understood(channel: SessionState, request: web.Request, body: bytes) -> ModelRequest:
    """The request that these bytes are; long ones are read in a thread, so that other sessions do not wait."""
    parse = channel.provider.parse
    if len(body) <= _LONG:
        return parse(request.path, body, channel.names.hide)
    async with channel.reading:
        return await asyncio.to_thread(parse, request.path, body, channel.names.hide)


async def _here(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})
