"""Running the command under test many times without starting Python each time.

One child process imports the package; every call is a fork of it, so that no call can leave anything to the next.
"""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

Answer = tuple[int | str, str, str]  # exit status (or what happened instead), output, error output

SECONDS = 10

DRIVER = """
import importlib, json, os, runpy, sys, traceback

tree, channel = sys.argv[1], int(sys.argv[2])
sys.path.insert(0, tree)
try:
    importlib.import_module("roomdesk.cli")
except Exception:
    traceback.print_exc()
for line in sys.stdin:
    folder, args = json.loads(line)
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        os.write(channel, b"%d\\n" % os.waitstatus_to_exitcode(status))
        continue
    os.close(channel)
    os.chdir(folder)
    for stream, name in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.argv = ["roomdesk", *args]
    status = 0
    try:
        runpy.run_module("roomdesk", run_name="__main__", alter_sys=True)
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 255)
"""


class Command:
    """`python3 -m roomdesk` in the tree, with ``folder`` as the current one."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.tree = tree
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._channel = -1

    def _start(self) -> "subprocess.Popen[bytes]":
        # A clock far from UTC: no rule looks at the zone of the machine.
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", "TZ": "FAR-9:30"}
        self._channel, theirs = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", DRIVER, str(self.tree), str(theirs)],
            cwd=self.folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs],
            start_new_session=True,
        )
        os.close(theirs)
        return process

    def __call__(self, *args: str) -> Answer:
        for name in (".out", ".err"):
            (self.folder / name).unlink(missing_ok=True)
        if self._process is None:
            self._process = self._start()
        try:
            self._process.stdin.write(json.dumps([str(self.folder), args]).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            return "the program ended while it was loaded", "", ""
        if not select.select([self._channel], [], [], SECONDS)[0]:
            self.close()
            return f"no end after {SECONDS} seconds", "", ""
        try:
            status: int | str = int(os.read(self._channel, 100).split(b"\n")[0])
        except ValueError:
            return "the program ended while it was loaded", "", ""
        return status, self._text(".out"), self._text(".err")

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_bytes().decode(errors="replace") if path.is_file() else ""

    def close(self) -> None:
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
