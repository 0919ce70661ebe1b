"""Sandbox that runs each program in a fresh container: no network, no privileges, folders of fixed size in memory.

A container has two users, and neither is root. Its first process, the `supervisor`, keeps the container alive, and the
engine starts the program as another process. So the engine, not the container, states how the program ended, and files
are copied out while all processes inside are frozen, so that none can change them meanwhile.

The tar stream that comes out is not trusted: it may have links to any path, special files, holes of any size, and names
of any form. So it is extracted into new folders, and symbolic links are made last: no path leads through a link while
files are written.
"""

import contextlib
import functools
import io
import os
import shutil
import stat
import tarfile
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Final

from scylla_gha.errors import SandboxError, ToolError, is_lack_of_the_host
from scylla_gha.model.experiment import SandboxName, TrialLimits
from scylla_gha.model.sandbox import Isolation
from scylla_gha.sandboxes.base import WORKSPACE, SandboxMounts, environment, fixed_names, translate_paths
from scylla_gha.sandboxes.docker import engine
from scylla_gha.sandboxes.docker.container import AGENT, CONFINE, MIB, Container, ContainerSize, running_container
from scylla_gha.sandboxes.docker.exec_process import ContainerProcess, End, StreamPump, attach_terminal
from scylla_gha.system.process import Cancel, FinishedProcess, LimitHit, ProcessLimits, ProcessStreams

_CODE_SECONDS: Final = 1.0
_SIGNAL_BASE: Final = 128  # a shell reports the signal that ended a process as 128 plus its number
_KILLED: Final = -9  # code of a process that KILL has ended
_SPOOL_BYTES: Final = 64 * 1024 * 1024  # of a tar stream in memory; a larger stream goes to a file
# Waits for the first line of its input, which is sent when the folders are copied and the engine's stream is open. If
# memory runs out, the kernel ends the program and its children before the supervisor.
_STARTER: Final = (
    f'IFS= read -r go; echo 500 >/proc/self/oom_score_adj; cd {WORKSPACE}; unset OLDPWD go; exec {CONFINE} "$@"'
)
_TERMINAL_STARTER: Final = _STARTER.removeprefix("IFS= read -r go; ")  # started after the folders are copied
_BUFFER_BYTES: Final = 1 << 20
_NAME_PARTS: Final = 2  # parts of the folders' names in the stream: home/workspace


class DockerSandbox:
    """Sandbox that uses containers of the engine that `engine.connect` finds."""

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
        """Set the size of containers, and the seconds in which a busy container has to answer the harness."""
        self.size, self._answer_seconds = size or ContainerSize(), answer_seconds

    def missing_reason(self) -> str | None:
        """Return why no engine can be used, and what to do; None if one can."""
        return None if engine.answers() else "no container engine answers; start one, or set DOCKER_HOST to its socket"

    def check(self) -> None:
        """Check that the engine answers, and remove what killed runs left behind in it.

        Raises:
            SandboxError: no engine answers.
        """
        with contextlib.closing(engine.connect()) as api:
            engine.remove_stale(api)

    def sized(self, limits: TrialLimits) -> "DockerSandbox":
        """Return the sandbox with containers of an experiment's size."""
        return DockerSandbox(
            ContainerSize(
                memory_bytes=limits.memory_mb * MIB,
                disk_bytes=limits.disk_mb * MIB,
                processes=limits.processes,
                cpus=limits.cpus,
            )
        )

    def run(
        self,
        argv: tuple[str, ...],
        mounts: SandboxMounts,
        streams: ProcessStreams,
        limits: ProcessLimits,
        cancel: Cancel | None = None,
    ) -> FinishedProcess:
        """Run a program in a fresh container, which is removed afterwards and also ends when this process ends.

        Raises:
            SandboxError: no engine answers, it fails, the image is missing, or the container cannot be made.
        """
        if mounts.image is None:
            raise ToolError("a container needs an image, and none is set; build one with `scylla-gha image build`")
        names = fixed_names(mounts)
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
    """Return why the engine failed with a container, from its events if the container has ended."""
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
            self._copy_in()  # meanwhile the engine starts the process, which waits
            self.container.await_ready()
            pump = StreamPump(stream, (out, err), self.limits.file_bytes, process.running)
            started = time.monotonic()
            with pump.started(self.streams.stdin):
                end = pump.wait(started + self.limits.seconds, self.cancel)
                seconds = time.monotonic() - started
                if end in {"timed_out", "cancelled"}:
                    self.container.ask_to_end()
                    pump.drain(time.monotonic() + self.limits.grace_seconds)
                elif end == "ended" and seconds > self.limits.seconds:  # the harness may have been stopped meanwhile
                    exited = self.container.events.exited(process.id)
                    seconds = self.limits.seconds if exited is None else exited - started
                hits, note = self.container.freeze()
        code = process.code()
        faults = self._copy_out() if self.mounts.keep else []
        end = "timed_out" if end == "ended" and seconds > self.limits.seconds else end
        return _finished(code, seconds, end, hits, "; ".join([*([note] if note else []), *faults]))

    def _run_on_terminal(self, device: Path, argv: tuple[str, ...]) -> FinishedProcess:
        """Run the program on a terminal, and copy no files out."""
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
        env = environment(self.mounts, fixed_names(self.mounts))
        return self.container.process(("/bin/sh", "-c", starter, "sh", *argv), "/", env, on_terminal=on_terminal)

    def _copy_in(self) -> None:
        """Copy the folders into the container; workspace and HOME belong to the agent, the others to root."""
        writable = {self.mounts.cwd, self.mounts.home}
        with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as file:
            names = fixed_names(self.mounts)
            pack_tar(
                (
                    (folder, name.removeprefix("/home/"), AGENT if folder in writable else 0)
                    for folder, name in names.items()
                ),
                file,
            )
            file.seek(0)
            self.container.put("/home", file)

    def _copy_out(self) -> list[str]:
        """Replace workspace and HOME by copies from the container; return what could not be copied."""
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
    """Wait up to a second for the end of the process, which follows the end of its stream unless it was cancelled."""
    until = time.monotonic() + _CODE_SECONDS
    while process.running() and time.monotonic() < until:
        time.sleep(_CODE_SECONDS / 100)


def _finished(code: int | None, seconds: float, end: End, hits: frozenset[LimitHit], note: str) -> FinishedProcess:
    if end == "output":
        hits |= {LimitHit.OUTPUT}
    signed = _KILLED if code is None else code if code <= _SIGNAL_BASE else _SIGNAL_BASE - code
    return FinishedProcess(signed, seconds, end == "timed_out", end == "cancelled", hits, note)


def pack_tar(folders: Iterable[tuple[Path, str, int]], into: IO[bytes]) -> None:
    """Write folders as one tar stream, each with its name and its owner's id; make folders of root readable to all."""
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        for folder, name, owner in folders:
            archive.add(folder, name, filter=functools.partial(_with_owner, owner))


def _with_owner(owner: int, entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Set an entry's owner; return None for a special file, since the harness makes none."""
    if not (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk()):
        return None
    entry.uid = entry.gid = owner
    entry.uname = entry.gname = ""
    if not owner:
        entry.mode |= 0o555 if entry.isdir() or entry.mode & stat.S_IXUSR else 0o444
    return entry


def extract_tar(stream: Iterable[bytes], folders: Mapping[str, Path], limit: int) -> list[str]:
    """Extract a stream into new folders, given by their names in the stream; return the faults.

    At most `limit` bytes of content are written, since a file with a hole can be larger than any disk.

    Raises:
        OSError: this machine lacks disk, memory or descriptors.
    """
    extraction = _Extraction(folders, limit)
    extraction.extract(stream)
    # Names may be any bytes.
    return [fault.encode(errors="backslashreplace").decode() for fault in extraction.faults]


class _Extraction:
    def __init__(self, folders: Mapping[str, Path], limit: int) -> None:
        self._folders, self._left = folders, limit
        self._links: list[tuple[Path, tarfile.TarInfo]] = []
        self._modes: list[tuple[Path, int]] = []
        self.faults: list[str] = []

    def extract(self, stream: Iterable[bytes]) -> None:
        for folder in self._folders.values():
            folder.mkdir(mode=0o700)
        source = _ChunkReader(stream)
        try:
            with tarfile.open(fileobj=source, mode="r|", bufsize=_BUFFER_BYTES, errors="surrogateescape") as archive:
                for entry in archive:
                    self._left -= entry.size if entry.isreg() else 0
                    if self._left < 0:
                        self.faults.append(
                            f"{entry.name} and everything after it are left out: the limit of bytes is reached"
                        )
                        break
                    if path := self._path(entry.name):
                        with self._collecting_fault(entry):
                            self._extract_entry(entry, path, archive)
        except tarfile.TarError as error:
            self.faults.append(f"cannot be read: {error}")
        for path, entry in self._links:
            with self._collecting_fault(entry):
                path.symlink_to(entry.linkname)
        for path, mode in reversed(self._modes):  # the inner ones first
            path.chmod(mode)

    @contextlib.contextmanager
    def _collecting_fault(self, entry: tarfile.TarInfo) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if is_lack_of_the_host(error):
                raise
            self.faults.append(f"{entry.name}: {error.strerror}")

    def _extract_entry(self, entry: tarfile.TarInfo, path: Path, archive: tarfile.TarFile) -> None:
        mode = entry.mode & 0o777
        if not path.parent.is_dir():
            for parent in reversed(path.parents):  # `parents=True` recurses
                parent.mkdir(exist_ok=True)
        if entry.isdir():
            path.mkdir(exist_ok=True)
            self._modes.append((path, mode))  # set at the end, since the folder has to be writable until then
        elif entry.issym():
            self._links.append((path, entry))
        elif entry.islnk():
            if target := self._path(entry.linkname):
                os.link(target, path, follow_symlinks=False)
        elif entry.isreg() and (content := archive.extractfile(entry)) is not None:
            with path.open("xb") as file:
                shutil.copyfileobj(content, file, _BUFFER_BYTES)
                os.fchmod(file.fileno(), mode)
        else:
            self.faults.append(f"{entry.name}: a special file, left out")

    def _path(self, name: str) -> Path | None:
        """Return the path of an entry on the host; None if it is outside the folders."""
        parts = [part for part in name.split("/") if part not in {"", "."}]
        folder = self._folders.get("/".join(parts[:_NAME_PARTS]))
        return None if folder is None or ".." in parts else folder.joinpath(*parts[_NAME_PARTS:])


class _ChunkReader(io.RawIOBase):
    """Readable file over chunks. `io.BufferedReader` takes a third more time for chunks of the engine's size."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or fewer only at the end, as tarfile expects."""
        chunks = [self._rest]
        length = len(self._rest)
        while (size < 0 or length < size) and (chunk := next(self._chunks, None)) is not None:
            chunks.append(chunk)
            length += len(chunk)
        content = b"".join(chunks)
        end = length if size < 0 else size
        self._rest = content[end:]
        return content[:end]
