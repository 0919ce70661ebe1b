"""A box of the kernel's namespaces, made by `bwrap`: for machines without a container engine.

| | what is in the box |
|---|---|
| processes | its own alone: none of the harness can be seen, traced or signalled |
| files | programs, a few of /etc, pinned tools and the agent's program, to read; workspace, HOME and /tmp to write |
| names | neutral ones; nothing of the toolkit, of its scenarios or of the cell |
| network | loopback of its own; the gateway by its socket where the box has sockets, else nothing at all |
| rights | a user of a namespace of its own, without capabilities, who gets none and makes no further namespace |

Not given, other than by Docker: an image of its own (the programs are this machine's), limits on memory, on processes
where the harness is root, and on disk but for /tmp. Where the harness is root, what is in the box is root's by the
kernel's number too; hence /proc's system settings, which ask for that number alone, can only be read.
"""

import contextlib
import functools
import json
import os
import select
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import scylla_gha
from scylla_gha import proc
from scylla_gha.config.library import toolkit_root
from scylla_gha.errors import SandboxError, ToolError
from scylla_gha.model.isolation import Isolation
from scylla_gha.proc import Cancel, Finished, Limits, Streams
from scylla_gha.sandboxes.base import WORKSPACE, Box, environment, named, told
from scylla_gha.sandboxes.container import GATEWAY_PORT, GATEWAY_SOCKET, SOCKETS
from scylla_gha.sandboxes.temporary import temporary

_INSIDE: Final = "/run/box"
_OWN: Final = ("porter.py", "keeper.py", "confine.py")
_TOOLS: Final = "/opt/tools"
_AGENT: Final = "/opt/agent"
_USER: Final = 1000
_SCRATCH_BYTES: Final = 512 * 1024 * 1024  # of /tmp, which is in memory
_LAST_CODE: Final = 128  # a process that a signal ended is told as 128 and its number
_END_SECONDS: Final = 10.0
_PROBE_SECONDS: Final = 20.0
# TERM is ignored until the porter gives it back to the agent: bubblewrap, which would die of it at once, and the box
# with it, has to leave the agent the time to tidy up. The status is for bubblewrap, which closes it in the box.
_START: Final = 'exec 9>"$1"; shift; trap "" TERM; exec "$@"'
_ALONE: Final = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net",
    "--disable-userns", "--uid", str(_USER), "--gid", str(_USER), "--cap-drop", "ALL",
    "--die-with-parent", "--hostname", "box",
)  # fmt: skip
_ETC: Final = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ssl/openssl.cnf",
               "ca-certificates", "pki/tls/certs", "localtime", "nsswitch.conf", "hosts", "passwd", "group",
               "protocols", "services", "mime.types", "os-release", "debian_version")  # fmt: skip
_TOP: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver", "mtrr", "pressure")


class BubblewrapSandbox:
    """Runs in a box of namespaces."""

    name: Final = "bubblewrap"
    user: Final = _USER
    isolation: Final = Isolation(network="gateway", keys="hidden", files="own")

    def inside(self, box: Box) -> dict[Path, str]:
        """The same in every box."""
        return named(box)

    def run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None = None
    ) -> Finished:
        """Run a program in a box of its own; nothing of it lives on.

        Raises:
            SandboxError: bubblewrap is missing, or may not make namespaces here.
        """
        if why := lacking():
            raise SandboxError(why)
        places = {**_programs(box.program or argv[0], box.path), **named(box)}
        env = {**environment(box, places), "PATH": told(box.path, places)}
        with temporary() as folder:
            status = folder / "status"
            inside = tuple(told(arg, places) for arg in (_linked(argv[0]), *argv[1:]))
            wrapped = ("/bin/sh", "-c", _START, "sh", str(status), *_command(inside, box, places, _own(folder)))
            finished = proc.run(wrapped, cwd=box.cwd, env=env, streams=streams, limits=limits, cancel=cancel)
            said = _status(status)
            _await_end(said)
        if "exit-code" not in said and not (finished.timed_out or finished.cancelled):
            why = streams.stderr.read_bytes()[-300:].decode(errors="replace").strip()
            raise SandboxError(f"bubblewrap made no box, or was ended from outside (exit code {finished.code}): {why}")
        return replace(finished, code=_LAST_CODE - finished.code) if finished.code > _LAST_CODE else finished


def lacking() -> str | None:
    """Why no box can be made here, and what to do; None where one can."""
    return _lacking(shutil.which("bwrap"))


@functools.cache
def _lacking(program: str | None) -> str | None:
    """The same of a program: a box is tried once a process."""
    if program is None:
        return "bubblewrap is not installed; on Debian and Ubuntu: apt-get install bubblewrap"
    try:
        tried = proc.capture([program, *_ALONE, *_system(), "true"], seconds=_PROBE_SECONDS)
    except ToolError as error:
        return str(error)
    if tried.code == 0:
        return None
    return (f"bubblewrap makes no box here ({tried.message[-200:]}): it has to be version 0.8 or newer, and this user "
            "has to be allowed user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or "
            "kernel.unprivileged_userns_clone=1)")  # fmt: skip


def _command(argv: tuple[str, ...], box: Box, places: Mapping[Path, str], own: Path) -> tuple[str, ...]:
    ways = [(GATEWAY_PORT, f"{SOCKETS}/{GATEWAY_SOCKET}")] if box.sockets else []
    return (
        shutil.which("bwrap") or "bwrap", "--json-status-fd", "9", "--as-pid-1", *_ALONE, *_system(),
        *_folders(box, places, own), "--chdir", WORKSPACE, "--",
        str(_python()), "-I", "-S", f"{_INSIDE}/porter.py", json.dumps(ways), *argv,
    )  # fmt: skip


def _own(folder: Path) -> Path:
    """A copy of the box's own programs: the path of what is bound can be read in the box."""
    own = folder / "own"
    own.mkdir()
    for name in _OWN:
        shutil.copyfile(Path(__file__).with_name(name), own / name)
    return own


def _python() -> Path:
    """The Python that this process's environment is made of: in the environment itself is the toolkit."""
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return python.resolve() if python.exists() else Path(sys.executable).resolve()


def _system() -> Iterator[str]:
    """What of this machine is in every box."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _TOP:
        place = Path("/", name)
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), str(place))
        elif place.exists():
            yield from ("--ro-bind", str(place), str(place))
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--size", str(_SCRATCH_BYTES), "--tmpfs", "/tmp",  # noqa: S108
                "--size", str(_SCRATCH_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108  # fmt: skip
    for name in _SETTINGS:
        if Path("/proc", name).exists():
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")


def _programs(program: str, search_path: str) -> dict[Path, str]:
    """Python, the pinned tools and the agent's own program, and what they are called in the box."""
    python = _python().parent.parent
    roots = {} if _is_of_system(python) else {python: str(python)}
    tools = [place.parent if place.name == "bin" else place for place in map(Path, search_path.split(":"))]
    for place in dict.fromkeys(tools):
        if place.is_absolute() and not _is_of_system(place) and place not in roots:
            roots[place] = f"{_TOOLS}{len(roots) or ''}" if _TOOLS in roots.values() else _TOOLS
    real = Path(_linked(program))
    if real.is_absolute() and not _is_of_system(real) and real.exists():
        package = _package(real)
        roots[package] = f"{_AGENT}/{real.name}" if package == real else f"{_AGENT}/node_modules"
    return roots


def _linked(program: str) -> str:
    """Where a program really is, if that is not of the system."""
    place = Path(program)
    return program if not place.is_absolute() or _is_of_system(place) else str(place.resolve())


def _hidden(bound: Iterable[Path]) -> Iterator[str]:
    """Cover the toolkit, with its scenarios and solutions, where it was installed into something that is bound."""
    for folder in {Path(scylla_gha.__file__).resolve().parent, toolkit_root().resolve()}:
        if _is_of_system(folder) or any(folder.is_relative_to(root) for root in bound):
            yield from ("--tmpfs", str(folder))


def _package(program: Path) -> Path:
    """What belongs to a program: the npm packages that it was installed with, or it alone."""
    if "node_modules" not in program.parts:
        return program
    return Path(*program.parts[: program.parts.index("node_modules") + 1])


def _is_of_system(place: Path) -> bool:
    return place == Path("/") or place.parts[1] in {"usr", *_TOP}


def _folders(box: Box, places: Mapping[Path, str], own: Path) -> Iterator[str]:
    """What is the trial's, after all else, so that nothing covers it."""
    mine = named(box)
    for folder, name in places.items():
        if folder not in mine:
            yield from ("--ro-bind-try", str(folder), name)
    yield from _hidden(places.keys() - mine.keys())
    yield from ("--ro-bind", str(own), _INSIDE)
    if box.sockets:
        yield from ("--ro-bind", str(box.sockets), SOCKETS)
    for name, folder in box.managed.items():
        yield from ("--ro-bind", str(folder), name)
    for folder, name in mine.items():
        yield from ("--bind" if folder in {box.cwd, box.home} else "--ro-bind", str(folder), name)
    yield from ("--remount-ro", "/")


def _status(status: Path) -> dict[str, int]:
    """What bubblewrap told: its box's first process and namespaces, then the exit code of what ran in it."""
    told: dict[str, int] = {}
    with contextlib.suppress(OSError, ValueError):  # it was ended in the middle of a line
        for line in status.read_text(encoding="utf-8").splitlines():
            told |= json.loads(line)
    return told


def _await_end(told: dict[str, int]) -> None:
    """End what is left in the box, and wait for it: bubblewrap itself may be gone a moment before that."""
    first = told.get("child-pid", 0)
    with contextlib.suppress(OSError):  # gone already
        handle = os.pidfd_open(first)
        try:
            if Path(f"/proc/{first}/ns/pid").stat().st_ino == told.get("pid-namespace"):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], _END_SECONDS)
        finally:
            os.close(handle)
