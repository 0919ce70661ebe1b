"""The proxy's door: whose request it is, whether its host may be reached, and what the client is told where not."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web

from scylla_gha.proxy import tunnel
from scylla_gha.proxy.addresses import Finder, PrivateError
from scylla_gha.proxy.forward import Errand
from scylla_gha.proxy.target import Target, of_absolute, of_tunnel
from scylla_gha.proxy.visits import Refusal, TooMuchError, Visit, Visits

_CONNECT: Final = "CONNECT"


def is_for_the_proxy(request: web.Request) -> bool:
    """Whether it asks for a tunnel, or for a URL that names a host."""
    return request.method == _CONNECT or not request.raw_path.startswith(("/", "*"))


class Gate:
    """All lanes' way out. `find` gives a lane's by its token."""

    def __init__(
        self, find: Callable[[str], Visits | None], session: aiohttp.ClientSession, finder: Finder | None = None
    ) -> None:
        self._find = find
        self._session = session
        self._finder = finder or Finder()

    def close(self) -> None:
        """Look up no more names."""
        self._finder.close()

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        """Bring the request to its end; it is journalled whatever happens."""
        visits = self._find(password(request.headers))
        if visits is None:
            message = "these proxy credentials are not valid"
            return _told(HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, message)
        is_tunnel = request.method == _CONNECT
        target = of_tunnel(request.raw_path) if is_tunnel else of_absolute(request.raw_path)
        visit = visits.open("connect" if is_tunnel else "http", target)
        if not isinstance(visit, Visit):
            return _refused(visit, target, visits)
        task = asyncio.create_task(self._work(visit, request))
        visits.tasks.add(task)
        task.add_done_callback(visits.tasks.discard)
        return await task

    async def _work(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        try:
            return await self._reach(visit, request)
        except PrivateError:
            visit.error = "private_address"
            message = f"{visit.target.host} leads to an address that is not public, so it is not reached"
            return _told(HTTPStatus.FORBIDDEN, message)
        except TooMuchError:
            return _told(HTTPStatus.FORBIDDEN, "these credentials have moved as many bytes as they may")
        except (OSError, aiohttp.ClientError) as error:
            visit.error = visit.error or "unreachable"
            return _told(HTTPStatus.BAD_GATEWAY, f"{visit.target.authority} cannot be reached ({_kind(error)})")
        except asyncio.CancelledError:
            visit.error = "ended_with_trial"
            raise
        finally:
            visit.close()

    async def _reach(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        permit = visit.visits.permit
        addresses = await self._finder.find(visit.target, permit)
        if visit.target.path is not None:
            return await Errand(self._session, visit, request, visit.visits.token(visit.target)).run(addresses)
        far = await tunnel.dial(addresses, permit.bounds.connect_seconds)
        await tunnel.join(visit, request, far)
        return web.Response()  # for nobody: the connection is closed


def password(headers: Mapping[str, str]) -> str:
    """The password of proxy credentials; empty where there is none."""
    kind, _, value = headers.get("proxy-authorization", "").partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode(errors="replace").partition(":")[2]
    except ValueError:  # no base64, or not even ASCII
        return ""


def _refused(why: Refusal, target: Target | None, visits: Visits) -> web.Response:
    if target is None:
        return _told(HTTPStatus.BAD_REQUEST, "the request names no host that can be read; a name in ASCII is expected, "
                     "a port, no user information, and https only through a tunnel (CONNECT)")  # fmt: skip
    if why == "too_many":
        return _told(HTTPStatus.TOO_MANY_REQUESTS, f"{target.authority} is not reached: too many connections")
    if visits.token(target) is not None:
        return _told(HTTPStatus.FORBIDDEN, f"{target.authority} is reached as http://{target.header}/... through this "
                     "proxy, which speaks https to it and adds a token; a tunnel is not let through")  # fmt: skip
    return _told(HTTPStatus.FORBIDDEN, f"{target.authority} is not among the hosts that this task may reach "
                 f"({visits.permit.words})", f"{target.authority} is not allowed")  # fmt: skip


def _told(status: HTTPStatus, message: str, reason: str | None = None) -> web.Response:
    """An answer of the proxy's own; many clients show no more of it than the reason."""
    headers = {"connection": "close"}
    if status is HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        headers["proxy-authenticate"] = 'Basic realm="proxy"'
    answer = web.Response(status=status, reason=reason, text=f"{message}\n", headers=headers)
    answer.force_close()
    return answer


def _kind(error: Exception) -> str:
    """What went wrong, without what an error might quote."""
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
