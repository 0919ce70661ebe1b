"""The host itself: a scrubbed environment, a HOME of the trial's own, limits; no isolation of files or network.

Keys are exposed: the harness, which closes its own memory and environment, is not all that holds them. The shell that
it was started from does too, and files of this user may; and to root nothing is closed.
"""

import os
from pathlib import Path
from typing import Final

from scylla_gha import proc
from scylla_gha.model.isolation import Isolation
from scylla_gha.proc import Cancel, Finished, Limits, Streams
from scylla_gha.sandboxes.base import ENVIRONMENT, Box


class HostSandbox:
    """Runs on the machine itself."""

    name: Final = "host"
    isolation: Final = Isolation(network="open", keys="exposed", files="open")

    @property
    def user(self) -> int:
        """Who the harness is, too."""
        return os.getuid()

    def inside(self, box: Box) -> dict[Path, str]:
        """Folders are called what they are."""
        return {folder: str(folder) for folder in (box.cwd, box.home, *box.read_only)}

    def run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None = None
    ) -> Finished:
        """Run a program with nothing in its environment but the box."""
        env = {**ENVIRONMENT, "PATH": box.path, "HOME": str(box.home), "TMPDIR": str(box.home), **box.extra}
        return proc.run(argv, cwd=box.cwd, env=env, streams=streams, limits=limits, cancel=cancel)
