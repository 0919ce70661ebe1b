"""Stopping the command line in the middle of a step, from outside, and looking for what a killed one left."""

import contextlib
import os
import select
from collections.abc import Iterator
from pathlib import Path

from scylla_gha.sandboxes.docker import engine
from tests.support.processes import wait_for


@contextlib.contextmanager
def writing(path: Path, pid: int) -> Iterator[None]:
    """While a process is held in the middle of writing a file.

    It writes beside the file first, and there it finds a pipe that is full.
    """
    pipe = path.with_name(f".{path.name}.{pid}.tmp")
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _fill(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        poll = select.poll()
        poll.register(reader, 0)
        # it is hung up until somebody opens it again
        assert wait_for(lambda: not poll.poll(0) or _ended(pid)), f"{path} was not written"
        yield
    finally:
        os.close(reader)
        pipe.unlink()


def _ended(pid: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def _fill(writer: int) -> None:
    try:
        while True:
            os.write(writer, bytes(1 << 12))
    except BlockingIOError:
        os.close(writer)


def pids_below(folder: Path) -> list[int]:
    """The processes that work in a folder, or name it in their arguments."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):  # it has ended
                words = (process / "cmdline").read_bytes().decode(errors="replace")
                if f"{folder}/" in words or (process / "cwd").readlink().is_relative_to(folder):
                    found.append(int(process.name))
    return found


def processes_below(folder: Path) -> list[str]:
    """Their command lines."""
    return [_command(pid) for pid in pids_below(folder)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "one that has just ended"


def is_running(*argv: str) -> bool:
    """Return whether a process of this command line runs, in whichever box."""
    wanted = "".join(f"{word}\0" for word in argv).encode()
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdecimal() and (process / "cmdline").read_bytes() == wanted:
                return True
    return False


def in_the_engine(pid: int) -> list[str]:
    """The containers and volumes of a harness, by its process id."""
    with contextlib.closing(engine.connect()) as api:
        things = [
            *api.containers(all=True, filters={"label": engine.TOOLKIT_LABEL}),
            *(api.volumes(filters={"label": engine.TOOLKIT_LABEL})["Volumes"] or ()),
        ]
        return [str(thing) for thing in things if f"/{pid}/" in thing["Labels"].get(engine.OWNER_LABEL, "")]
