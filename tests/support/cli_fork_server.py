"""A process that has the whole toolkit loaded, and starts each command line as a fork of itself.

To start `scylla-gha` anew takes a second of processor time, most of it to load what is the same each time; the tests
start it a thousand times. The runner of the tests has loaded it, and forks a server for each test file (`fork`). Run as
a script, it listens at the socket that is its standard input.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import types
from pathlib import Path
from typing import NoReturn

RUNNING: list[socket.socket] = []  # the socket of this test process's server, if the runner has forked one
SIZE = 1 << 20
LAZY = (
    "altair", "anthropic.resources.messages", "docker", "docker.types", "jinja2", "markdown.extensions", "nh3",
    "rich.progress", "rich.table", "vl_convert",
)  # fmt: skip


def load() -> None:
    """Import all modules of the toolkit, but those that begin to work as soon as they are imported, and what commands
    import when they need it."""
    import scylla_gha

    for name in LAZY:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(scylla_gha.__path__, "scylla_gha."):
        if not module.name.endswith("__main__") and ".templates" not in module.name:
            importlib.import_module(module.name)


def serve(asked: socket.socket) -> dict[str, object]:
    """Fork for each request, until nobody asks any more; returns in the fork that is to be the command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the forks are waited for by nobody
    while True:
        data, fds, _, _ = socket.recv_fds(asked, SIZE, 4)
        if not data:
            os._exit(0)
        if not os.fork():
            break
        for fd in fds:
            os.close(fd)
    asked.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out, err, reply, *stdin = fds
    if child := os.fork():
        os.write(reply, b"%d\n" % child)
        os.write(reply, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os._exit(0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for fd in stdin:
        os.dup2(fd, 0)
    for fd in fds:
        os.close(fd)
    told: dict[str, object] = json.loads(data)
    return told


def become(told: dict[str, object]) -> None:
    """Take on the arguments, folder and environment of a command."""
    env, cwd, argv = told["env"], told["cwd"], told["argv"]
    assert isinstance(env, dict)
    assert isinstance(cwd, str)
    assert isinstance(argv, list)
    os.environ.clear()
    os.environ.update(env)
    if "SCYLLA_TEST_CONTEXT" in os.environ:
        import coverage

        if measured := coverage.Coverage.current():
            measured.switch_context(os.environ["SCYLLA_TEST_CONTEXT"])
    time.tzset()
    os.chdir(cwd)
    tempfile.tempdir = None
    sys.argv = argv


def end(code: object) -> NoReturn:
    """As the interpreter ends, but for the clearing away of what is loaded, which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    assert isinstance(code, int)
    os._exit(code)


def fork() -> socket.socket:
    """Fork a server from a process that has loaded the toolkit; it ends with the socket that is returned."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SIZE)
    if os.fork():
        far.close()
        return near
    try:
        os.closerange(3, far.fileno())
        os.closerange(far.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        run(far)
    finally:
        traceback.print_exc()
        os._exit(1)


def run(listening: socket.socket) -> NoReturn:
    """Serve until nobody asks; in each fork, run a command to its end."""
    become(serve(listening))
    sys.path[0] = str(Path(sys.executable).parent)
    sys.modules["__main__"] = types.ModuleType(
        "__main__"
    )  # click takes the command's name from the package of the runner
    from scylla_gha.cli.main import main

    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    end(code)


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.executable).parent)  # instead of tests/support, whose numbers.py hides Python's own
    recorder = getattr(sys.modules.get("scylla_test_recorder"), "RECORDER", None)  # see tests/runner
    recorder.load_for_forks(load) if recorder else load()
    gc.freeze()  # so that no fork copies what it only looks at
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    run(requests)
