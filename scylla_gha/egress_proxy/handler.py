"""Request handler of the proxy: find the session, check the host, forward or refuse."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web

from scylla_gha.egress_proxy import (
    EgressPolicy,
    EgressTarget,
    PrivateAddressError,
    Resolver,
    tunnel_target,
    url_target,
)
from scylla_gha.egress_proxy.connections import Connection, ConnectionLimitError, Connections, Refusal
from scylla_gha.egress_proxy.forward import forward_http, tunnel

_CONNECT: Final = "CONNECT"


def is_proxy_request(request: web.Request) -> bool:
    """Tell if a request is a CONNECT, or is for an absolute URL."""
    return request.method == _CONNECT or not request.raw_path.startswith(("/", "*"))


class EgressProxy:
    """The proxy of all sessions. `find` returns a session's connections by its token."""

    def __init__(
        self, find: Callable[[str], Connections | None], http: aiohttp.ClientSession, resolver: Resolver | None = None
    ) -> None:
        self._find = find
        self._http = http
        self._resolver = resolver or Resolver()

    def close(self) -> None:
        """Stop resolving names."""
        self._resolver.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Forward or refuse a request; it is logged in every case."""
        connections = self._find(proxy_password(request.headers))
        if connections is None:
            message = "these proxy credentials are not valid"
            return _response(HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, message)
        is_tunnel = request.method == _CONNECT
        target = tunnel_target(request.raw_path) if is_tunnel else url_target(request.raw_path)
        connection = connections.open("connect" if is_tunnel else "http", target)
        if not isinstance(connection, Connection):
            return _refused(connection, target, connections.policy)
        task = asyncio.create_task(self._run(connection, request))
        connections.tasks.add(task)
        task.add_done_callback(connections.tasks.discard)
        return await task

    async def _run(self, connection: Connection, request: web.Request) -> web.StreamResponse:
        try:
            return await self._forward(connection, request)
        except PrivateAddressError:
            connection.error = "private_address"
            message = f"{connection.target.host} has only addresses that are not public, so it is not reached"
            return _response(HTTPStatus.FORBIDDEN, message)
        except ConnectionLimitError:
            return _response(HTTPStatus.FORBIDDEN, "these credentials have transferred as many bytes as they may")
        except (OSError, aiohttp.ClientError) as error:
            connection.error = connection.error or "unreachable"
            # without the error's message, which might quote the request
            name = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
            message = f"{connection.target.authority} cannot be reached ({name})"
            return _response(HTTPStatus.BAD_GATEWAY, message)
        except asyncio.CancelledError:
            connection.error = "ended_with_trial"
            raise
        finally:
            connection.close()

    async def _forward(self, connection: Connection, request: web.Request) -> web.StreamResponse:
        addresses = await self._resolver.addresses(connection.target, connection.connections.policy)
        if connection.target.path is not None:
            return await forward_http(self._http, connection, request, addresses)
        await tunnel(connection, request, addresses)
        return web.Response()  # not sent: the connection is closed


def proxy_password(headers: Mapping[str, str]) -> str:
    """Return the password of basic proxy credentials, or an empty string."""
    kind, _, value = headers.get("proxy-authorization", "").partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode(errors="replace").partition(":")[2]
    except ValueError:  # not base64, or not ASCII
        return ""


def _refused(refusal: Refusal, target: EgressTarget | None, policy: EgressPolicy) -> web.Response:
    if target is None:
        return _response(HTTPStatus.BAD_REQUEST, "the host of the request cannot be parsed; an ASCII name, a port, no "
                         "user information, and https only through a tunnel (CONNECT) are expected")  # fmt: skip
    if refusal == "too_many":
        return _response(HTTPStatus.TOO_MANY_REQUESTS, f"{target.authority} is not reached: too many connections")
    return _response(HTTPStatus.FORBIDDEN, f"{target.authority} is not among the hosts that this task may reach "
                     f"({policy.description})", f"{target.authority} is not allowed")  # fmt: skip


def _response(status: HTTPStatus, message: str, reason: str | None = None) -> web.Response:
    """Build a response of the proxy itself; many clients show only its reason."""
    headers = {"connection": "close"}
    if status is HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        headers["proxy-authenticate"] = 'Basic realm="proxy"'
    response = web.Response(status=status, reason=reason, text=f"{message}\n", headers=headers)
    response.force_close()
    return response
