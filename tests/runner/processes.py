"""Test processes of one run: one for each test file, forked from a process that has the libraries loaded already."""

import atexit
import contextlib
import fcntl
import gc
import importlib
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pytest

from tests.runner import recorder
from tests.support import cli_fork_server

ROOT = Path(recorder.ROOT)
SESSION = "SCYLLA_TEST_SESSION"
LIBRARIES = (
    "_pytest.assertion.rewrite", "aiohttp.web", "anthropic", "anthropic.resources.messages", "click.testing", "docker",
    "docker.types", "graphql", "hypothesis", "jmespath", "numpy", "orjson", "pydantic", "rich.progress", "rich.table",
    "scipy.special", "yaml",
)  # fmt: skip
OPTIONS = ("-q", "-c", f"{ROOT}/pyproject.toml", "--rootdir", str(ROOT),
           "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")  # fmt: skip
PASSED = re.compile(r"^(\d+) passed.* in [\d.]+s", re.MULTILINE)
STOP_SECONDS = 60


@dataclass(frozen=True)
class Finished:
    """A test file that ran, and what its processes noted."""

    name: str
    code: int
    output: str
    seconds: float
    noted: frozenset[str]

    @property
    def tests(self) -> int:
        found = PASSED.search(self.output)
        return int(found[1]) if found else 0


class TestProcesses:
    """They share a container engine and caches in a folder, which is gone afterwards."""

    __test__ = False

    def __init__(self) -> None:
        # Agents in containers see this name in their mounts, and a test searches them for the toolkit's name
        self._folder = Path(tempfile.mkdtemp(prefix="test-session-"))
        self._engine = self._folder / "engine"
        self._running: dict[int, tuple[str, float, Path]] = {}
        self._started = 0

    def __enter__(self) -> "TestProcesses":
        for name in LIBRARIES:
            importlib.import_module(name)
        self._recorder = recorder.for_forks(cli_fork_server.load)
        gc.freeze()  # so that no fork copies what it only looks at
        self._engine.mkdir()
        self._users = (self._engine / "users").open("w")  # an engine that a test has started stays until this is closed
        fcntl.flock(self._users, fcntl.LOCK_SH)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in self._running:
            os.kill(pid, signal.SIGINT)
        for pid in self._running:
            os.waitpid(pid, 0)
        with contextlib.suppress(OSError):  # another run's tests are there
            Path(recorder.MARKS).rmdir()
        self._users.close()
        end = time.monotonic() + STOP_SECONDS
        while (self._engine / "data").exists() and time.monotonic() < end:
            time.sleep(0.1)
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, names: Sequence[str], processes: int) -> Iterator[Finished]:
        """Run each test file to its end, so many at once, and record what it reads."""
        waiting = list(reversed(names))
        while waiting or self._running:
            while waiting and len(self._running) < processes:
                self._start(waiting.pop())
            pid, status = os.wait()
            if pid in self._running:
                name, started, temporary = self._running.pop(pid)
                with contextlib.suppress(FileNotFoundError):
                    Path(recorder.MARKS, str(pid)).unlink()
                shutil.rmtree(temporary, ignore_errors=True)
                yield self._finished(name, os.waitstatus_to_exitcode(status), time.monotonic() - started)

    def _files(self, name: str) -> tuple[Path, Path]:
        folder = self._folder / name.replace("/", "--")
        return folder / "noted", folder / "output"

    def _finished(self, name: str, code: int, seconds: float) -> Finished:
        noted, output = self._files(name)
        text = output.read_text(errors="replace")
        return Finished(name, code, text, seconds, frozenset(noted.read_text().splitlines()))

    def _start(self, name: str) -> None:
        noted, output = self._files(name)
        empty = noted.parent / "empty"
        empty.mkdir(parents=True)
        noted.touch()
        output.touch()
        sys.stdout.flush()
        # Processes that share pytest's own folder remove old folders there at once, and fail on one another's remains
        temporary = self._folder / str(self._started)
        self._started += 1
        if pid := os.fork():
            self._running[pid] = (name, time.monotonic(), temporary)
            return
        code = 1
        try:
            _become(empty, output)
            os.environ[SESSION] = str(self._folder)
            recorder.record_into(str(noted), self._recorder)
            cli_fork_server.RUNNING.append(cli_fork_server.fork())
            code = int(pytest.main([*OPTIONS, f"--basetemp={temporary}", str(ROOT / name)]))
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
        finally:
            if sys.exc_info()[0] is not None:  # nobody else prints it
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def _become(folder: Path, output: Path) -> None:
    """Take on the folder and the streams of a test process; an interrupt of the terminal reaches it only from above."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(folder)
    out, nothing = os.open(output, os.O_WRONLY | os.O_APPEND), os.open(os.devnull, os.O_RDONLY)
    for stream, copy in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(stream, copy)
        os.set_inheritable(copy, True)
    os.close(out)
    os.close(nothing)
    sys.argv = ["pytest"]
