"""A box of the kernel's namespaces, made by `bwrap`: for machines without a container engine.

| | what is in the box |
|---|---|
| processes | its own alone: none of the harness can be seen, traced or signalled |
| files | programs, a few of /etc, pinned tools and the agent's program, to read; workspace, HOME and /tmp to write |
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
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from scylla_gha import proc
from scylla_gha.errors import SandboxError, ToolError
from scylla_gha.model.isolation import Isolation
from scylla_gha.proc import Cancel, Finished, Limits, Streams
from scylla_gha.sandboxes.base import ENVIRONMENT, Box
from scylla_gha.sandboxes.container import GATEWAY_PORT, GATEWAY_SOCKET
from scylla_gha.sandboxes.temporary import temporary

_INSIDE: Final = "/run/scylla"
_USER: Final = 1000
_SCRATCH_BYTES: Final = 512 * 1024 * 1024  # of /tmp, which is in memory
_LAST_CODE: Final = 128  # a process that a signal ended is told as 128 and its number
_END_SECONDS: Final = 10.0
_PROBE_SECONDS: Final = 20.0
# TERM is ignored until the porter gives it back to the agent: bubblewrap, which would die of it at once, and the box
# with it, has to leave the agent the time to tidy up.
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
        """Folders are called what they are."""
        return {folder: str(folder) for folder in (box.cwd, box.home, *box.read_only)}

    def run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None = None
    ) -> Finished:
        """Run a program in a box of its own; nothing of it lives on.

        Raises:
            SandboxError: bubblewrap is missing, or may not make namespaces here.
        """
        if why := lacking():
            raise SandboxError(why)
        env = {**ENVIRONMENT, "PATH": box.path, "HOME": str(box.home), "TMPDIR": str(box.home), **box.extra}
        with temporary() as folder:
            status = folder / "status"
            wrapped = ("/bin/sh", "-c", _START, "sh", str(status), *_command(argv, box))
            finished = proc.run(wrapped, cwd=box.cwd, env=env, streams=streams, limits=limits, cancel=cancel)
            told = _told(status)
            _await_end(told)
        if "exit-code" not in told and not (finished.timed_out or finished.cancelled):
            said = streams.stderr.read_bytes()[-300:].decode(errors="replace").strip()
            raise SandboxError(f"bubblewrap made no box, or was ended from outside (exit code {finished.code}): {said}")
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


def _command(argv: tuple[str, ...], box: Box) -> tuple[str, ...]:
    python = str(Path(sys.executable).resolve())
    ways = [(GATEWAY_PORT, f"{_INSIDE}/sockets/{GATEWAY_SOCKET}")] if box.sockets else []
    return (
        shutil.which("bwrap") or "bwrap", "--json-status-fd", "9", *_ALONE, *_system(),
        *_programs(box.program or argv[0], box.path), *_folders(box), "--chdir", str(box.cwd), "--",
        python, "-I", "-S", f"{_INSIDE}/porter.py", json.dumps(ways), *argv,
    )  # fmt: skip


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


def _programs(program: str, search_path: str) -> Iterator[str]:
    """The Python of this process, the pinned tools, and the agent's own program."""
    roots = {Path(sys.executable).resolve().parent.parent}
    roots |= {place.parent if place.name == "bin" else place for place in map(Path, search_path.split(":"))}
    for root in sorted(root for root in roots if root.is_absolute() and not _is_of_system(root)):
        yield from ("--ro-bind-try", str(root), str(root))
    place = Path(program)
    if not place.is_absolute() or _is_of_system(place) or not place.exists():
        return
    real = place.resolve()
    package = _package(real)
    yield from ("--ro-bind", str(package), str(package))
    if not place.is_relative_to(package):
        yield from ("--symlink", str(real), str(place))


def _package(program: Path) -> Path:
    """What belongs to a program: the npm packages that it was installed with, or it alone."""
    if "node_modules" not in program.parts:
        return program
    return Path(*program.parts[: program.parts.index("node_modules") + 1])


def _is_of_system(place: Path) -> bool:
    return place == Path("/") or place.parts[1] in {"usr", *_TOP}


def _folders(box: Box) -> Iterator[str]:
    """What is the trial's, after all else, so that nothing covers it."""
    for name in ("porter.py", "keeper.py"):
        yield from ("--ro-bind", str(Path(__file__).with_name(name)), f"{_INSIDE}/{name}")
    if box.sockets:
        yield from ("--ro-bind", str(box.sockets), f"{_INSIDE}/sockets")
    for folder in (box.home, box.cwd):
        yield from ("--bind", str(folder), str(folder))
    for folder in box.read_only:
        yield from ("--ro-bind", str(folder), str(folder))
    yield from ("--remount-ro", "/")


def _told(status: Path) -> dict[str, int]:
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
