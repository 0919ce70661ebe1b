"""What a sandbox is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from scylla_gha.model.isolation import Isolation
from scylla_gha.proc import Cancel, Finished, Limits, Streams

# An allow-list: nothing of the harness's own environment reaches an agent or a check.
ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "USER": "dev",
    "LOGNAME": "dev",
    "SHELL": "/bin/sh",
    # without a name, git refuses to commit, and a HOME that is empty has none
    "GIT_AUTHOR_NAME": "dev",
    "GIT_AUTHOR_EMAIL": "dev@example.com",
    "GIT_COMMITTER_NAME": "dev",
    "GIT_COMMITTER_EMAIL": "dev@example.com",
}

WORKSPACE: Final = "/home/workspace"
HOME: Final = "/home/dev"
SCRATCH: Final = "/tmp"  # noqa: S108 the box's own


@dataclass(frozen=True, slots=True)
class Box:
    """The folders and the PATH that a process sees; HOME is for temporary files too; `extra` is added to the rest.

    What follows `extra` is for a sandbox that is not the host. There, folders have other names, and where their paths
    stand in the arguments or in `extra`, the process is told those names; the PATH is the image's own.

    Attributes:
        read_only: folders that the process may read and not change.
        image: the image's id.
        sockets: a folder of sockets to the harness's servers (the gateway's is `GATEWAY_SOCKET`), or None: no network.
        managed: folders for settings of the machine's administrator, by their absolute path inside, where the process
            may read and not change them; not for the host.
        keep: whether `cwd` and `home` shall hold afterwards what the process left in them.
        program: of this machine, for a box that is not the host and has no image; "": the one that is run.
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


def named(box: Box) -> dict[Path, str]:
    """What the box's folders are called where they have neutral names."""
    return {box.cwd: WORKSPACE, box.home: HOME} | {folder: f"/home/{folder.name}" for folder in box.read_only}


def environment(box: Box, places: Mapping[Path, str]) -> dict[str, str]:
    """What a process finds where folders have these names, but for the PATH."""
    extra = {name: told(value, places) for name, value in box.extra.items()}
    return {**ENVIRONMENT, "HOME": HOME, "TMPDIR": SCRATCH, **extra}


class Sandbox(Protocol):
    """Runs what is not trusted."""

    @property
    def name(self) -> str:
        """As the Result names it."""

    @property
    def isolation(self) -> Isolation:
        """What it gives an agent, as the Result says it."""

    @property
    def user(self) -> int:
        """The number of the user that runs in it, as it is told there."""

    def inside(self, box: Box) -> Mapping[Path, str]:
        """What the box's folders are called in the sandbox."""

    def run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None = None
    ) -> Finished:
        """Run a program to its end, or to its limits' end."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where what is not trusted runs: a sandbox, and what it needs that is not of the trial.

    Attributes:
        sandbox: runs it.
        image: the image's id in the engine, as of a box.
        digest: what stands for the image in a key; None where there is no image.
        address: where the gateway is found inside, by a socket; None: at the address that it has outside.
    """

    sandbox: Sandbox
    image: str | None = None
    digest: str | None = None
    address: str | None = None


def told(text: str, places: Mapping[Path, str]) -> str:
    """The text with the sandbox's names of folders in place of the host's."""
    for folder in sorted(places, key=lambda folder: len(str(folder)), reverse=True):
        text = text.replace(str(folder), places[folder])
    return text
