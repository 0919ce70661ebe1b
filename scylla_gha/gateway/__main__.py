"""Entry point of the gateway's process: it reads settings from standard input, and ends when that ends."""

import asyncio
import ctypes
import os
import signal
import sys

from scylla_gha.gateway.server import serve
from scylla_gha.gateway.settings import GatewaySettings

_PR_SET_DUMPABLE = 4


def _stop_at_end(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1):
        stop.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


async def _run(start: GatewaySettings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_reader(sys.stdin.fileno(), _stop_at_end, stop)
    await serve(start, stop)


def main() -> None:
    """Run until the input ends or a signal arrives."""
    # Prevents other processes of this user from reading its memory or tracing it, and core dumps with the key.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    asyncio.run(_run(GatewaySettings.model_validate_json(sys.stdin.buffer.readline())))


if __name__ == "__main__":
    main()
