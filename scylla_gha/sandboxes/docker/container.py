"""Container with its supervisor: start, copy files in and out, freeze, remove."""

import contextlib
import functools
import json
import os
import select
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import SandboxError
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.process import LimitHit, ProcessLimits
from scylla_gha.sandboxes.base import GATEWAY_PORT, GATEWAY_SOCKET, SOCKETS, SandboxMounts
from scylla_gha.sandboxes.docker import engine
from scylla_gha.sandboxes.docker.engine import ContainerEvents
from scylla_gha.sandboxes.docker.exec_process import FRAME_HEADER, ContainerProcess, raw_socket

if TYPE_CHECKING:
    from docker import APIClient

AGENT: Final = 10001  # the user of processes that are not trusted
SUPERVISOR: Final = 10002
SUPERVISOR_FILE: Final = "/opt/box/supervisor.py"
CONFINE_FILE: Final = "/opt/box/confine.py"
CONFINE: Final = f"/usr/bin/python3 -I -S {CONFINE_FILE}"  # runs the program that follows
_MIB: Final = 1 << 20
_MORE_PAUSES: Final = 3
_ANSWER_SECONDS: Final = 20.0  # to wait for the supervisor


@dataclass(frozen=True, slots=True)
class ContainerSize:
    """Resources of a container: `disk_bytes` for workspace and HOME together, `scratch_bytes` for /tmp.

    Its folders are in memory and counted apart, so a full disk takes no memory from programs.
    """

    memory_bytes: int = 4096 * _MIB
    disk_bytes: int = 2048 * _MIB
    scratch_bytes: int = 512 * _MIB
    files: int = 500_000
    processes: int = 512
    cpus: float = 2.0


def container_size(limits: TrialLimits) -> ContainerSize:
    """Return the size that an experiment gives each container."""
    return ContainerSize(memory_bytes=limits.memory_mb * _MIB, disk_bytes=limits.disk_mb * _MIB,
                processes=limits.processes, cpus=limits.cpus)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SupervisorClient:
    """Harness's end of the conversation with a container's supervisor: a line to it, a line of JSON from it."""

    stream: socket.socket

    def send(self, line: str) -> None:
        """Send a line; if the supervisor has ended, `receive` notices."""
        with contextlib.suppress(OSError):
            self.stream.sendall(line.encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """Return its next answer, or None if it ends or does not answer in time."""
        until = time.monotonic() + _ANSWER_SECONDS
        received = b""
        try:
            while (left := until - time.monotonic()) > 0 and select.select([self.stream], [], [], left)[0]:
                data = self.stream.recv(1 << 16)
                received += data
                if received.endswith(b"\n"):
                    return _parse_answer(received)
                if not data:
                    return None
        except OSError:
            return None
        return None


def _parse_answer(received: bytes) -> dict[str, Any]:
    """Parse the line of JSON in the engine's frames."""
    line = b""
    while received:
        end = FRAME_HEADER + int.from_bytes(received[4:FRAME_HEADER], "big")
        line += received[FRAME_HEADER:end]
        received = received[end:]
    answer: dict[str, Any] = json.loads(line)
    return answer


@dataclass(frozen=True, slots=True)
class Container:
    """Running container."""

    api: "APIClient"
    name: str
    size: ContainerSize
    supervisor: SupervisorClient
    events: ContainerEvents

    def put(self, folder: str, archive: IO[bytes]) -> None:
        """Extract a tar stream into a folder."""
        # in own chunks: the client would send a file of unknown length line by line
        self.api.put_archive(self.name, folder, iter(lambda: archive.read(_MIB), b""))

    def get(self, folder: str) -> Iterable[bytes]:
        """Return a folder as a tar stream."""
        chunks: Iterable[bytes] = self.api.get_archive(self.name, folder)[0]
        return chunks

    def process(
        self, argv: tuple[str, ...], cwd: str, env: Mapping[str, str], *, on_terminal: bool = False
    ) -> ContainerProcess:
        """Prepare a process that is not trusted."""
        created = self.api.exec_create(self.name, list(argv), stdin=True, user=f"{AGENT}:{AGENT}", workdir=cwd,
                                       environment=dict(env), tty=on_terminal)  # fmt: skip
        return ContainerProcess(self.api, created["Id"], on_terminal)

    def ask_to_end(self) -> None:
        """Send TERM to all processes that are not trusted; if that cannot be started, KILL ends them later."""
        from docker.errors import APIError

        with contextlib.suppress(APIError):
            created = self.api.exec_create(self.name, ["/bin/sh", "-c", "kill -TERM -1"], user=f"{AGENT}:{AGENT}")
            self.api.exec_start(created["Id"], detach=True)

    def await_ready(self) -> None:
        """Wait until the supervisor forwards the ports.

        Raises:
            SandboxError: it does not, or has ended.
        """
        if self.supervisor.receive() is None:
            raise SandboxError("a container ended at once, or does not answer; see the engine's log")

    def freeze(self) -> tuple[frozenset[LimitHit], str]:
        """Stop all processes; return the limits they had hit, also in words.

        If the supervisor does not answer, the engine decides: a container that still runs was kept busy from inside.
        """
        self.supervisor.send("hits")
        counts = self.supervisor.receive()
        if counts is None or counts["others"]:
            self._pause()
        if counts is None:
            return frozenset(), "the sandbox was too busy to report which limits were reached"
        kinds = {LimitHit.MEMORY: "memory", LimitHit.PROCESSES: "processes", LimitHit.DISK: "disk"}
        words = {
            LimitHit.MEMORY: f"{counted(counts['memory'], 'process was', 'processes were')} ended for lack of memory: "
            f"limits.memory_mb is {self.size.memory_bytes // _MIB}",
            LimitHit.PROCESSES: f"limits.processes is {self.size.processes}",
            LimitHit.DISK: f"full: {', '.join(map(self._full_disk, counts['disk']))}",
        }
        hits = [hit for hit, kind in kinds.items() if counts[kind]]
        return frozenset(hits), "; ".join(words[hit] for hit in hits)

    def _pause(self) -> None:
        """Pause it; if too many processes run for the kernel to stop all at once, end them first.

        The engine's error is then `unable to freeze`, see moby/moby#48205 and opencontainers/runc#2791.
        """
        from docker.errors import APIError

        for _ in range(_MORE_PAUSES):
            with contextlib.suppress(APIError):
                return self.api.pause(self.name)
            self._kill_all()
        return self.api.pause(self.name)

    def _kill_all(self) -> None:
        """Send KILL to all processes that are not trusted, from another container: none more can start in this one."""
        name = f"{self.name}-end"
        limits = self.api.create_host_config(
            pid_mode=f"container:{self.name}",
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
        )
        self.api.create_container(self.api.inspect_container(self.name)["Image"], ["/bin/sh", "-c", "kill -KILL -1"],
                                  name=name, user=f"{AGENT}:{AGENT}", labels=_labels(), host_config=limits)  # fmt: skip
        try:
            self.api.start(name)
            self.api.wait(name)
        finally:
            engine.remove(self.api, name)

    def _full_disk(self, folder: str) -> str:
        """Describe a full folder, with the limit that can be changed."""
        return f"{folder}, where limits.disk_mb is {self.size.disk_bytes // _MIB}" if folder == "/home" else folder


@contextlib.contextmanager
def running_container(
    api: "APIClient", image: str, size: ContainerSize, mounts: SandboxMounts, limits: ProcessLimits
) -> Iterator[Container]:
    """Start a container and always remove it afterwards; after a good end, in the background.

    It also ends by itself, with its folders, when this process ends, since the supervisor's input ends then.

    Raises:
        SandboxError: the image is missing, or the container does not start.
    """
    name = f"box-{uuid.uuid4().hex}"  # known before there is a container, so that none can be lost
    remove: Callable[[str], None] = functools.partial(engine.remove, api)  # nothing in it may run on
    try:
        with (
            contextlib.closing(ContainerEvents(api, name)) as events,
            _started(api, name, image, _settings(size, mounts, limits)) as stream,
        ):
            supervisor = SupervisorClient(stream)
            supervisor.send(_supervisor_settings(mounts))
            yield Container(api, name, size, supervisor, events)
        remove = engine.remove_in_background  # all processes have ended or are frozen
    finally:
        remove(name)


@contextlib.contextmanager
def _started(api: "APIClient", name: str, image: str, settings: Mapping[str, Any]) -> Iterator[socket.socket]:
    """Make and start a container; return the socket of its first process's input and output."""
    from docker.errors import APIError, ImageNotFound

    with contextlib.ExitStack() as stack:
        try:
            if engine.OURS not in (api.inspect_image(image)["Config"]["Labels"] or {}):  # type: ignore[no-untyped-call]
                raise SandboxError(f"{image} is not an image of the toolkit; `scylla-gha image list` shows those")
            api.create_container(
                image, ["/usr/bin/python3", "-I", "-S", SUPERVISOR_FILE], name=name, hostname="box",
                user=f"{SUPERVISOR}:{SUPERVISOR}", stdin_open=True, labels=_labels(),
                host_config=api.create_host_config(**settings),
            )  # fmt: skip
            supervisor = stack.enter_context(
                raw_socket(api.attach_socket(name, {"stdin": 1, "stdout": 1, "stream": 1}))
            )
            api.start(name)
        except ImageNotFound:
            raise SandboxError(
                f"the image {image} is not in the engine; build it with `scylla-gha image build`"
            ) from None
        except APIError as error:
            raise SandboxError(f"the engine cannot make a container of {image}: {error.explanation or error}") from None
        yield supervisor


def _labels() -> dict[str, str]:
    return {engine.OURS: "1", engine.OWNER: engine.owner()}


def _settings(size: ContainerSize, mounts: SandboxMounts, limits: ProcessLimits) -> dict[str, Any]:
    """Return the limits of all processes in the container; memory and its disks in memory are limited together."""
    from docker.types import DriverConfig, LogConfig, Mount, Ulimit

    disk = f"size={size.disk_bytes},nr_inodes={size.files},mode=0755,nosuid,nodev"
    volumes = [Mount("/home", None, type="volume", no_copy=True, labels=_labels(),
                     driver_config=DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": disk}))]  # fmt: skip
    if mounts.sockets is not None:
        volumes.append(Mount(SOCKETS, str(mounts.sockets), type="bind", read_only=True))
    volumes += [Mount(name, str(folder), type="bind", read_only=True) for name, folder in mounts.managed.items()]
    memory = size.memory_bytes + size.disk_bytes + size.scratch_bytes
    return {
        "network_mode": "none", "read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges"],
        "init": True, "ipc_mode": "private", "auto_remove": True, "log_config": LogConfig(type="none"),
        "mounts": volumes,
        "tmpfs": {"/tmp": f"size={size.scratch_bytes},nr_inodes={size.files},mode=1777,nosuid,nodev,exec"},  # noqa: S108
        "shm_size": 64 * _MIB, "mem_limit": memory, "memswap_limit": memory, "pids_limit": size.processes,
        "nano_cpus": int(min(size.cpus, os.cpu_count() or 1) * 1e9),
        "ulimits": [Ulimit(name="core", soft=0, hard=0),
                    Ulimit(name="fsize", soft=limits.file_bytes, hard=limits.file_bytes)],
    }  # fmt: skip


def _supervisor_settings(mounts: SandboxMounts) -> str:
    """Return the first line that the supervisor gets."""
    forward = [(GATEWAY_PORT, f"{SOCKETS}/{GATEWAY_SOCKET}")] if mounts.sockets is not None else []
    return json.dumps({"forward": forward, "disks": ["/home", "/tmp", "/dev/shm"]})  # noqa: S108
