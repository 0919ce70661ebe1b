"""One container: made, fed, asked, frozen, emptied and removed through the engine's interface."""

import contextlib
import functools
import json
import os
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from scylla_gha.errors import SandboxError
from scylla_gha.model import experiment
from scylla_gha.proc import Hit, Limits
from scylla_gha.sandboxes import engine
from scylla_gha.sandboxes.base import Box
from scylla_gha.sandboxes.keeping import Keeper
from scylla_gha.sandboxes.temporary import temporary

if TYPE_CHECKING:
    from docker import APIClient

AGENT: Final = 10001  # the user of what is not trusted
KEEPER: Final = 10002
KEEPER_FILE: Final = "/opt/box/keeper.py"
CONFINE_FILE: Final = "/opt/box/confine.py"
CONFINE: Final = f"/usr/bin/python3 -I -S {CONFINE_FILE}"  # becomes the program that follows
GATEWAY_SOCKET: Final = "gateway.sock"  # in the box's folder of sockets
GATEWAY_PORT: Final = 4141
GATEWAY_URL: Final = f"http://127.0.0.1:{GATEWAY_PORT}"  # where a process in the box finds it
SOCKETS: Final = "/run/gateway"
_MEGA: Final = 1 << 20
_MORE_PAUSES: Final = 3


@dataclass(frozen=True, slots=True)
class Size:
    """What a container may use. Its folders are in memory and counted apart, so a full disk takes none from programs.

    `disk_bytes` is for workspace and HOME together, `scratch_bytes` for /tmp.
    """

    memory_bytes: int = 4096 * _MEGA
    disk_bytes: int = 2048 * _MEGA
    scratch_bytes: int = 512 * _MEGA
    files: int = 500_000
    processes: int = 512
    cpus: float = 2.0


def size_of(limits: experiment.Limits) -> Size:
    """The size that an experiment gives each container."""
    return Size(memory_bytes=limits.memory_mb * _MEGA, disk_bytes=limits.disk_mb * _MEGA,
                processes=limits.processes, cpus=limits.cpus)  # fmt: skip


@contextlib.contextmanager
def socket_folder() -> Iterator[Path]:
    """A new folder for sockets, with a short path, as they must have; a box's `sockets`.

    The folder may be entered by anybody who finds it, so by a container's user, and lies in one that only this user of
    the host may enter.
    """
    with temporary() as private:
        folder = private / "s"
        folder.mkdir()
        folder.chmod(0o711)
        yield folder


@dataclass(frozen=True, slots=True)
class Process:
    """A process that the engine starts in the container when its stream is opened."""

    api: "APIClient"
    id: str
    on_terminal: bool = False

    @contextlib.contextmanager
    def stream(self) -> Iterator[socket.socket]:
        """Start it: its input and both outputs."""
        with _socket(self.api.exec_start(self.id, socket=True, tty=self.on_terminal)) as stream:
            yield stream

    def resize(self, rows: int, columns: int) -> bool:
        """Tell its terminal the size; False where that is not there yet, or no more."""
        from docker.errors import APIError

        try:
            self.api.exec_resize(self.id, height=rows, width=columns)
        except APIError:
            return False
        return True

    def running(self) -> bool:
        """Whether the engine says that it has not ended."""
        return bool(self.api.exec_inspect(self.id)["Running"])

    def code(self) -> int | None:
        """Its exit code as a shell tells it; None where it had not ended."""
        code: int | None = self.api.exec_inspect(self.id)["ExitCode"]
        return code


@dataclass(frozen=True, slots=True)
class Container:
    """A container that runs."""

    api: "APIClient"
    name: str
    size: Size
    keeper: Keeper

    def put(self, folder: str, archive: IO[bytes]) -> None:
        """Lay out a tar stream in a folder."""
        # in chunks of our own: the client would send a file of no known length line by line
        self.api.put_archive(self.name, folder, iter(lambda: archive.read(_MEGA), b""))

    def get(self, folder: str) -> Iterable[bytes]:
        """A folder as a tar stream."""
        chunks: Iterable[bytes] = self.api.get_archive(self.name, folder)[0]
        return chunks

    def process(self, argv: tuple[str, ...], cwd: str, env: Mapping[str, str], *, on_terminal: bool = False) -> Process:
        """A process that is not trusted."""
        made = self.api.exec_create(self.name, list(argv), stdin=True, user=f"{AGENT}:{AGENT}", workdir=cwd,
                                    environment=dict(env), tty=on_terminal)  # fmt: skip
        return Process(self.api, made["Id"], on_terminal)

    def ask_to_end(self) -> None:
        """Send TERM to all that is not trusted; where not even that can be started, the end will be KILL."""
        from docker.errors import APIError

        with contextlib.suppress(APIError):
            made = self.api.exec_create(self.name, ["/bin/sh", "-c", "kill -TERM -1"], user=f"{AGENT}:{AGENT}")
            self.api.exec_start(made["Id"], detach=True)

    def ready(self) -> None:
        """Wait until the keeper forwards what it is to forward.

        Raises:
            SandboxError: it does not, or has ended.
        """
        if self.keeper.listen() is None:
            raise SandboxError("a container ended at once, or does not answer; look at the engine's log")

    def freeze(self) -> tuple[frozenset[Hit], str]:
        """Stop all processes where they are; which limits they had hit, and in words."""
        self.keeper.tell("hits")
        told = self.keeper.listen()
        if told is None or told["others"]:
            self._pause()
        if told is None:
            return frozenset({Hit.LOST}), "the container does not answer"
        found = {Hit.MEMORY: told["memory"], Hit.PROCESSES: told["processes"], Hit.DISK: told["disk"]}
        words = {
            Hit.MEMORY: f"{told['memory']} processes were ended for want of memory: limits.memory_mb is "
            f"{self.size.memory_bytes // _MEGA}",
            Hit.PROCESSES: f"limits.processes is {self.size.processes}",
            Hit.DISK: f"full: {', '.join(map(self._disk, told['disk']))}",
        }
        hits = [hit for hit, seen in found.items() if seen]
        return frozenset(hits), "; ".join(words[hit] for hit in hits)

    def _pause(self) -> None:
        """Pause it. Where too many processes run for the kernel to stop them all at once, they are ended before.

        The engine's words for that are `unable to freeze`, see moby/moby#48205 and opencontainers/runc#2791.
        """
        from docker.errors import APIError

        for _ in range(_MORE_PAUSES):
            with contextlib.suppress(APIError):
                return self.api.pause(self.name)
            self._end_all()
        return self.api.pause(self.name)

    def _end_all(self) -> None:
        """Send KILL to all that is not trusted, from a container beside this one, in which none more may start."""
        name = f"{self.name}-end"
        limits = self.api.create_host_config(pid_mode=f"container:{self.name}", network_mode="none", read_only=True,
                                             cap_drop=["ALL"], security_opt=["no-new-privileges"])  # fmt: skip
        self.api.create_container(self.api.inspect_container(self.name)["Image"], ["/bin/sh", "-c", "kill -KILL -1"],
                                  name=name, user=f"{AGENT}:{AGENT}", labels=_labels(), host_config=limits)  # fmt: skip
        try:
            self.api.start(name)
            self.api.wait(name)
        finally:
            engine.remove(self.api, name)

    def _disk(self, folder: str) -> str:
        """A full folder, and what is to be changed where that can be."""
        return f"{folder}, where limits.disk_mb is {self.size.disk_bytes // _MEGA}" if folder == "/home" else folder


@contextlib.contextmanager
def opened(api: "APIClient", image: str, size: Size, box: Box, limits: Limits) -> Iterator[Container]:
    """A container that runs, and is removed afterwards, whatever happens: while the caller goes on, after a good end.

    It also ends by itself, with its folders, when this process does: the keeper's input ends then.

    Raises:
        SandboxError: the image is not there, or the container does not start.
    """
    name = f"box-{uuid.uuid4().hex}"  # known before there is a container, so that none can be lost
    remove: Callable[[str], None] = functools.partial(engine.remove, api)  # nothing in it may run on
    try:
        with _started(api, name, image, _settings(size, box, limits)) as stream:
            keeper = Keeper(stream)
            keeper.tell(_plan(box))
            yield Container(api, name, size, keeper)
        remove = engine.remove_behind  # all in it has ended, or is frozen
    finally:
        remove(name)


@contextlib.contextmanager
def _started(api: "APIClient", name: str, image: str, settings: Mapping[str, Any]) -> Iterator[socket.socket]:
    """Make and start a container; its first process's input and output."""
    from docker.errors import APIError, ImageNotFound

    with contextlib.ExitStack() as stack:
        try:
            if engine.OURS not in (api.inspect_image(image)["Config"]["Labels"] or {}):  # type: ignore[no-untyped-call]
                raise SandboxError(f"{image} is no image of the toolkit's; `scylla-gha image list` shows those")
            api.create_container(
                image, ["/usr/bin/python3", "-I", "-S", KEEPER_FILE], name=name, hostname="box",
                user=f"{KEEPER}:{KEEPER}", stdin_open=True, labels=_labels(),
                host_config=api.create_host_config(**settings),
            )  # fmt: skip
            keeper = stack.enter_context(_socket(api.attach_socket(name, {"stdin": 1, "stdout": 1, "stream": 1})))
            api.start(name)
        except ImageNotFound:
            raise SandboxError(
                f"the image {image} is not in the engine; build it by `scylla-gha image build`"
            ) from None
        except APIError as error:
            raise SandboxError(f"the engine makes no container of {image}: {error.explanation or error}") from None
        yield keeper


def _labels() -> dict[str, str]:
    return {engine.OURS: "1", engine.OWNER: engine.owner()}


def _settings(size: Size, box: Box, limits: Limits) -> dict[str, Any]:
    """What holds for all that runs in the container; memory and its disks in memory are limited together."""
    from docker.types import DriverConfig, LogConfig, Mount, Ulimit

    disk = f"size={size.disk_bytes},nr_inodes={size.files},mode=0755,nosuid,nodev"
    mounts = [Mount("/home", None, type="volume", no_copy=True, labels=_labels(),
                    driver_config=DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": disk}))]  # fmt: skip
    if box.sockets is not None:
        mounts.append(Mount(SOCKETS, str(box.sockets), type="bind", read_only=True))
    mounts += [Mount(place, str(folder), type="bind", read_only=True) for place, folder in box.managed.items()]
    memory = size.memory_bytes + size.disk_bytes + size.scratch_bytes
    return {
        "network_mode": "none", "read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges"],
        "init": True, "ipc_mode": "private", "auto_remove": True, "log_config": LogConfig(type="none"),
        "mounts": mounts,
        "tmpfs": {"/tmp": f"size={size.scratch_bytes},nr_inodes={size.files},mode=1777,nosuid,nodev,exec"},  # noqa: S108
        "shm_size": 64 * _MEGA, "mem_limit": memory, "memswap_limit": memory, "pids_limit": size.processes,
        "nano_cpus": int(min(size.cpus, os.cpu_count() or 1) * 1e9),
        "ulimits": [Ulimit(name="core", soft=0, hard=0),
                    Ulimit(name="fsize", soft=limits.file_bytes, hard=limits.file_bytes)],
    }  # fmt: skip


def _plan(box: Box) -> str:
    """What the keeper is told first."""
    forward = [(GATEWAY_PORT, f"{SOCKETS}/{GATEWAY_SOCKET}")] if box.sockets is not None else []
    return json.dumps({"forward": forward, "disks": ["/home", "/tmp", "/dev/shm"]})  # noqa: S108


@contextlib.contextmanager
def _socket(stream: Any) -> Iterator[socket.socket]:  # noqa: ANN401 the client's stubs tell no type of it
    """The socket below a stream of the engine's client, so that it can be waited on and closed on one side."""
    try:
        with socket.socket(fileno=os.dup(stream.fileno())) as own:
            yield own
    finally:
        stream._response.close()  # closes the connection as well
