"""A harness that is killed leaves nothing, and nothing of others is touched."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import ends, number_in, wait_for

SLEEPER = "trap '' TERM; sleep 600 & echo $! >$1; wait"  # only KILL to the group reaches both
HARNESS = """
import subprocess, sys, time
from scylla_gha.system import watchers
for name, how in (("kept", None), ("ended", "KILL"), ("forgotten", "KILL"), ("tool", "TERM")):
    script = SLEEPER if how != "TERM" else "trap 'echo 7 >tidied; exit' TERM; echo $$ >tool; sleep 600 & wait"
    process = subprocess.Popen(["/bin/sh", "-c", script, "sh", name], start_new_session=True)
    if how:
        watchers.register(how, -process.pid if how == "KILL" else process.pid)
    if name == "forgotten":
        watchers.unregister(how, -process.pid)
print("ready", flush=True)
time.sleep(600)
"""


@contextmanager
def harness(folder: Path, script: str) -> Iterator[subprocess.Popen[str]]:
    """A process like the harness, once it is ready; killed where that was not done."""
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}/exe").exists()


def test_with_the_harness_end_its_groups_and_tools_and_no_others(tmp_path: Path) -> None:
    with harness(tmp_path, f"SLEEPER = {SLEEPER!r}\n{HARNESS}") as process:
        pids = {name: number_in(tmp_path / name) for name in ("kept", "ended", "forgotten", "tool")}
        assert all(map(is_there, pids.values()))
        process.kill()
        assert ends(pids["ended"])
        assert ends(pids["tool"])
    assert number_in(tmp_path / "tidied") == 7, "a tool may tidy up"
    for name in ("kept", "forgotten"):
        assert is_there(pids[name])
        subprocess.run(["kill", "-9", "--", f"-{group_of(pids[name])}"], check=True)


def group_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[2])


WATCHED = """
import os, subprocess, time
from pathlib import Path
from scylla_gha.system import watchers
one, other = (subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(2))
watchers.register("KILL", -one.pid)
(watcher,) = (int(task) for task in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
              if int(task) not in (one.pid, other.pid))
while not (environ := Path(f"/proc/{watcher}/environ").read_bytes()):
    time.sleep(0.01)  # it is just becoming the shell
Path("watcher").write_bytes(environ)
os.kill(watcher, 9)
os.waitpid(watcher, 0)
watchers.register("KILL", -other.pid)
Path("pids").write_text(f"{one.pid} {other.pid}\\n")
print("ready", flush=True)
time.sleep(600)
"""


def test_a_watcher_that_was_ended_is_replaced_and_forgets_nothing(tmp_path: Path) -> None:
    with harness(tmp_path, WATCHED) as process:
        assert (tmp_path / "watcher").read_bytes() == b"PATH=/bin:/usr/bin\0", "it holds no secret"
        pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
        assert all(map(is_there, pids))
        process.kill()
        assert all(map(ends, pids))


def test_the_watcher_ends_with_a_harness_that_ends_well(tmp_path: Path) -> None:
    script = "from scylla_gha.system import process\nprocess.capture(['true'])\nprint('ready', flush=True)"
    with harness(tmp_path, script) as process:
        process.wait()
    assert wait_for(lambda: not watchers_in(tmp_path))


def watchers_in(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and (process / "cwd").readlink() == folder:
                found.append(int(process.name))
        except OSError:
            continue
    return found


GATE = """
import os, threading, time
from pathlib import Path
from scylla_gha.system import process, watchers
def never(how, number):
    print("ready", flush=True)
    time.sleep(600)
watchers.register = never
here = Path.cwd()
streams = process.ProcessStreams(here / "out", here / "err")
argv = ("/bin/sh", "-c", "echo 1 >started")
process.run(argv, cwd=here, env={"PATH": os.defpath}, streams=streams, limits=process.ProcessLimits(60))
"""


def test_an_agent_does_not_start_before_its_end_is_provided_for(tmp_path: Path) -> None:
    with harness(tmp_path, GATE) as process:
        process.kill()
        process.wait()
    assert wait_for(lambda: not watchers_in(tmp_path))
    assert not (tmp_path / "started").exists()
