"""Programs in the Docker sandbox, with little of everything so that limits are soon reached."""

from dataclasses import dataclass
from pathlib import Path

from scylla_gha.sandboxes.base import SandboxMounts
from scylla_gha.sandboxes.docker import DockerSandbox
from scylla_gha.sandboxes.docker.container import ContainerSize
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams
from tests.support.repository import write_tree

MEGA = 1 << 20
SMALL = ContainerSize(memory_bytes=256 * MEGA, disk_bytes=32 * MEGA, scratch_bytes=16 * MEGA, files=2000, processes=64)


@dataclass(frozen=True)
class Seen:
    finished: FinishedProcess
    out: str
    err: str


@dataclass
class DockerRunner:
    """A workspace and a HOME on the host, and what is run on them in a container."""

    folder: Path
    image: str
    size: ContainerSize = SMALL
    sockets: Path | None = None
    read_only: tuple[Path, ...] = ()
    keep: bool = True
    answer_seconds: float = 20.0

    def __post_init__(self) -> None:
        for place in (self.workspace, self.home):
            place.mkdir(exist_ok=True)
        write_tree(self.workspace, {"a.txt": "hello\n"})

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def sh(self, script: str, **how: object) -> Seen:
        """Run a shell script to its end."""
        return self.run(("/bin/sh", "-c", script), **how)  # type: ignore[arg-type]

    def python(self, script: str, **how: object) -> Seen:
        """Run a Python script to its end."""
        return self.run(("python3", "-c", script), **how)  # type: ignore[arg-type]

    def run(
        self, argv: tuple[str, ...], seconds: float = 60, most: int = 8 * MEGA, stdin: str | None = None,
        cancel: Cancel | None = None, grace: float = 5, **extra: str,
    ) -> Seen:  # fmt: skip
        prompt = self.folder / "stdin" if stdin is not None else None
        if prompt is not None:
            prompt.write_text(stdin or "")
        streams = ProcessStreams(self.folder / "stdout", self.folder / "stderr", prompt)
        box = SandboxMounts(self.workspace, self.home, "", extra, self.read_only, self.image, self.sockets, self.keep)
        sandbox = DockerSandbox(self.size, self.answer_seconds)
        ended = sandbox.run(argv, box, streams, ProcessLimits(seconds, most, grace_seconds=grace), cancel)
        return Seen(ended, *(path.read_text(errors="replace") for path in (streams.stdout, streams.stderr)))
