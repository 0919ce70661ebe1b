"""A harness that is stopped for longer than a trial's limit, and rules on what ended meanwhile by its real end."""

import ast
import contextlib
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scylla_gha.sandboxes.docker import engine
from tests.support.docker_runner import DockerRunner
from tests.support.processes import wait_for

HARNESS = """
import sys
from pathlib import Path
from scylla_gha.system.process import ProcessLimits, ProcessStreams
from scylla_gha.sandboxes.base import SandboxMounts
from scylla_gha.sandboxes.bubblewrap import BubblewrapSandbox
from scylla_gha.sandboxes.docker import DockerSandbox
from scylla_gha.sandboxes.host import HostSandbox
name, folder, image, script = sys.argv[1:]
folder = Path(folder)
work = folder / "workspace"
box = SandboxMounts(cwd=work, home=folder / "home", path="/usr/bin:/bin", image=image or None)
sandbox = {"host": HostSandbox, "bubblewrap": BubblewrapSandbox, "docker": DockerSandbox}[name]()
streams = ProcessStreams(folder / "out", folder / "err")
print("begun", flush=True)
found = sandbox.run(("/bin/sh", "-c", script), box, streams, ProcessLimits(8))
print((found.code, found.timed_out, found.seconds))
"""
STOPPED_SECONDS = 17
REMEMBERED_EVENTS = 256  # by the engine, of all containers


def ran(
    name: str, folder: Path, image: str, script: str, stopped_seconds: float,
    meanwhile: Callable[[], object] = lambda: None,
) -> tuple[int, bool, float]:  # fmt: skip
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
        meanwhile()
        harness.send_signal(signal.SIGCONT)
        found = ast.literal_eval(harness.communicate(timeout=120)[0])
    assert (folder / "out").read_text() == "there\ndone\n", "what it said meanwhile is kept"
    code, timed_out, seconds = found
    return code, timed_out, seconds


IN_TIME, LATE = "echo there; sleep 1; echo done; exit 3", "echo there; sleep 11; echo done; exit 3"


def check_both_ends(name: str, folder: Path, image: str = "", meanwhile: Callable[[], object] = lambda: None) -> None:
    """Stop two harnesses at once; their programs end within the limit and after it."""
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(ran, name, folder / "early", image, IN_TIME, STOPPED_SECONDS, meanwhile)
        late = pool.submit(ran, name, folder / "late", image, LATE, STOPPED_SECONDS, meanwhile)
        code, timed_out, seconds = early.result()
        assert (code, timed_out) == (3, False)
        assert 1 <= seconds < 8, "its own time, not that of the harness"
        code, timed_out, seconds = late.result()
        assert timed_out
        assert 11 <= seconds < 16


@pytest.mark.parametrize("name", ["host", "bubblewrap"])
def test_a_process_is_timed_out_by_its_own_end_while_the_harness_is_stopped(name: str, tmp_path: Path) -> None:
    check_both_ends(name, tmp_path)


@pytest.mark.usefixtures("running_engine")
def test_a_busy_engine_still_states_when_a_process_ended(runner: DockerRunner) -> None:
    check_both_ends("docker", runner.folder, runner.image, lambda: crowd_out_events(runner.image))


def crowd_out_events(image: str) -> None:
    """Make the engine forget all events until now, by more events of another container."""
    name = f"crowd-{uuid.uuid4().hex}"
    with contextlib.closing(engine.connect()) as api:
        container = api.create_container(image, ["true"], name=name)["Id"]
        try:
            for number in range(REMEMBERED_EVENTS + 50):
                api.rename(container, f"{name}-{number}")
        finally:
            api.remove_container(container, force=True)
