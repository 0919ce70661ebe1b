"""What a sandbox is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from scylla_gha.proc import Cancel, Finished, Limits, Streams


@dataclass(frozen=True, slots=True)
class Box:
    """The folders and the PATH that a process sees; HOME is for temporary files too; `extra` is added to the rest."""

    cwd: Path
    home: Path
    path: str
    extra: Mapping[str, str] = field(default_factory=dict)


class Sandbox(Protocol):
    """Runs what is not trusted."""

    @property
    def name(self) -> str:
        """As the Result names it."""

    def run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None = None
    ) -> Finished:
        """Run a program to its end, or to its limits' end."""
