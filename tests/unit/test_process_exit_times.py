"""The time at which a process ended, asked for long after."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from scylla_gha.system import watchers
from tests.support.processes import ends, wait_for


def watcher() -> int:
    """The process that watches for this one, once one was watched."""
    found = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if is_of_this(path)]
    (number,) = found
    return int(number)


def is_of_this(path: Path) -> bool:
    try:
        parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        return parent == os.getpid() and watchers.__file__.encode() in path.read_bytes()
    except OSError:
        return False


def ended(seconds: float) -> float | None:
    """Return when a process of so many seconds ended, as is told much later."""
    with subprocess.Popen(["sleep", str(seconds)]) as process:
        handle = os.pidfd_open(process.pid)
        told = watchers.watch_exit(handle)
        os.close(handle)
    time.sleep(0.5)
    found = told.read()
    told.close()
    return found


def test_an_end_is_told_with_the_time_it_had() -> None:
    started = time.monotonic()
    found = ended(0.3)
    assert found is not None
    assert started + 0.3 <= found < time.monotonic() - 0.4


def test_ends_of_several_are_told_apart() -> None:
    longer, shorter = (subprocess.Popen(["sleep", seconds]) for seconds in ("1", "0.2"))
    handles = [os.pidfd_open(process.pid) for process in (longer, shorter)]
    first, second = (watchers.watch_exit(handle) for handle in handles)
    for process in (longer, shorter):
        process.wait()
    late, early = first.read(), second.read()
    for each in handles:
        os.close(each)
    first.close()
    second.close()
    assert late is not None
    assert early is not None
    assert 0.5 < late - early < 5


def test_a_watcher_that_was_ended_is_started_again_and_what_it_watched_is_unknown() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        handle = os.pidfd_open(process.pid)
        told = watchers.watch_exit(handle)
        os.kill(watcher(), signal.SIGKILL)
        process.kill()
    os.close(handle)
    assert told.read() is None
    told.close()
    assert ended(0.1) is not None


def test_the_watcher_ends_with_the_harness(tmp_path: Path) -> None:
    script = f"""
import os, sys, time
from pathlib import Path
from scylla_gha.system import watchers
watchers.watch_exit(os.pidfd_open(os.getpid()))
Path({str(tmp_path / "there")!r}).touch()
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", script]) as harness:
        assert wait_for((tmp_path / "there").exists)
        children = Path(f"/proc/{harness.pid}/task/{harness.pid}/children").read_text().split()
        harness.kill()
    assert len(children) == 1
    assert all(ends(int(child)) for child in children)
