"""First process of a container, which keeps it alive. It runs inside with the library of the image's Python alone.

It has its own user, so other processes in the container can neither end it nor read its memory. The first line of its
input is JSON: the loopback ports to forward to sockets, and the disks to watch. Each later line asks which limits were
hit. When the input ends, it ends, and the container with it.
"""

import contextlib
import json
import os
import select
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

TYPE_CHECKING = False  # `typing` and `asyncio` take longer to load than all else here to start
if TYPE_CHECKING:
    import asyncio

_CGROUP = Path("/sys/fs/cgroup")
_OOM = (_CGROUP / "memory.events", _CGROUP / "memory" / "memory.oom_control")  # version 2 of cgroups, then version 1
_PIDS = (_CGROUP / "pids.events", _CGROUP / "pids" / "pids.events")
_CHUNK = 65536
_CONNECTIONS = 256  # of all programs in the container; each takes two descriptors
_POLL_SECONDS = 0.25
_FULL_BYTES = 65536


class FullDisks:
    """Writable folders that were full at any check."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders
        self.full: set[str] = set()

    def check(self) -> None:
        """Check the folders now."""
        for folder in self._folders:
            state = os.statvfs(folder)
            if state.f_bavail * state.f_frsize < _FULL_BYTES or state.f_favail == 0:
                self.full.add(folder)


def _count(files: tuple[Path, ...], name: str) -> int:
    for file in files:
        with contextlib.suppress(OSError):
            for line in file.read_text().splitlines():
                if line.startswith(f"{name} "):
                    return int(line.split()[1])
    return 0


def _others() -> int:
    """Count the processes beside this one and the first; none of them can hide or be faked."""
    own = {"1", str(os.getpid())}
    return sum(1 for path in Path("/proc").iterdir() if path.name.isdecimal() and path.name not in own)


def _hits(disks: FullDisks) -> dict[str, object]:
    disks.check()
    return {
        "others": _others(),
        "memory": _count(_OOM, "oom_kill"),
        "processes": _count(_PIDS, "max"),
        "disk": sorted(disks.full),
    }


def forward(ports: list[tuple[int, str]], listening: Callable[[], None]) -> None:
    """Forward each loopback port to its socket, for ever; call `listening` once all ports are open."""
    import asyncio

    async def serve() -> None:
        for port, path in ports:
            await asyncio.start_server(_connect(path), "127.0.0.1", port)
        listening()
        await asyncio.Event().wait()

    asyncio.run(serve())


def _connect(path: str) -> "Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]":
    import asyncio

    open_writers: set[asyncio.StreamWriter] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join a connection with a new one to the socket; close it if there is no socket, or too many connections."""
        ends = [writer]
        if len(open_writers) >= _CONNECTIONS:
            writer.close()
            return
        open_writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(path)
            ends.append(far_writer)
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        except OSError:
            return  # one end is gone; closing both tells the other
        finally:
            open_writers.remove(writer)
            for end in ends:
                end.close()

    return handle


async def _copy(reader: "asyncio.StreamReader", writer: "asyncio.StreamWriter") -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()


def _main() -> None:
    settings = json.loads(sys.stdin.readline() or "{}")
    if ports := settings.get("forward"):
        listening = threading.Event()
        threading.Thread(target=forward, args=(ports, listening.set), daemon=True).start()
        listening.wait()
    disks = FullDisks(settings.get("disks", []))
    _answer({"listening": len(ports or ())})
    while True:
        disks.check()  # again and again: a process may fill a disk and empty it afterwards
        if select.select([sys.stdin.fileno()], [], [], _POLL_SECONDS)[0]:
            if not os.read(sys.stdin.fileno(), _CHUNK):
                return
            _answer(_hits(disks))


def _answer(value: dict[str, object]) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 read by the other end


if __name__ == "__main__":
    _main()
