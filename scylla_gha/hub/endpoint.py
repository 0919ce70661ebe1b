"""HTTP face of one cell's GitHub: hosts, credentials and headers; the answers come from `rest`, `graphql` and git.

The socket of a request selects the cell, and its token the user. Answers are made in threads, one at a time in a cell,
so that no cell holds up another one.
"""

import asyncio
import re
import zlib
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

import orjson
from aiohttp import StreamReader, web, web_protocol
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

from scylla_gha.hub.addresses import API
from scylla_gha.hub.api_calls import api_calls
from scylla_gha.hub.cell import Hub, HubSession
from scylla_gha.hub.client_tokens import ANY_CLIENT, GIT, api_refusal
from scylla_gha.hub.codeload import answer_archive, archive_path
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.faults import LOST, FaultInjector
from scylla_gha.hub.git_http import answer_git, git_operation, refusal
from scylla_gha.hub.graphql.execute import answer
from scylla_gha.hub.http_request import HubRequest, read_request
from scylla_gha.hub.rate_limit import RateLimiter
from scylla_gha.hub.rate_usage import resource_of
from scylla_gha.hub.request_log import RequestEntry, RequestLog, client_name
from scylla_gha.hub.rest import RestAnswer
from scylla_gha.hub.rest.dispatch import failure, handle
from scylla_gha.hub.rest.documentation import documentation_url, operation_of_github
from scylla_gha.hub.scripted_reviewers import ReviewScript
from scylla_gha.system.git import GitOutputError

_SCOPES: Final = "gist, read:org, repo, workflow"
_READING: Final = frozenset({"GET", "HEAD"})
TOO_MUCH: Final = "You have exceeded a secondary rate limit."
_SITES: Final = frozenset({"github.com", "www.github.com"})
_MOST_WRITES: Final = 10_000  # of a trial; GitHub lets an account create 500 objects an hour
_MOST_RECEIVED: Final = 1024 * 1024 * 1024  # bytes of the bodies of a trial's requests
_MOST_AT_ONCE: Final = 16  # requests whose bodies, of up to 64 MB, are kept
_UPLOADS: Final = "https://uploads.github.com"
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_WITHOUT_AGENT: Final = (
    b"Request forbidden by administrative rules. Please make sure your request has a User-Agent header "
    b"(https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api#user-agent). "
    b"Check https://developer.github.com for other possible causes.\n"
)
_ENTERPRISE: Final = re.compile(r"/api/(v3|graphql|uploads)(?=/|$)")


@dataclass
class CellEndpoint:
    """Handler of a cell's requests. `is_foreign` tells if a token belongs to another cell."""

    hub: Hub
    log: RequestLog
    threads: Executor
    is_foreign: Callable[[str], bool]
    limiter: RateLimiter = field(default_factory=RateLimiter)
    script: ReviewScript = field(default_factory=ReviewScript)
    faults: FaultInjector = field(init=False)
    received: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_AT_ONCE))
    _number: int = 0

    def __post_init__(self) -> None:
        """Begin without faults."""
        self.faults = FaultInjector(self.hub)

    def server(self) -> web.Server:
        """Return a server of this endpoint, in the running event loop."""
        return web.Server(self.handle, request_factory=self._request, access_log=None, auto_decompress=False)

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        """Make a request; count one that aiohttp's parser refused, which never reaches `handle`."""
        if message is web_protocol.ERROR:
            entry = RequestEntry("unknown", operation="invalid HTTP", status=HTTPStatus.BAD_REQUEST)
            entry.refuse("not a request of HTTP")
            self.log.add(entry)
        return web.BaseRequest(message, payload, protocol, writer, task, asyncio.get_running_loop())

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request, and note it in the log."""
        entry = RequestEntry(client_name(request.headers.get("User-Agent", "")))
        self._number += 1
        number = self._number
        try:
            async with self._places:
                arrived = await read_request(request, self.threads)
                async with self._turn:
                    reply = await asyncio.get_running_loop().run_in_executor(self.threads, self.answer, arrived, entry)
            reply = _with_base_url(reply, arrived)
            entry.status = reply.status
            if reply is LOST and request.transport is not None:
                request.transport.abort()
        except HubError as error:  # before it could be read
            entry.operation = entry.operation or f"{request.method} {request.raw_path[:100]}"
            entry.refuse(error.message)
            entry.status = error.status
            reply = failure(error)
        finally:
            self.log.add(entry)
        response = self._response(reply, entry, number)
        if entry.refused and not request.content.is_eof():
            response.force_close()  # the rest of the body is not read
        return response

    def answer(self, request: HubRequest, entry: RequestEntry) -> RestAnswer:
        """Answer a request that was read, under the cell's lock."""
        with self.hub.lock, self.log.answering():
            path = _api_path(request)
            reply, entry.fault = self.faults.answered(request, path, lambda: self._done(request, entry))
            entry.calls, entry.target = api_calls(request, path)
            entry.failed = _is_failure(reply, entry.interface)
        return reply

    def _done(self, request: HubRequest, entry: RequestEntry) -> RestAnswer:
        try:
            session = self._session(request, entry)
            self._require_room(request)
            return self._followed(self._dispatch(session, request, entry))
        except RecursionError:
            return failure(HubError(400, "Problems parsing JSON: it is nested too deep"))
        except GitOutputError as error:
            return failure(HubError(422, str(error)))
        except HubError as error:
            return refusal(error) if git_operation(request) and _is_for_site(request) else failure(error)

    def _require_room(self, request: HubRequest) -> None:
        """Refuse what could write, once a trial wrote very much: cells share the memory and disk of this process."""
        self.received += len(request.content)
        if request.method in _READING:
            return
        if self.received > _MOST_RECEIVED or len(self.hub.state.journal) >= _MOST_WRITES:
            raise HubError(HTTPStatus.FORBIDDEN, TOO_MUCH)

    def _session(self, request: HubRequest, entry: RequestEntry) -> HubSession:
        entry.operation = f"{request.method} {request.path[:100]}"
        token = request.token
        if token is not None and token not in self.hub.tokens and self.is_foreign(token):
            entry.refuse_foreign()
        session = self.hub.session(token)
        if session.viewer is not None:
            entry.identity = session.viewer.login
            entry.token = self.hub.token_clients.get(token or "", ANY_CLIENT)
        return session

    def _followed(self, reply: RestAnswer) -> RestAnswer:
        """Return an answer after the reviews that its request leads to."""
        self.script.follow(self.hub)
        return reply

    def _dispatch(self, session: HubSession, request: HubRequest, entry: RequestEntry) -> RestAnswer:
        path = _api_path(request)
        if _is_for_site(request):
            return self._site(session, request, entry)
        if not request.headers.get("user-agent", "").strip():
            return RestAnswer(403, content=_WITHOUT_AGENT, content_type="text/html; charset=utf-8")
        if path == "/graphql" and request.method == "POST":
            entry.interface = "graphql"
        if entry.token == GIT:
            return _refused_to_git(request, path, entry)
        if entry.interface == "graphql":
            return self.limiter.checked(session, "graphql") or _graphql(session, request, entry)
        if path == "/rate_limit":  # which counts against no limit
            return _rest(session, request, path, entry)
        return self.limiter.checked(session, resource_of(path)) or _rest(session, request, path, entry)

    def _site(self, session: HubSession, request: HubRequest, entry: RequestEntry) -> RestAnswer:
        if operation := git_operation(request):
            entry.interface, entry.operation = "git", operation
            return answer_git(session, request)
        entry.interface = "site"
        if (path := archive_path(request)) is not None:
            return answer_archive(session, path, request.query)
        entry.gaps = (entry.operation,)
        return RestAnswer(404, content=b"Not Found\n", content_type="text/plain; charset=utf-8")

    def _response(self, reply: RestAnswer, entry: RequestEntry, number: int) -> web.Response:
        headers = {
            **({"Content-Type": reply.content_type} if reply.body is not None or reply.content is not None else {}),
            "Server": "github.com",
            "X-GitHub-Request-Id": f"{number:04X}:{_checksum(entry.operation):05X}:{number:07X}",
            **(self._limits(entry) if entry.interface in ("rest", "graphql") else {}),
            **({"X-GitHub-Media-Type": "github.v3; format=json"} if entry.interface != "git" else {}),
            **({"X-OAuth-Scopes": _SCOPES, "X-Accepted-OAuth-Scopes": ""} if _is_classic(entry) else {}),
            **reply.headers,
        }
        content = orjson.dumps(reply.body) if reply.body is not None else b""
        content = content if reply.content is None else reply.content
        return web.Response(status=reply.status, body=content, headers=headers)

    def _limits(self, entry: RequestEntry) -> dict[str, str]:
        resource = "graphql" if entry.interface == "graphql" else resource_of(entry.operation.partition(" ")[2])
        return self.limiter.headers(self.hub, entry.identity, resource)


def _is_classic(entry: RequestEntry) -> bool:
    """Return whether the token of a request has scopes; git's is a fine-grained one, which has none."""
    return entry.identity is not None and entry.token != GIT


def _is_failure(reply: RestAnswer, interface: str) -> bool:
    """Return whether a client gets an error. git asks without credentials first, so its 401 is none."""
    if interface == "git" and reply.status == HTTPStatus.UNAUTHORIZED:
        return False
    has_errors = interface == "graphql" and isinstance(reply.body, dict) and "errors" in reply.body
    return reply is LOST or reply.status >= HTTPStatus.BAD_REQUEST or has_errors


def _is_for_site(request: HubRequest) -> bool:
    """Return whether a request is for github.com itself, or for archives; of those to loopback, only git's are."""
    is_git = request.host in _LOOPBACK and git_operation(request) is not None
    is_page = (request.host in _SITES or is_git) and not request.path.startswith("/api/")
    return is_page or archive_path(request) is not None


def _api_path(request: HubRequest) -> str:
    """Return the path at api.github.com; clients with a host of their own send one below /api."""
    if matched := _ENTERPRISE.match(request.path):
        return "/graphql" if matched[1] == "graphql" else request.path[matched.end() :] or "/"
    return request.path


def _with_base_url(reply: RestAnswer, request: HubRequest) -> RestAnswer:
    """Return an answer whose addresses of the API begin with the base URL that a client such as PyGithub has set.

    It is the port of loopback, with or without /api/v3.
    """
    host = request.headers.get("host", "")
    if request.host not in _LOOPBACK or _is_for_site(request) or reply.content is not None:
        return reply
    base = f"http://{host}{'/api/v3' if request.path.startswith('/api/v3') else ''}"
    headers = {name: value.replace(API, base) for name, value in reply.headers.items()}
    body = orjson.dumps(reply.body).replace(f"{API}/".encode(), f"{base}/".encode())
    body = body.replace(f"{_UPLOADS}/".encode(), f"http://{host}/api/uploads/".encode())
    return replace(reply, body=None, content=body if reply.body is not None else None, headers=headers)


def _checksum(operation: str) -> int:
    """Return a number of five hexadecimal digits that depends on the operation alone."""
    return zlib.crc32(operation.encode()) & 0xFFFFF


def _refused_to_git(request: HubRequest, path: str, entry: RequestEntry) -> RestAnswer:
    """Refuse git's token, which has no permission of the API, in the words of REST or of GraphQL."""
    error = api_refusal()
    if entry.interface == "graphql":
        return RestAnswer(200, {"data": None, "errors": [{"type": error.kind, "message": error.message}]})
    operation = operation_of_github("GET" if request.method == "HEAD" else request.method, path) or ""
    return failure(error, documentation_url(operation))


def _graphql(session: HubSession, request: HubRequest, entry: RequestEntry) -> RestAnswer:
    entry.operation = "invalid"
    if session.viewer is None:
        raise HubError(401, "This endpoint requires you to be authenticated.")
    try:
        body = orjson.loads(request.content)
    except orjson.JSONDecodeError:
        raise HubError(400, "Problems parsing JSON") from None
    if not isinstance(body, dict):
        raise HubError(400, "A JSON object is expected")
    outcome = answer(session, body)
    entry.operation, entry.gaps = outcome.operation, outcome.gaps
    return RestAnswer(200, outcome.body)


def _rest(session: HubSession, request: HubRequest, path: str, entry: RequestEntry) -> RestAnswer:
    query = dict(parse_qsl(request.query, keep_blank_values=True))
    outcome = handle(session, request.method, path, query, request.content, request.headers)
    entry.operation = outcome.operation
    entry.gaps = (outcome.gap,) if outcome.gap else ()
    return outcome.answer
