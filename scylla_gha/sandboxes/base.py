"""Protocol of sandboxes, what each is given, and the names that a process finds inside."""

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Protocol

from scylla_gha.model.experiment import SandboxName, TrialLimits
from scylla_gha.model.sandbox import Isolation
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams

# An allow-list: nothing of the harness's own environment reaches an agent or a check.
ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "USER": "dev",
    "LOGNAME": "dev",
    "SHELL": "/bin/sh",
    # git refuses to commit without a name, and an empty HOME has none
    "GIT_AUTHOR_NAME": "dev",
    "GIT_AUTHOR_EMAIL": "dev@example.com",
    "GIT_COMMITTER_NAME": "dev",
    "GIT_COMMITTER_EMAIL": "dev@example.com",
}

WORKSPACE: Final = "/home/workspace"
HOME: Final = "/home/dev"
SCRATCH: Final = "/tmp"  # noqa: S108 the sandbox's own
SOCKETS: Final = "/run/gateway"  # where the folder of sockets is mounted
GATEWAY_SOCKET: Final = "gateway.sock"  # in the folder of sockets
GATEWAY_PORT: Final = 4141
HUB_SOCKET: Final = "hub.sock"  # of the trial's GitHub, in the folder of sockets
HUB_PORT: Final = 4142
GATEWAY_URL: Final = f"http://127.0.0.1:{GATEWAY_PORT}"  # leads to the gateway's socket inside a sandbox
_TEMPORARY_NAME: Final = re.compile(r"box-(\d+)-\w+")


@dataclass(frozen=True, slots=True)
class SandboxMounts:
    """Folders, PATH and environment of a process in a sandbox. HOME also holds temporary files; `extra` is added.

    The attributes after `extra`, except `programs`, do not apply to the host. In other sandboxes, folders have neutral
    names; paths in the arguments and in `extra` are replaced by those names, and PATH is the image's own.

    Attributes:
        read_only: folders that the process may read and not change.
        image: the image's id.
        sockets: a folder of sockets to the harness's servers (the gateway's is `GATEWAY_SOCKET`), or None: no network.
        has_github: the folder of sockets has that of the trial's GitHub (`HUB_SOCKET`).
        managed: folders for settings of the machine's administrator, by their absolute path inside; read-only.
        keep: whether `cwd` and `home` hold afterwards what the process left in them.
        programs: files and folders of installed programs, by their absolute path inside, for a sandbox that has no
            image; read-only. On the host, those of the root are linked into the folder that `cwd` lies in.
        program: a program of this machine, for a sandbox that has no image; "": the one that is run.
    """

    cwd: Path
    home: Path
    path: str
    extra: Mapping[str, str] = field(default_factory=dict)
    read_only: tuple[Path, ...] = ()
    image: str | None = None
    sockets: Path | None = None
    keep: bool = True
    program: str = ""
    managed: Mapping[str, Path] = field(default_factory=dict)
    programs: Mapping[str, Path] = field(default_factory=dict)
    has_github: bool = False


def forwarded_ports(mounts: SandboxMounts) -> list[tuple[int, str]]:
    """Return the loopback ports that lead to a socket inside."""
    if mounts.sockets is None:
        return []
    ports = {GATEWAY_PORT: GATEWAY_SOCKET, **({HUB_PORT: HUB_SOCKET} if mounts.has_github else {})}
    return [(port, f"{SOCKETS}/{name}") for port, name in ports.items()]


def neutral_names(mounts: SandboxMounts) -> dict[Path, str]:
    """Return the neutral names of the mounted folders."""
    return {mounts.cwd: WORKSPACE, mounts.home: HOME} | {path: f"/home/{path.name}" for path in mounts.read_only}


def environment(mounts: SandboxMounts, names: Mapping[Path, str]) -> dict[str, str]:
    """Return a process's environment without PATH, for folders with these names."""
    extra = {name: translate_paths(value, names) for name, value in mounts.extra.items()}
    return {**ENVIRONMENT, "HOME": HOME, "TMPDIR": SCRATCH, **extra}


def translate_paths(text: str, names: Mapping[Path, str]) -> str:
    """Replace the host's paths in a text by the sandbox's names."""
    for folder in sorted(names, key=lambda folder: len(str(folder)), reverse=True):
        text = text.replace(str(folder), names[folder])
    return text


class Sandbox(Protocol):
    """Place that runs programs which are not trusted. Callers ask its capabilities and never compare its name.

    Attributes:
        name: name in experiments and results.
        user: number of the user that runs in it, as seen inside.
        isolation: isolation that an agent gets, as results state it.
        has_network: processes share the host's network; otherwise only the gateway is reachable, by its socket.
        isolates_keys: processes cannot read the keys that this user's other processes hold.
        isolates_files: processes can change no file of the host but their folders, so their output files are out of
            their reach, and the folders have neutral names inside.
        needs_image: programs come from an image, which has to be built and loaded first.
        limits_resources: it enforces the limits on memory, disk, processes and CPUs.
        shares_folders: host and process see each other's changes of the folders while it runs, not only afterwards.
        allows_keys_in_actions: agents may work in it beside a real key in GitHub Actions.
    """

    name: ClassVar[SandboxName]
    user: ClassVar[int]
    isolation: ClassVar[Isolation]
    has_network: ClassVar[bool]
    isolates_keys: ClassVar[bool]
    isolates_files: ClassVar[bool]
    needs_image: ClassVar[bool]
    limits_resources: ClassVar[bool]
    shares_folders: ClassVar[bool]
    allows_keys_in_actions: ClassVar[bool]

    def missing_reason(self) -> str | None:
        """Return why it cannot be used on this machine and what to do, or None."""

    def check(self) -> None:
        """Check that it can be used, and remove what killed runs left in it.

        Raises:
            SandboxError: it cannot be used.
        """

    def sized(self, limits: TrialLimits) -> "Sandbox":
        """Return the sandbox with an experiment's limits on resources."""

    def run(
        self,
        argv: tuple[str, ...],
        mounts: SandboxMounts,
        streams: ProcessStreams,
        limits: ProcessLimits,
        cancel: Cancel | None = None,
    ) -> FinishedProcess:
        """Run a program until it ends or reaches a limit.

        Raises:
            SandboxError: the sandbox cannot be started, or is lost.
        """


def names_inside(sandbox: Sandbox, mounts: SandboxMounts) -> dict[Path, str]:
    """Return the names of the mounted folders in a sandbox."""
    if sandbox.isolates_files:
        return neutral_names(mounts)
    return {folder: str(folder) for folder in (mounts.cwd, mounts.home, *mounts.read_only)}


@dataclass(frozen=True, slots=True)
class SandboxTarget:
    """Sandbox with the image to run in.

    Attributes:
        sandbox: runs the program.
        image: the image's id in the engine.
        digest: the image's part of a key; None without an image.
        address: the gateway's address inside, if it is reached by a socket; None: the address outside.
    """

    sandbox: Sandbox
    image: str | None = None
    digest: str | None = None
    address: str | None = None


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """Make a temporary folder with a short path, as sockets need it, that only this user may enter.

    The folder's name states the process that made it, which also holds a lock on it: process numbers of another
    namespace mean nothing here.
    """
    with tempfile.TemporaryDirectory(prefix=f"box-{os.getpid()}-") as name, _open_folder(Path(name)) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Path(name)


def remove_stale_folders() -> None:
    """Remove the temporary folders of killed processes of this user."""
    for folder in Path(tempfile.gettempdir()).glob("box-*"):
        match = _TEMPORARY_NAME.fullmatch(folder.name)
        if match and not Path("/proc", match[1]).exists():
            with contextlib.suppress(OSError), _open_folder(folder) as descriptor:  # locked, gone, or not a folder
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.geteuid():
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def socket_folder() -> Iterator[Path]:
    """Make a folder for sockets (`SandboxMounts.sockets`).

    A container's user, who is another one, may enter the folder; it lies in a folder that only this user of the host
    may enter.
    """
    with temporary() as private:
        folder = private / "s"
        folder.mkdir()
        folder.chmod(0o711)
        yield folder
