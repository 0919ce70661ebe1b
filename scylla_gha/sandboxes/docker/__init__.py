"""Sandbox of a fresh container for each run: no network, no rights, writable folders of a fixed size in memory.

A container has two users, neither of them root. The first process, the `supervisor`, keeps the container alive; the
engine starts the program beside it. So the engine, and not the container, states how the program ended, and files are
taken out while every process inside is frozen: none can change them meanwhile.
"""

import contextlib
import shutil
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from scylla_gha.errors import SandboxError, ToolError
from scylla_gha.model.experiment import SandboxName, TrialLimits
from scylla_gha.model.sandbox import Isolation
from scylla_gha.process import Cancel, FinishedProcess, LimitHit, ProcessLimits, ProcessStreams
from scylla_gha.sandboxes.base import WORKSPACE, SandboxMounts, environment, neutral_names, translate_paths
from scylla_gha.sandboxes.docker import engine
from scylla_gha.sandboxes.docker.container import AGENT, CONFINE, MIB, Container, ContainerSize, running_container
from scylla_gha.sandboxes.docker.exec_process import ContainerProcess, End, StreamPump, attach_terminal
from scylla_gha.sandboxes.docker.tar_transfer import extract_tar, pack_tar

_CODE_SECONDS: Final = 1.0
_SIGNAL_BASE: Final = 128  # a shell reports the signal that ended a process as 128 plus its number
_KILLED: Final = -9  # code of a process that KILL has ended
_SPOOL_BYTES: Final = 64 * 1024 * 1024  # of a tar stream in memory, before it goes to a file
# Waits for the first line of its input, which is sent when the folders are copied and the engine's stream is open. If
# memory runs out, the program and its children are ended before the supervisor.
_STARTER: Final = (
    f'IFS= read -r go; echo 500 >/proc/self/oom_score_adj; cd {WORKSPACE}; unset OLDPWD go; exec {CONFINE} "$@"'
)
_TERMINAL_STARTER: Final = _STARTER.removeprefix("IFS= read -r go; ")  # started after the folders are copied


class DockerSandbox:
    """Sandbox of containers of the engine that `engine.connect` finds."""

    name: ClassVar[SandboxName] = "docker"
    user: ClassVar[int] = AGENT
    isolation: ClassVar[Isolation] = Isolation(network="gateway", keys="hidden", files="own")
    has_network: ClassVar[bool] = False
    isolates_keys: ClassVar[bool] = True
    isolates_files: ClassVar[bool] = True
    needs_image: ClassVar[bool] = True
    limits_resources: ClassVar[bool] = True
    shares_folders: ClassVar[bool] = False
    allows_keys_in_actions: ClassVar[bool] = True

    def __init__(self, size: ContainerSize | None = None, answer_seconds: float = 20.0) -> None:
        """Set the size of containers, and how long a busy one may take to answer the harness."""
        self.size, self._answer_seconds = size or ContainerSize(), answer_seconds

    def missing_reason(self) -> str | None:
        """Return why no engine can be used, or None."""
        return None if engine.answers() else "no container engine answers"

    def check(self) -> None:
        """Check that the engine answers, and remove what killed runs left in it.

        Raises:
            SandboxError: no engine answers.
        """
        with contextlib.closing(engine.connect()) as api:
            engine.remove_stale(api)

    def sized(self, limits: TrialLimits) -> "DockerSandbox":
        """Return the sandbox with containers of an experiment's size."""
        return DockerSandbox(ContainerSize(memory_bytes=limits.memory_mb * MIB, disk_bytes=limits.disk_mb * MIB,
                                           processes=limits.processes, cpus=limits.cpus))  # fmt: skip

    def run(
        self,
        argv: tuple[str, ...],
        mounts: SandboxMounts,
        streams: ProcessStreams,
        limits: ProcessLimits,
        cancel: Cancel | None = None,
    ) -> FinishedProcess:
        """Run a program in a fresh container, which is removed afterwards and ends when this process does.

        Raises:
            SandboxError: no engine answers, it fails, the image is missing, or the container cannot be made.
        """
        if mounts.image is None:
            raise ToolError("a container needs an image and none is given; build it with `scylla-gha image build`")
        names = neutral_names(mounts)
        argv = tuple(translate_paths(arg, names) for arg in argv)
        try:
            with (
                contextlib.closing(engine.connect()) as api,
                running_container(
                    api, mounts.image, self.size, mounts, limits, answer_seconds=self._answer_seconds
                ) as container,
            ):
                started = time.monotonic()
                try:
                    return _ContainerRun(container, mounts, streams, limits, cancel).run(argv)
                except engine.client_errors() as error:
                    hits, note = _reason_of_failure(container, str(error))
                    engine.remove(api, container.name)  # ends all processes in it
                    for path in (streams.stdout, streams.stderr):
                        path.touch()  # as after any other end
                    return FinishedProcess(_KILLED, time.monotonic() - started, hits=hits, note=note)
        except engine.client_errors() as error:
            raise SandboxError(f"the container engine failed: {str(error)[:300]}") from None


def _reason_of_failure(container: Container, error: str) -> tuple[frozenset[LimitHit], str]:
    """Return why the engine cannot continue with a container, by the engine's events if it has ended."""
    with contextlib.suppress(*engine.client_errors()):
        if (end := container.events.end()) is not None:
            return end
    return frozenset({LimitHit.LOST}), f"the container engine failed: {error[:300]}"


@dataclass(frozen=True, slots=True)
class _ContainerRun:
    """Run of one program in one container."""

    container: Container
    mounts: SandboxMounts
    streams: ProcessStreams
    limits: ProcessLimits
    cancel: Cancel | None

    def run(self, argv: tuple[str, ...]) -> FinishedProcess:
        """Run the program, freeze the container, and copy the files out."""
        if self.streams.terminal is not None:
            return self._run_on_terminal(self.streams.terminal, argv)
        process = self._process(_STARTER, argv)
        with (
            process.stream() as stream,
            self.streams.stdout.open("wb", buffering=0) as out,
            self.streams.stderr.open("wb", buffering=0) as err,
        ):
            self._copy_in()  # while the engine starts the process, which waits
            self.container.await_ready()
            pump = StreamPump(stream, (out, err), self.limits.file_bytes, process.running)
            started = time.monotonic()
            with pump.started(self.streams.stdin):
                end = pump.wait(started + self.limits.seconds, self.cancel)
                seconds = time.monotonic() - started
                if end in {"timed_out", "cancelled"}:
                    self.container.ask_to_end()
                    pump.drain(time.monotonic() + self.limits.grace_seconds)
                elif end == "ended" and seconds > self.limits.seconds:  # this process may have been stopped meanwhile
                    exited = self.container.events.exited(process.id)
                    seconds = self.limits.seconds if exited is None else exited - started
                hits, note = self.container.freeze()
        code = process.code()
        faults = self._copy_out() if self.mounts.keep else []
        end = "timed_out" if end == "ended" and seconds > self.limits.seconds else end
        return _finished(code, seconds, end, hits, "; ".join([*([note] if note else []), *faults]))

    def _run_on_terminal(self, device: Path, argv: tuple[str, ...]) -> FinishedProcess:
        """Run the program on a terminal; none of its files are copied out."""
        for path in (self.streams.stdout, self.streams.stderr):
            path.touch()
        self._copy_in()
        self.container.await_ready()
        started = time.monotonic()
        process = self._process(_TERMINAL_STARTER, argv, on_terminal=True)
        with process.stream() as stream:
            end = attach_terminal(stream, device, process, started + self.limits.seconds, self.cancel)
            _await_end(process)
        hits, note = self.container.freeze()
        return _finished(process.code(), time.monotonic() - started, end, hits, note)

    def _process(self, starter: str, argv: tuple[str, ...], *, on_terminal: bool = False) -> ContainerProcess:
        env = environment(self.mounts, neutral_names(self.mounts))
        return self.container.process(("/bin/sh", "-c", starter, "sh", *argv), "/", env, on_terminal=on_terminal)

    def _copy_in(self) -> None:
        """Copy the folders into the container; only workspace and HOME belong to the agent."""
        own = {self.mounts.cwd, self.mounts.home}
        with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as file:
            names = neutral_names(self.mounts)
            pack_tar(((folder, name.removeprefix("/home/"), AGENT if folder in own else 0)
                      for folder, name in names.items()), file)  # fmt: skip
            file.seek(0)
            self.container.put("/home", file)

    def _copy_out(self) -> list[str]:
        """Replace workspace and HOME by what the process left; return the faults."""
        folders = {"home/workspace": self.mounts.cwd, "home/dev": self.mounts.home}
        fresh = {name: path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}") for name, path in folders.items()}
        faults = extract_tar(self.container.get("/home"), fresh, self.container.size.disk_bytes)
        for name, folder in folders.items():
            old = folder.with_name(f"{folder.name}.old")
            folder.rename(old)
            fresh[name].rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        return faults[:3]


def _await_end(process: ContainerProcess) -> None:
    """Wait a moment for the process's end, which follows the end of its stream; a cancelled process has none."""
    until = time.monotonic() + _CODE_SECONDS
    while process.running() and time.monotonic() < until:
        time.sleep(_CODE_SECONDS / 100)


def _finished(code: int | None, seconds: float, end: End, hits: frozenset[LimitHit], note: str) -> FinishedProcess:
    if end == "output":
        hits |= {LimitHit.OUTPUT}
    signed = _KILLED if code is None else code if code <= _SIGNAL_BASE else _SIGNAL_BASE - code
    return FinishedProcess(signed, seconds, end == "timed_out", end == "cancelled", hits, note)
