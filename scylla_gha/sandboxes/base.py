"""Protocol of sandboxes, the mounts and environment of a process, and the names of folders inside."""

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

# An allow-list, so that no variable of the harness reaches an agent or a check.
ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "USER": "dev",
    "LOGNAME": "dev",
    "SHELL": "/bin/sh",
    # git refuses to commit without a name, and an empty HOME has no settings with a name.
    "GIT_AUTHOR_NAME": "dev",
    "GIT_AUTHOR_EMAIL": "dev@example.com",
    "GIT_COMMITTER_NAME": "dev",
    "GIT_COMMITTER_EMAIL": "dev@example.com",
}

WORKSPACE: Final = "/home/workspace"
HOME: Final = "/home/dev"
SCRATCH: Final = "/tmp"  # noqa: S108 the sandbox's own
SOCKETS: Final = "/run/gateway"  # mount point of the folder of sockets
GATEWAY_SOCKET: Final = "gateway.sock"  # in the folder of sockets
GATEWAY_PORT: Final = 4141
HUB_SOCKET: Final = "hub.sock"  # of the trial's GitHub, in the folder of sockets
HUB_PORT: Final = 4142
GATEWAY_URL: Final = f"http://127.0.0.1:{GATEWAY_PORT}"  # inside a sandbox, leads to the gateway's socket
_TEMPORARY_NAME: Final = re.compile(r"box-(\d+)-\w+")


@dataclass(frozen=True, slots=True)
class SandboxMounts:
    """Folders, PATH and environment of a process in a sandbox.

    The host sandbox ignores the attributes after `extra`, except `programs`. In other sandboxes, folders have fixed
    names, which replace paths in the arguments and in `extra`; with an image, PATH is the image's own.

    Attributes:
        cwd: working folder.
        home: HOME; on the host also the folder of temporary files.
        path: PATH.
        extra: variables to add to the environment.
        read_only: folders that the process may read but not change.
        image: id of the image.
        sockets: folder of sockets to the harness's servers (the gateway's is `GATEWAY_SOCKET`); None: no network.
        keep: True if the process's changes of `cwd` and `home` have to remain afterwards.
        program: program of this machine to provide in a sandbox without an image; "": the program to run.
        managed: read-only folders for settings of the machine's administrator, by their absolute path inside.
        programs: read-only files and folders of installed programs by their absolute path inside, for a sandbox without
            an image. On the host, those at the root are linked into the folder above `cwd`.
        has_github: True if the folder of sockets has the socket of the trial's GitHub (`HUB_SOCKET`).
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
    """Return the loopback ports in a sandbox, each with the socket that it leads to."""
    if mounts.sockets is None:
        return []
    ports = {GATEWAY_PORT: GATEWAY_SOCKET, **({HUB_PORT: HUB_SOCKET} if mounts.has_github else {})}
    return [(port, f"{SOCKETS}/{name}") for port, name in ports.items()]


def fixed_names(mounts: SandboxMounts) -> dict[Path, str]:
    """Return the mounted folders' fixed names in a sandbox, which reveal nothing about the trial."""
    return {mounts.cwd: WORKSPACE, mounts.home: HOME} | {path: f"/home/{path.name}" for path in mounts.read_only}


def environment(mounts: SandboxMounts, names: Mapping[Path, str]) -> dict[str, str]:
    """Return a process's environment without PATH, with these names instead of the host's paths."""
    extra = {name: translate_paths(value, names) for name, value in mounts.extra.items()}
    return {**ENVIRONMENT, "HOME": HOME, "TMPDIR": SCRATCH, **extra}


def translate_paths(text: str, names: Mapping[Path, str]) -> str:
    """Replace the host's paths in a text by the sandbox's names."""
    for folder in sorted(names, key=lambda folder: len(str(folder)), reverse=True):
        text = text.replace(str(folder), names[folder])
    return text


class Sandbox(Protocol):
    """Environment that runs untrusted programs. Callers use its capabilities and never compare its name.

    Attributes:
        name: name in experiments and results.
        user: id of the user of its processes, as seen inside.
        isolation: isolation of an agent, as results state it.
        has_network: processes share the host's network; otherwise they only reach the gateway, through its socket.
        isolates_keys: processes cannot read keys of this user's other processes.
        isolates_files: processes can change files of the host only in their folders, which have fixed names inside.
            So they cannot reach the files that store their output.
        needs_image: programs come from an image, which has to be built and loaded first.
        limits_resources: the sandbox enforces the limits on memory, disk, processes and CPUs.
        shares_folders: host and process see each other's changes of the folders while the process runs.
        allows_keys_in_actions: agents may run in it in GitHub Actions while the job has a real key.
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
        """Return why it cannot be used on this machine, and what to do; None if it can."""

    def check(self) -> None:
        """Check that it can be used, and remove what killed runs left behind.

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
        return fixed_names(mounts)
    return {folder: str(folder) for folder in (mounts.cwd, mounts.home, *mounts.read_only)}


@dataclass(frozen=True, slots=True)
class SandboxTarget:
    """A sandbox and its image.

    Attributes:
        sandbox: the sandbox.
        image: id of the image in the engine.
        digest: the image's part of a key; None: no image.
        address: address of the gateway inside, if it is reached through a socket; None: the address on the host.
    """

    sandbox: Sandbox
    image: str | None = None
    digest: str | None = None
    address: str | None = None


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """Make a temporary folder that only this user may enter; its path is short enough for sockets.

    Its name contains this process's id. The process also locks the folder, since ids of other namespaces' processes
    cannot be looked up.
    """
    with tempfile.TemporaryDirectory(prefix=f"box-{os.getpid()}-") as name, _open_folder(Path(name)) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Path(name)


def remove_stale_folders() -> None:
    """Remove the temporary folders that killed processes of this user left behind."""
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

    A container's user may enter it. On the host, only this user may, since it is in a folder that only this user may
    enter.
    """
    with temporary() as private:
        folder = private / "s"
        folder.mkdir()
        folder.chmod(0o711)
        yield folder
