"""Process that has collected the tests of a tree, and runs some of them in children; nothing of the toolkit is used.

A child has everything imported already. Changes of functions are made in its memory (patched_functions.py).
"""

import contextlib
import cProfile
import gc
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from scylla_gha.readiness.test_runners.patched_functions import ImportedFunctions

_POLL_SECONDS: Final = 0.005
_CANNOT: Final = 87  # exit code of a child that has to be a new process instead


def start_child(work: Callable[[], int]) -> int:
    """Run a function in a child process with its own group, whose output is dropped; return the process."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(null, descriptor)
        code = work()
    finally:
        os._exit(code)


def wait_for(process: int, seconds: float) -> int | None:
    """Wait for a child's end, and end all that it left; return its exit code, negative for a signal; None: too late."""
    end = time.monotonic() + seconds
    ended, status = os.waitpid(process, os.WNOHANG)
    while not ended and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
        ended, status = os.waitpid(process, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    if not ended:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


class CollectedTests:
    """The process, as its parent sees it."""

    def __init__(
        self, root: Path, runner: ModuleType, patching: ModuleType, properties: ModuleType, arguments: Sequence[str]
    ) -> None:
        """Start it in the current folder, which is a copy of the tree.

        Args:
            root: the tree, which does not change.
            runner: program run_pytest.py.
            patching: program patched_functions.py.
            properties: program property_tests.py.
            arguments: of run_pytest.py: options, and the files whose tests are collected.
        """
        self.root = root
        self.own, other = socket.socketpair()
        self.lines = self.own.makefile("rw", encoding="utf-8")
        self.process = start_child(lambda: _collect(RequestLoop(runner, patching, properties, other), arguments))
        other.close()

    def is_ready(self, seconds: float) -> bool:
        """Wait until the tests are collected; return False if they cannot be, or not in time."""
        return self._ask(None, seconds)

    def run(self, request: Mapping[str, Any], lines: Path) -> bool:
        """Run a request, and write its lines to a file; return False if it has to run in a new process."""
        originals = {name: _text(self.root / name) for name in request["changes"]}
        return self._ask({**request, "originals": originals, "lines": str(lines)}, 2 * request["seconds"])

    def _ask(self, question: Mapping[str, Any] | None, seconds: float) -> bool:
        self.own.settimeout(seconds)
        try:
            if question is not None:
                self.lines.write(json.dumps(question) + "\n")
                self.lines.flush()
            return self.lines.readline() == "yes\n"
        except OSError:
            return False

    def stop(self) -> None:
        """End it."""
        wait_for(self.process, 0)
        self.own.close()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _collect(loop: "RequestLoop", arguments: Sequence[str]) -> int:
    """Collect tests, then answer requests until the connection ends."""
    sys.dont_write_bytecode = False  # leaves compiled modules for processes that import them again
    loop.watch.start()
    return int(loop.runner.start(arguments, [loop]))


class ExecutedCode:
    """Code that the main thread executes between `start` and `stop`."""

    def __init__(self) -> None:
        self.profile = cProfile.Profile(builtins=False)
        self.has_threads = False

    def start(self) -> None:
        """Watch from now on."""
        threading.setprofile(self._note_thread)
        self.profile.enable()

    def _note_thread(self, *_: object) -> None:
        self.has_threads = True

    def stop(self) -> set[CodeType] | None:
        """Return all code that was executed, or None if tracing was disturbed."""
        _last()
        self.profile.disable()
        threading.setprofile(None)
        executed = {entry.code for entry in self.profile.getstats() if isinstance(entry.code, CodeType)}
        return executed if _last.__code__ in executed and not self.has_threads else None


def _last() -> None:
    """Do nothing; it is seen if the profile still sees calls."""


class RequestLoop:
    """Plug-in of pytest that runs requests in children, in place of the collected tests."""

    def __init__(
        self, runner: ModuleType, patching: ModuleType, properties: ModuleType, connection: socket.socket
    ) -> None:
        self.runner, self.patching, self.properties = runner, patching, properties
        self.connection = connection.makefile("rw", encoding="utf-8")
        self.watch = ExecutedCode()
        self.lines: Path | None = None  # of a child

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Answer requests; in a child return, so that pytest runs the chosen tests."""
        executed = self.watch.stop()
        if executed is None or threading.active_count() > 1:
            os._exit(1)
        functions = self.patching.ImportedFunctions(Path.cwd(), executed)
        sys.dont_write_bytecode = True
        gc.collect()
        gc.freeze()  # children need not look through what was imported
        self._answer(True)
        for line in self.connection:
            request = json.loads(line)
            process = os.fork()
            if not process:
                self._choose(session, request, functions)
                return
            code = wait_for(process, request["seconds"])
            if code is None:
                write_end(Path(request["lines"]))
            self._answer(code != _CANNOT)
        os._exit(0)

    def _answer(self, is_done: bool) -> None:
        self.connection.write("yes\n" if is_done else "no\n")
        self.connection.flush()

    def _choose(self, session: pytest.Session, request: Mapping[str, Any], functions: "ImportedFunctions") -> None:
        os.setsid()
        collected = {name for item in session.items for name in (item.nodeid, item.nodeid.partition("::")[0])}
        if not collected.issuperset(request["tests"]) or not functions.replace(
            request["originals"], request["changes"]
        ):
            os._exit(_CANNOT)
        self.lines = Path(request["lines"])
        if not request["has_outputs"]:
            session.config.option.tbstyle = "no"
        os.environ |= {"OUTCOMES": request["lines"], "TEST_SECONDS": str(request["test_seconds"])}
        writer = self.runner.OutcomeWriter(
            frozenset(request["tests"]), is_reversed=False, stops_late=request["stops_late"], coverage=None
        )
        writer.pytest_collection_modifyitems(session.config, session.items)
        self.properties.PropertySettings(has_outputs=request["has_outputs"]).pytest_collection_modifyitems(
            session.items
        )
        session.config.pluginmanager.register(writer)

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """End a child whose tests have run: what follows collects garbage several times."""
        if self.lines is not None:
            write_end(self.lines)
            os._exit(0)


def write_end(lines: Path) -> None:
    """Append the last line of a request."""
    with lines.open("a", encoding="utf-8") as file:
        file.write('{"ended": true}\n')
