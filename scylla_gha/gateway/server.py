"""The gateway's HTTP application: the Messages API for clients with a lane's dummy key, and the control of lanes."""

import asyncio
import gc
import hmac
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, cast

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.gateway.bearer import Bearer
from scylla_gha.gateway.conversation import FULL
from scylla_gha.gateway.entry import Entry
from scylla_gha.gateway.flight import Desk, Flight
from scylla_gha.gateway.intake import LONGEST_REQUEST, RefusedError
from scylla_gha.gateway.lanes import Channel, Lanes
from scylla_gha.gateway.ledger import Ledger
from scylla_gha.gateway.limiter import Limiters
from scylla_gha.gateway.listener import Listener, raise_file_limit
from scylla_gha.gateway.request import Question, UnfitError, adjust, understand
from scylla_gha.gateway.settings import CONTROL, Keeping, Opening, Start
from scylla_gha.gateway.wire import failure, token_of
from scylla_gha.model.experiment import Knobs
from scylla_gha.proxy import forward
from scylla_gha.proxy.gate import Gate, is_for_the_proxy
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.worth import unfit

_CONNECT_SECONDS: Final = 30.0
_KEEP_SECONDS: Final = 10.0  # shorter than a provider keeps an idle connection, so that none is used as it closes
_LAST_SECONDS: Final = 2.0
_CONTROLS: Final = 256  # connections of the harness's own
_LONG: Final = 128 * 1024  # bytes of a request that takes so long to understand that others would wait
_LONGEST_NAME: Final = 200


class Server:
    """All handlers, and what they share. Agents and judges reach `sessions`, and only the harness reaches `harness`."""

    def __init__(self, start: Start, session: aiohttp.ClientSession, outward: aiohttp.ClientSession) -> None:
        settings = start.settings
        ledger = Ledger.opened(settings.experiment_usd, settings.role_usd, settings.spent_usd)
        for cell, usd in settings.kept_usd.items():
            ledger.hold(cell, usd)
        redactor = Redactor(secret for secret in settings.secrets if unfit(secret) is None)
        bearer = Bearer(settings.federation, settings.upstream) if settings.federation else None
        self._desk = Desk(settings, session, ledger, Limiters(), redactor, bearer)
        self._control = start.control
        self._lanes = Lanes(settings, redactor)
        self._gate = Gate(self._lanes.visits, outward)
        self._models = {model.id: model for model in settings.models}
        self.sessions = _runner(self._messages_api())
        self.harness = _runner(self._controls())

    def _messages_api(self) -> web.Application:
        application = web.Application(middlewares=[self._divert])
        application.router.add_get("/", _here)
        application.router.add_post("/v1/messages", self._messages)
        application.router.add_post("/v1/messages/count_tokens", self._messages)
        application.router.add_route("*", "/{path:.*}", _nothing)
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
        return await (self._gate.pass_on(request) if is_for_the_proxy(request) else handler(request))

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        channel = self._lanes.find(token_of(request.headers))
        if channel is None:
            return _unknown()
        try:
            async with channel.intake.take(request) as body:
                return await self._fly(channel, request, body)
        except RefusedError as refused:
            return refused.answer

    async def _fly(self, channel: Channel, request: web.Request, body: bytes) -> web.StreamResponse:
        try:
            question = await _understood(channel, request, body)
        except UnfitError as error:
            return failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
        if len(question.model) > _LONGEST_NAME:
            message = f"the request is no JSON object with a model of up to {_LONGEST_NAME} characters"
            return failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", message)
        if not channel.is_open:
            return _unknown()
        if channel.journal.is_full:
            return failure(HTTPStatus.FORBIDDEN, "permission_error", FULL.message)
        flight = self._flight(channel, request, question)
        task: asyncio.Task[web.StreamResponse] = asyncio.create_task(flight.land())
        channel.flights.add(task)
        task.add_done_callback(channel.flights.discard)
        return await task

    def _flight(self, channel: Channel, request: web.Request, question: Question) -> Flight:
        model = self._models.get(question.model)
        knobs = self._desk.settings.knobs.get(channel.lane.role, Knobs()).configured()
        if not question.counting:
            question = adjust(question, knobs, model)
        channel.keep_first(question)
        entry = Entry.opened(channel, question, model.price if model else None)
        return Flight(self._desk, channel, question, request, entry, model)

    async def _open(self, request: web.Request) -> web.Response:
        if not self._may_control(request):
            return _forbidden()
        try:
            opening = Opening.model_validate_json(await request.read())
            await self._listen(opening)
        except ValidationError as error:  # not as it words itself: it would quote what it was given, tokens too
            return failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error.errors(
                include_url=False, include_context=False, include_input=False)))  # fmt: skip
        except (ConfigError, OSError) as error:
            return failure(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
        return web.Response(status=HTTPStatus.CREATED)

    async def _listen(self, opening: Opening) -> None:
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
            return _forbidden()
        await self._lanes.close(request.match_info["token"], self._desk.settings.drain_seconds)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    async def _keep(self, request: web.Request) -> web.Response:
        if not self._may_control(request):
            return _forbidden()
        keeping = Keeping.model_validate_json(await request.read())
        self._desk.ledger.hold(keeping.cell, keeping.usd)
        return web.Response(status=HTTPStatus.NO_CONTENT)

    def _may_control(self, request: web.Request) -> bool:
        return hmac.compare_digest(request.headers.get(CONTROL, "").encode(), self._control.encode())


async def serve(start: Start, stop: asyncio.Event) -> None:
    """Serve on two free ports of loopback, for sessions and for the harness, say which, and end when told to stop."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS)
    through_proxy = start.settings.upstream.startswith("https:")
    session = aiohttp.ClientSession(
        connector=connector, timeout=timeout, auto_decompress=False, trust_env=through_proxy,
        cookie_jar=aiohttp.DummyCookieJar(), skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
    )  # fmt: skip
    async with session, forward.session() as outward:
        server = Server(start, session, outward)
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


async def _understood(channel: Channel, request: web.Request, body: bytes) -> Question:
    """The request that these bytes are; long ones are read in a thread, so that other sessions do not wait."""
    counting = request.path.endswith("/count_tokens")
    if len(body) <= _LONG:
        return understand(body, channel.names, counting=counting)
    async with channel.reading:
        return await asyncio.to_thread(understand, body, channel.names, counting=counting)


async def _here(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


def _unknown() -> web.Response:
    message = "invalid x-api-key"
    return failure(HTTPStatus.UNAUTHORIZED, "authentication_error", message)


async def _nothing(request: web.Request) -> web.Response:
    message = f"there is no {request.method} {request.path[:200]}"
    return failure(HTTPStatus.NOT_FOUND, "not_found_error", message)


def _forbidden() -> web.Response:
    return failure(HTTPStatus.FORBIDDEN, "permission_error", "forbidden")
