"""The gateway's process: settings in on standard input, the port out, an end when the input ends or at SIGTERM."""

import asyncio
import ctypes
import os
import signal
import sys

from scylla_gha.gateway.server import serve
from scylla_gha.gateway.settings import Start

_PR_SET_DUMPABLE = 4


def _stop_at_end(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1):
        stop.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


async def _run(start: Start) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.add_reader(sys.stdin.fileno(), _stop_at_end, stop)
    await serve(start, stop)


def main() -> None:
    """Run until the harness says or ceases to be."""
    # No other process of this user may read its memory or trace it, and no core dump holds the key.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    asyncio.run(_run(Start.model_validate_json(sys.stdin.buffer.readline())))


if __name__ == "__main__":
    main()
