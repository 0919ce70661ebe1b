"""The process that keeps a container alive. It runs inside, with the image's own Python and nothing but its library.

It has a user of its own, so what works in the container can neither end it nor read its memory. On its standard input
it is first told which ports of loopback lead to which sockets; every later line asks which limits were hit. When the
input ends, it ends, and the container with it.
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
_CONNECTIONS = 256  # of all programs in the box; each takes two descriptors
_POLL_SECONDS = 0.25
_FULL_BYTES = 65536


class Disks:
    """Which of the writable folders were full at any time that was looked at."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders
        self.full: set[str] = set()
        self.peak_bytes = 0

    def look(self) -> None:
        """Look at them now."""
        used = 0
        for folder in self._folders:
            now = os.statvfs(folder)
            used += (now.f_blocks - now.f_bfree) * now.f_frsize
            if now.f_bavail * now.f_frsize < _FULL_BYTES or now.f_favail == 0:
                self.full.add(folder)
        self.peak_bytes = max(self.peak_bytes, used)


def _count(files: tuple[Path, ...], name: str) -> int:
    for file in files:
        with contextlib.suppress(OSError):
            for line in file.read_text().splitlines():
                if line.startswith(f"{name} "):
                    return int(line.split()[1])
    return 0


def _others() -> int:
    """Processes beside this one and the first; none of them can hide or be faked."""
    own = {"1", str(os.getpid())}
    return sum(1 for path in Path("/proc").iterdir() if path.name.isdecimal() and path.name not in own)


def _hits(disks: Disks) -> dict[str, object]:
    disks.look()
    return {
        "others": _others(),
        "memory": _count(_OOM, "oom_kill"),
        "processes": _count(_PIDS, "max"),
        "disk": sorted(disks.full),
        "disk_peak_bytes": disks.peak_bytes,
    }


def _forward(ports: list[tuple[int, str]], listening: Callable[[], None]) -> None:
    """Let each port of loopback lead to its socket, for ever."""
    import asyncio

    async def serve() -> None:
        for port, path in ports:
            await asyncio.start_server(_to(path), "127.0.0.1", port)
        listening()
        await asyncio.Event().wait()

    asyncio.run(serve())


def _to(path: str) -> "Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]":
    import asyncio

    joined: set[asyncio.StreamWriter] = set()

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join a connection with a new one to the socket; it is closed if that is not there, or there are too many."""
        ends = [writer]
        if len(joined) >= _CONNECTIONS:
            writer.close()
            return
        joined.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(path)
            ends.append(far_writer)
            await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))
        except OSError:
            return  # one end is gone; closing both tells the other
        finally:
            joined.remove(writer)
            for end in ends:
                end.close()

    return join


async def _pass_on(reader: "asyncio.StreamReader", writer: "asyncio.StreamWriter") -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()


def _main() -> None:
    told = json.loads(sys.stdin.readline() or "{}")
    if ports := told.get("forward"):
        listening = threading.Event()
        threading.Thread(target=_forward, args=(ports, listening.set), daemon=True).start()
        listening.wait()
    disks = Disks(told.get("disks", []))
    _say({"listening": len(ports or ())})
    while True:
        disks.look()  # again and again: who fills a disk may empty it afterwards
        if select.select([sys.stdin.fileno()], [], [], _POLL_SECONDS)[0]:
            if not os.read(sys.stdin.fileno(), _CHUNK):
                return
            _say(_hits(disks))


def _say(value: dict[str, object]) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 it is read outside


if __name__ == "__main__":
    _main()
