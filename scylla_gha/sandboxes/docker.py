"""A fresh container for each run: no network, no rights, no way to write but to folders of a fixed size in memory.

One container has two users, neither of them root. The first process, the `keeper`, holds the container; what is not
trusted is started beside it by the engine. So the engine, and not the box, tells how that ended, and what it left can
be taken out while everything in the box is frozen: there is no moment in which it could still change.
"""

import contextlib
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.errors import SandboxError, ToolError
from scylla_gha.model.isolation import Isolation
from scylla_gha.proc import Cancel, Finished, Hit, Limits, Streams
from scylla_gha.sandboxes import cargo, engine
from scylla_gha.sandboxes.base import WORKSPACE, Box, environment, named, told
from scylla_gha.sandboxes.container import AGENT, CONFINE, Container, Process, Size, opened
from scylla_gha.sandboxes.device import join
from scylla_gha.sandboxes.stream import End, Outputs, Pump

_GRACE_SECONDS: Final = 5.0
_CODE_SECONDS: Final = 1.0
_LAST_CODE: Final = 128  # a shell tells the signal that ended a process as 128 and its number
_MEMORY: Final = 64 * 1024 * 1024  # of a load, before it goes to a file
# Waits for the first line of its input, which is sent when the folders are there and the engine's stream is open. Where
# memory runs out, it and what it starts shall be ended before the keeper is.
_STARTER: Final = (
    f'IFS= read -r go; echo 500 >/proc/self/oom_score_adj; cd {WORKSPACE}; unset OLDPWD go; exec {CONFINE} "$@"'
)
_ON_TERMINAL: Final = _STARTER.removeprefix("IFS= read -r go; ")  # it is started when the folders are there


@dataclass(frozen=True, slots=True)
class DockerSandbox:
    """Runs in containers of the engine that `engine.connect` finds."""

    size: Size = field(default_factory=Size)

    @property
    def name(self) -> str:
        """As the Result names it."""
        return "docker"

    @property
    def user(self) -> int:
        """Of the image's own."""
        return AGENT

    def inside(self, box: Box) -> dict[Path, str]:
        """The same in every container."""
        return named(box)

    @property
    def isolation(self) -> Isolation:
        """No network but the gateway's socket, no process and no file of the host."""
        return Isolation(network="gateway", keys="hidden", files="own")

    def run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None = None
    ) -> Finished:
        """Run a program in a container of its own, which is gone soon afterwards, and when this process ends.

        Raises:
            SandboxError: no engine answers, it failed, the image is not there, or the container cannot be made.
        """
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        try:
            return self._run(argv, box, streams, limits, cancel)
        except (DockerException, RequestException) as error:
            raise SandboxError(f"the container engine failed: {str(error)[:300]}") from None

    def _run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None
    ) -> Finished:
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        image, places = _image(box), self.inside(box)
        with contextlib.closing(engine.connect()) as api, opened(api, image, self.size, box, limits) as container:
            started = time.monotonic()
            try:
                return _Run(container, box, streams, limits, cancel, places).to_the_end(
                    tuple(told(a, places) for a in argv)
                )
            except (DockerException, RequestException) as error:
                engine.remove(api, container.name)  # nothing in it may run on
                for path in (streams.stdout, streams.stderr):
                    path.touch()  # as after any other end
                return Finished(-1, time.monotonic() - started, hits=frozenset({Hit.LOST}),
                                note=f"the container engine failed: {str(error)[:300]}")  # fmt: skip


def _image(box: Box) -> str:
    if box.image is None:
        raise ToolError("the box names no image, and a container needs one; build it by `scylla-gha image build`")
    return box.image


def _load(container: Container, box: Box, places: dict[Path, str]) -> None:
    """Copy the folders into the container."""
    with tempfile.SpooledTemporaryFile(_MEMORY) as file:
        own = {box.cwd, box.home}
        cargo.pack((cargo.Load(folder, name.removeprefix("/home/"), AGENT if folder in own else 0)
                    for folder, name in places.items()), file)  # fmt: skip
        file.seek(0)
        container.put("/home", file)


@dataclass(frozen=True, slots=True)
class _Run:
    """One program in one container."""

    container: Container
    box: Box
    streams: Streams
    limits: Limits
    cancel: Cancel | None
    places: dict[Path, str]

    @property
    def env(self) -> dict[str, str]:
        """What the process finds, beside what the image says."""
        return environment(self.box, self.places)

    def to_the_end(self, argv: tuple[str, ...]) -> Finished:
        """Run it, freeze the container, and take out what is wanted."""
        if self.streams.terminal is not None:
            return self._on(self.streams.terminal, argv)
        places = self.places
        process = self.container.process(("/bin/sh", "-c", _STARTER, "sh", *argv), "/", self.env)
        with (
            process.stream() as stream,
            self.streams.stdout.open("wb", buffering=0) as out,
            self.streams.stderr.open("wb", buffering=0) as err,
        ):
            _load(self.container, self.box, places)  # while the engine starts the process, which waits
            self.container.ready()
            pump = Pump(stream, Outputs(out, err, self.limits.file_bytes), process.running, self.cancel)
            started = time.monotonic()
            end = pump.run(self.streams.stdin, started + self.limits.seconds)
            seconds = time.monotonic() - started
            seconds = min(seconds, self.limits.seconds) if end == "ended" else seconds
            if end in {"timed_out", "cancelled"}:
                self.container.ask_to_end()
                pump.drain(time.monotonic() + _GRACE_SECONDS)
            hits, note = self.container.freeze()
        code = process.code()
        faults = self._take_out() if self.box.keep else []
        return _finished(code, seconds, end, hits, "; ".join([*([note] if note else []), *faults]))

    def _on(self, device: Path, argv: tuple[str, ...]) -> Finished:
        """The same on a terminal; of what the process leaves nothing is kept."""
        for path in (self.streams.stdout, self.streams.stderr):
            path.touch()
        _load(self.container, self.box, self.places)
        self.container.ready()
        started = time.monotonic()
        process = self.container.process(("/bin/sh", "-c", _ON_TERMINAL, "sh", *argv), "/", self.env, on_terminal=True)
        with process.stream() as stream:
            end = join(stream, device, process, started + self.limits.seconds, self.cancel)
            _await_end(process)
        hits, note = self.container.freeze()
        return _finished(process.code(), time.monotonic() - started, end, hits, note)

    def _take_out(self) -> list[str]:
        """Put what the process left in place of what it was given."""
        fresh = {name: folder.with_name(f"{folder.name}.{uuid.uuid4().hex[:8]}")
                 for folder, name in ((self.box.cwd, "home/workspace"), (self.box.home, "home/dev"))}  # fmt: skip
        hold = cargo.Hold(fresh, self.container.size.disk_bytes)
        hold.unload(self.container.get("/home"))
        for folder, name in ((self.box.cwd, "home/workspace"), (self.box.home, "home/dev")):
            old = folder.with_name(f"{folder.name}.old")
            folder.rename(old)
            fresh[name].rename(folder)
            cargo.discard(old)
        return hold.faults[:3]


def _await_end(process: Process) -> None:
    """The end of a stream is there a moment before that of the process; one that was cancelled has none."""
    until = time.monotonic() + _CODE_SECONDS
    while process.running() and time.monotonic() < until:
        time.sleep(_CODE_SECONDS / 100)


def _finished(code: int | None, seconds: float, end: End, hits: frozenset[Hit], note: str) -> Finished:
    if end == "output":
        hits |= {Hit.OUTPUT}
    killed = -9  # as of a process that KILL has ended
    told = killed if code is None else code if code <= _LAST_CODE else _LAST_CODE - code
    return Finished(told, seconds, end == "timed_out", end == "cancelled", hits, note)
