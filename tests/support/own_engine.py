"""A container engine of one test's own, which the test may kill."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.sandboxes.docker import engine
from tests.support.engine import at
from tests.support.killing import pids_below
from tests.support.processes import wait_for

ALONE = ("--bridge=none", "--iptables=false", "--ip6tables=false")


@dataclass
class OwnEngine:
    """It ends with the test's process."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, on what it had before."""
        # where nobody reaps it, the dead containerd keeps its number, and would be waited for
        for name in ("pid", "sock", "exec/containerd/containerd.pid"):
            (self.folder / name).unlink(missing_ok=True)
        argv = ["setpriv", "--pdeathsig", "KILL", "dockerd", "--data-root", str(self.folder / "data"),
                "--exec-root", str(self.folder / "exec"), "--pidfile", str(self.folder / "pid"),
                "--host", f"unix://{self.folder}/sock", *ALONE]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        assert wait_for(engine.answers), (self.folder / "log").read_text()[-2000:]

    def kill(self) -> None:
        """Kill all of it; what runs in its containers is left to itself."""
        for pid in pids_below(self.folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process:
            self.process.wait()


@contextlib.contextmanager
def own_engine() -> Iterator[OwnEngine]:
    """Have `DOCKER_HOST` lead to a fresh engine, which is gone afterwards, with all it made."""
    made = OwnEngine(Path(tempfile.mkdtemp(prefix="engine-")))
    with at(made.folder):
        try:
            made.start()
            yield made
        finally:
            if made.process:
                made.process.terminate()
                made.process.wait(60)
            made.kill()
            _unmount(made.folder)
            shutil.rmtree(made.folder)


def _unmount(folder: Path) -> None:
    for line in reversed(Path("/proc/mounts").read_text().splitlines()):
        if (place := line.split()[1]).startswith(f"{folder}/"):
            subprocess.run(["umount", "--lazy", place], check=True)
