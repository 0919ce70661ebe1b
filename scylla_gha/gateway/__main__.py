"""Process of the gateway: it reads its settings from standard input, serves, and ends when that ends."""

import asyncio
import gc
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import aiohttp

from scylla_gha.egress_proxy.forward import http_session
from scylla_gha.gateway.client_connections import Listener, raise_file_limit
from scylla_gha.gateway.server import GatewayServer
from scylla_gha.gateway.settings import GatewayStart
from scylla_gha.providers import close_memory

_CONNECT_SECONDS: Final = 30.0
_KEEP_SECONDS: Final = 10.0  # shorter than a provider keeps an idle connection, so that none is used as it closes
_HARNESS_CONNECTIONS: Final = 256
_THREADS: Final = 64  # a session uses one at a time, however long its request takes, so others have one as well
_GARBAGE_THRESHOLDS: Final = (20_000, 20, 50)  # requests make few cycles, and each search for them holds up all streams


async def _run(start: GatewayStart) -> None:
    """Serve until standard input ends or a signal arrives."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_reader(sys.stdin.fileno(), _stop_at_end, stop)
    loop.set_default_executor(ThreadPoolExecutor(_THREADS))
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS)
    through_proxy = start.settings.base_url.startswith("https:")
    provider = aiohttp.ClientSession(
        connector=connector, timeout=timeout, auto_decompress=False, trust_env=through_proxy,
        cookie_jar=aiohttp.DummyCookieJar(), skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
    )  # fmt: skip
    async with provider, http_session() as other_hosts:
        await _serve(GatewayServer(start, provider, other_hosts), stop)


async def _serve(server: GatewayServer, stop: asyncio.Event) -> None:
    """Listen on two free ports of loopback, for sessions and for the harness, and print them."""
    files = raise_file_limit()
    applications = {server.sessions: files // 2, server.harness: _HARNESS_CONNECTIONS}
    for application in applications:
        await application.setup()
    listeners = [Listener.on_loopback(application.server, most) for application, most in applications.items()]
    gc.freeze()  # what is imported is never garbage, and to search it takes longer than a request may
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
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


def main() -> None:
    """Run until the input ends or a signal arrives."""
    close_memory()
    asyncio.run(_run(GatewayStart.model_validate_json(sys.stdin.buffer.readline())))


if __name__ == "__main__":
    main()
