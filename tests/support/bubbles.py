"""Programs in a bubblewrap box, with a workspace and a HOME of their own."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scylla_gha.sandboxes.base import SandboxMounts
from scylla_gha.sandboxes.bubblewrap import BubblewrapSandbox
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams

PATH = "/usr/local/bin:/usr/bin:/bin"
# What a program tries on the files behind its own standard streams, if there are any.
TAMPER = """
echo before
ls -l /proc/self/fd >&2
for n in 0 1 2; do truncate -s 0 /proc/self/fd/$n; timeout 1 sh -c ": >/proc/self/fd/$n"; done 2>/dev/null
timeout 1 sh -c 'echo forged >/proc/self/fd/0'
echo after
"""
PYTHON = str(Path(sys.executable).resolve())


@dataclass
class Bubbles:
    """Boxes on the same folders, one after the other."""

    root: Path
    limits: ProcessLimits = field(default_factory=lambda: ProcessLimits(60))
    cancel: Cancel | None = None

    def __post_init__(self) -> None:
        for folder in (self.work, self.home):
            folder.mkdir(parents=True)

    @property
    def work(self) -> Path:
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        return self.root / "home"

    def run(self, *argv: str, stdin: Path | None = None, **box: Any) -> FinishedProcess:
        """Run a program; what it says is in `out` and `err`."""
        streams = ProcessStreams(self.root / "out", self.root / "err", stdin)
        inside = SandboxMounts(self.work, self.home, box.pop("path", PATH), **box)
        return BubblewrapSandbox().run(argv, inside, streams, self.limits, self.cancel)

    def sh(self, script: str, **box: Any) -> FinishedProcess:
        return self.run("/bin/sh", "-c", script, **box)

    def python(self, script: str, *args: str, **box: Any) -> FinishedProcess:
        return self.run(PYTHON, "-c", script, *args, **box)

    @property
    def out(self) -> str:
        return (self.root / "out").read_text()

    @property
    def err(self) -> str:
        return (self.root / "err").read_text()
