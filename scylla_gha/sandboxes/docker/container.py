"""Container with its supervisor: starts it, copies files in and out, freezes it, and removes it."""

import contextlib
import functools
import json
import os
import select
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import SandboxError
from scylla_gha.sandboxes.base import SOCKETS, SandboxMounts, forwarded_ports
from scylla_gha.sandboxes.docker import engine
from scylla_gha.sandboxes.docker.engine import ContainerEvents
from scylla_gha.sandboxes.docker.exec_process import ContainerProcess, raw_socket
from scylla_gha.system.process import LimitHit, ProcessLimits

if TYPE_CHECKING:
    from docker import APIClient

AGENT: Final = 10001  # user of untrusted processes
SUPERVISOR: Final = 10002
SUPERVISOR_FILE: Final = "/opt/box/supervisor.py"
CONFINE_FILE: Final = "/opt/box/confine.py"
CONFINE: Final = f"/usr/bin/python3 -I -S {CONFINE_FILE}"  # runs the program that follows it
MIB: Final = 1 << 20
_PAUSE_RETRIES: Final = 3


@dataclass(frozen=True, slots=True)
class ContainerSize:
    """Resources of a container: `disk_bytes` for workspace and HOME together, `scratch_bytes` for /tmp.

    Its folders are in memory that is reserved for them, so a full disk takes no memory from programs.
    """

    memory_bytes: int = 4096 * MIB
    disk_bytes: int = 2048 * MIB
    scratch_bytes: int = 512 * MIB
    files: int = 500_000
    processes: int = 512
    cpus: float = 2.0


@dataclass(frozen=True, slots=True)
class Container:
    """Running container. Its supervisor answers each line by a line of JSON within `answer_seconds`."""

    api: "APIClient"
    name: str
    size: ContainerSize
    events: ContainerEvents
    supervisor: socket.socket
    answer_seconds: float

    def send(self, line: str) -> None:
        """Send a line to the supervisor. If it has ended, no answer follows."""
        with contextlib.suppress(OSError):
            self.supervisor.sendall(line.encode() + b"\n")

    def answer(self) -> dict[str, Any] | None:
        """Return the supervisor's next answer; None if it ends or does not answer in time."""
        from docker.utils.socket import frames_iter

        line = b""
        with contextlib.suppress(OSError):
            if select.select([self.supervisor], [], [], self.answer_seconds)[0]:
                for _, part in frames_iter(self.supervisor, tty=False):  # type: ignore[no-untyped-call]
                    line += part
                    if line.endswith(b"\n"):
                        answer: dict[str, Any] = json.loads(line)
                        return answer
        return None

    def put(self, folder: str, archive: IO[bytes]) -> None:
        """Extract a tar stream into a folder."""
        # In chunks, since the client would send a file of unknown length line by line.
        self.api.put_archive(self.name, folder, iter(lambda: archive.read(MIB), b""))

    def get(self, folder: str) -> Iterable[bytes]:
        """Return a folder as a tar stream."""
        chunks: Iterable[bytes] = self.api.get_archive(self.name, folder)[0]
        return chunks

    def process(
        self, argv: tuple[str, ...], cwd: str, env: Mapping[str, str], *, on_terminal: bool = False
    ) -> ContainerProcess:
        """Prepare an untrusted process."""
        created = self.api.exec_create(
            self.name,
            list(argv),
            stdin=True,
            user=f"{AGENT}:{AGENT}",
            workdir=cwd,
            environment=dict(env),
            tty=on_terminal,
        )
        return ContainerProcess(self.api, created["Id"], on_terminal)

    def ask_to_end(self) -> None:
        """Send TERM to all untrusted processes; if that fails, KILL ends them later."""
        from docker.errors import APIError

        with contextlib.suppress(APIError):
            created = self.api.exec_create(self.name, ["/bin/sh", "-c", "kill -TERM -1"], user=f"{AGENT}:{AGENT}")
            self.api.exec_start(created["Id"], detach=True)

    def await_ready(self) -> None:
        """Wait until the supervisor forwards the ports.

        Raises:
            SandboxError: the supervisor has ended, or does not answer.
        """
        if self.answer() is None:
            raise SandboxError("a container ended at its start, or does not answer; see the engine's log")

    def freeze(self) -> tuple[frozenset[LimitHit], str]:
        """Stop all processes; return the limits that they reached, and a note about them.

        If the supervisor does not answer and the engine can still pause the container, the program has kept it busy.
        """
        self.send("hits")
        counts = self.answer()
        if counts is None or counts["others"]:
            self._pause()
        if counts is None:
            return frozenset(), "the sandbox was too busy to report which limits were reached"
        words = {}
        if counts["memory"]:
            words[LimitHit.MEMORY] = (
                f"{counted(counts['memory'], 'process was', 'processes were')} ended for lack of memory: "
                f"limits.memory_mb is {self.size.memory_bytes // MIB}"
            )
        if counts["processes"]:
            words[LimitHit.PROCESSES] = f"limits.processes is {self.size.processes}"
        if counts["disk"]:
            words[LimitHit.DISK] = f"full: {', '.join(map(self._full_disk, counts['disk']))}"
        return frozenset(words), "; ".join(words.values())

    def _pause(self) -> None:
        """Pause the container; if it has too many processes for the kernel to stop at once, end them first.

        In that case the engine's error is `unable to freeze`, see moby/moby#48205 and opencontainers/runc#2791.
        """
        from docker.errors import APIError

        for _ in range(_PAUSE_RETRIES):
            with contextlib.suppress(APIError):
                return self.api.pause(self.name)
            self._kill_all()
        return self.api.pause(self.name)

    def _kill_all(self) -> None:
        """Send KILL to all untrusted processes, from another container, since no process can start in this one."""
        name = f"{self.name}-end"
        limits = self.api.create_host_config(
            pid_mode=f"container:{self.name}",
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
        )
        self.api.create_container(
            self.api.inspect_container(self.name)["Image"],
            ["/bin/sh", "-c", "kill -KILL -1"],
            name=name,
            user=f"{AGENT}:{AGENT}",
            labels=_labels(),
            host_config=limits,
        )
        try:
            self.api.start(name)
            self.api.wait(name)
        finally:
            engine.remove(self.api, name)

    def _full_disk(self, folder: str) -> str:
        """Describe a full folder, with the limit to change if there is one."""
        return f"{folder}, where limits.disk_mb is {self.size.disk_bytes // MIB}" if folder == "/home" else folder


@contextlib.contextmanager
def running_container(
    api: "APIClient",
    image: str,
    size: ContainerSize,
    mounts: SandboxMounts,
    limits: ProcessLimits,
    *,
    answer_seconds: float,
) -> Iterator[Container]:
    """Start a container for the block, and always remove it afterwards; in the background if there was no error.

    The container and its folders also end when this process ends, since that ends the supervisor's input.

    Raises:
        SandboxError: the image is missing, or the container does not start.
    """
    name = f"box-{uuid.uuid4().hex}"  # chosen before the container is made, so that it can always be removed
    remove: Callable[[str], None] = functools.partial(engine.remove, api)  # at once: a process in it may still run
    try:
        with (
            contextlib.closing(ContainerEvents(api, name)) as events,
            _started(api, name, image, _settings(size, mounts, limits)) as stream,
        ):
            container = Container(api, name, size, events, stream, answer_seconds)
            settings = {"forward": forwarded_ports(mounts), "disks": ["/home", "/tmp", "/dev/shm"]}  # noqa: S108
            container.send(json.dumps(settings))
            yield container
        remove = engine.remove_in_background  # all processes have ended or are frozen
    finally:
        remove(name)


@contextlib.contextmanager
def _started(api: "APIClient", name: str, image: str, settings: Mapping[str, Any]) -> Iterator[socket.socket]:
    """Make and start a container; yield the socket of its first process's input and output."""
    from docker.errors import APIError, ImageNotFound

    with contextlib.ExitStack() as stack:
        try:
            if engine.TOOLKIT_LABEL not in (api.inspect_image(image)["Config"]["Labels"] or {}):  # type: ignore[no-untyped-call]
                raise SandboxError(f"{image} is not an image of the toolkit; `scylla-gha image list` shows them")
            api.create_container(
                image,
                ["/usr/bin/python3", "-I", "-S", SUPERVISOR_FILE],
                name=name,
                hostname="box",
                user=f"{SUPERVISOR}:{SUPERVISOR}",
                stdin_open=True,
                labels=_labels(),
                host_config=api.create_host_config(**settings),
            )
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
    return {engine.TOOLKIT_LABEL: "1", engine.OWNER_LABEL: engine.owner()}


def _settings(size: ContainerSize, mounts: SandboxMounts, limits: ProcessLimits) -> dict[str, Any]:
    """Return the engine's settings of a container. One limit covers its memory and its folders in memory."""
    from docker.types import DriverConfig, LogConfig, Mount, Ulimit

    disk = f"size={size.disk_bytes},nr_inodes={size.files},mode=0755,nosuid,nodev"
    volumes = [
        Mount(
            "/home",
            None,
            type="volume",
            no_copy=True,
            labels=_labels(),
            driver_config=DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": disk}),
        )
    ]
    if mounts.sockets is not None:
        volumes.append(Mount(SOCKETS, str(mounts.sockets), type="bind", read_only=True))
    volumes += [Mount(name, str(folder), type="bind", read_only=True) for name, folder in mounts.managed.items()]
    memory = size.memory_bytes + size.disk_bytes + size.scratch_bytes
    return {
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "init": True,
        "ipc_mode": "private",
        "auto_remove": True,
        "log_config": LogConfig(type="none"),
        "mounts": volumes,
        "tmpfs": {"/tmp": f"size={size.scratch_bytes},nr_inodes={size.files},mode=1777,nosuid,nodev,exec"},  # noqa: S108
        "shm_size": 64 * MIB,
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": size.processes,
        "nano_cpus": int(min(size.cpus, os.cpu_count() or 1) * 1e9),
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="fsize", soft=limits.file_bytes, hard=limits.file_bytes),
        ],
    }
