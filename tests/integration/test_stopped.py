"""A harness that is stopped for longer than a trial's limit, and rules on what ended meanwhile by its real end."""

import ast
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.boxes import Desk
from tests.support.processes import wait_for

HARNESS = """
import sys
from pathlib import Path
from scylla_gha.process import ProcessLimits, ProcessStreams
from scylla_gha.sandboxes.base import SandboxMounts
from scylla_gha.sandboxes.bubblewrap import BubblewrapSandbox
from scylla_gha.sandboxes.docker.sandbox import DockerSandbox
from scylla_gha.sandboxes.host import HostSandbox
name, folder, image, script = sys.argv[1:]
folder = Path(folder)
work = folder / "workspace"
box = SandboxMounts(cwd=work, home=folder / "home", path="/usr/bin:/bin", image=image or None)
sandbox = {"host": HostSandbox, "bubblewrap": BubblewrapSandbox, "docker": DockerSandbox}[name]()
streams = ProcessStreams(folder / "out", folder / "err")
print("begun", flush=True)
found = sandbox.run(("/bin/sh", "-c", script), box, streams, ProcessLimits(4))
print((found.code, found.timed_out, found.seconds))
"""
STOPPED_SECONDS = 25


def ran(name: str, folder: Path, image: str, script: str, stopped_seconds: float) -> tuple[int, bool, float]:
    """Code, whether it is ruled to have timed out, and the seconds, of a program whose harness is stopped meanwhile."""
    for part in ("workspace", "home"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-c", HARNESS, name, str(folder), image, script]
    with subprocess.Popen(argv, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        harness.stdout.readline()
        assert wait_for(lambda: (folder / "out").exists() and "there" in (folder / "out").read_text())
        harness.send_signal(signal.SIGSTOP)
        time.sleep(stopped_seconds)
        harness.send_signal(signal.SIGCONT)
        found = ast.literal_eval(harness.communicate(timeout=120)[0])
    assert (folder / "out").read_text() == "there\ndone\n", "what it said meanwhile is kept"
    code, timed_out, seconds = found
    return code, timed_out, seconds


@pytest.mark.parametrize("name", ["host", "bubblewrap"])
def test_what_ended_in_time_while_the_harness_was_stopped_is_not_timed_out(name: str, tmp_path: Path) -> None:
    code, timed_out, seconds = ran(name, tmp_path, "", "echo there; sleep 1; echo done; exit 3", STOPPED_SECONDS)
    assert (code, timed_out) == (3, False)
    assert 1 <= seconds < 3, "its own time, not that of the harness"


@pytest.mark.parametrize("name", ["host", "bubblewrap"])
def test_what_ended_too_late_while_the_harness_was_stopped_is_timed_out(name: str, tmp_path: Path) -> None:
    _, timed_out, seconds = ran(name, tmp_path, "", "echo there; sleep 6; echo done", 9)
    assert timed_out
    assert 6 <= seconds < 8


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize(("sleeps", "stopped", "late"), [(1, STOPPED_SECONDS, False), (6, 9, True)])
def test_the_engine_tells_when_a_program_ended(desk: Desk, sleeps: int, stopped: int, late: bool) -> None:
    script = f"echo there; sleep {sleeps}; echo done"
    code, timed_out, seconds = ran("docker", desk.folder / "one", desk.image or "", script, stopped)
    assert (code, timed_out) == (0, late)
    assert sleeps <= seconds < sleeps + 2
