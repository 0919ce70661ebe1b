"""A real container engine for the tests: the machine's own, or one that is started for them and ends after them."""

import contextlib
import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from scylla_gha.sandboxes.docker import engine

# Ends the engine when nobody holds the lock any more, so also when all test processes were killed.
GUARD = """\
dockerd --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/pid" --host "unix://$1/sock" --bridge=none \
  --iptables=false --ip6tables=false >"$1/log" 2>&1 &
exec 9<"$1/users"
flock -x 9
kill $!
wait $!
rm -rf "$1/data" "$1/exec" "$1/sock"
"""
START_SECONDS = 60
GUARDS: list[subprocess.Popen[bytes]] = []  # they outlive the test process on purpose


@contextlib.contextmanager
def an_engine(folder: Path) -> Iterator[None]:
    """Have `DOCKER_HOST` lead to an engine; the test processes of one session share what they start in `folder`."""
    if engine.answers():
        yield
        return
    folder.mkdir(exist_ok=True)
    with at(folder), (folder / "users").open("w") as users, (folder / "starting").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_SH)
        if not engine.answers():
            _start(folder)
        fcntl.flock(starting, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def at(folder: Path) -> Iterator[None]:
    """Have `DOCKER_HOST` lead to the folder's socket."""
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = f"unix://{folder}/sock"
    try:
        yield
    finally:
        os.environ.pop("DOCKER_HOST")
        if before:
            os.environ["DOCKER_HOST"] = before


def found_by() -> dict[str, str]:
    """The environment in which a command finds the engine of the tests."""
    return {"DOCKER_HOST": os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"}


def _start(folder: Path) -> None:
    argv = ["/bin/sh", "-c", GUARD, "sh", str(folder)]
    GUARDS.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True))
    deadline = time.monotonic() + START_SECONDS
    while not engine.answers():
        log = folder / "log"
        assert time.monotonic() < deadline, (
            "no container engine answers, and none could be started (apt-get install docker.io, or ./scylla test): "
            + (log.read_text()[-2000:] if log.exists() else "")
        )
        time.sleep(0.1)
