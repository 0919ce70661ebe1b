"""Box that is kept for many requests on variants of a tree: the harness's side of run_many.py.

A sandbox whose folders are copied in and out gets all requests of a call before it starts, and ends after them.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Final

from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.recorded_tests import TestOutcome
from scylla_gha.readiness.test_runners.base import (
    BoxCommand,
    BoxFolders,
    box_folders,
    outcomes_of,
    read_lines,
    run_command,
)
from scylla_gha.system.process import Cancel, FinishedProcess

_POLL_SECONDS: Final = 0.02
_START_SECONDS: Final = 600.0  # copies of the tree, and the tests are collected
_END_SECONDS: Final = 2.0

RequestOutcomes = Mapping[str, TestOutcome] | None  # by test


class RequestBox:
    """Box that starts with the first requests, and again if it was lost; several threads may use it."""

    def __init__(self, environment: CodeEnvironment, tree: Path, command: BoxCommand, cancel: Cancel | None) -> None:
        """Note what to run.

        Args:
            environment: of the tests.
            tree: the requests' changes are relative to it.
            command: runs run_many.py.
            cancel: is set if the user interrupts.
        """
        self.environment, self.tree, self.command, self.cancel = environment, tree, command, cancel
        self._lock = Lock()
        self._running: _RunningBox | None = None

    def close(self) -> None:
        """End the box; no thread may use it any longer."""
        if self._running is not None:
            self._running.stack.close()
            self._running = None

    def run(self, requests: Sequence[Mapping[str, Any]]) -> list[RequestOutcomes]:
        """Return the outcomes of each request by test; None: the process of its tests broke off, or the box did.

        Args:
            requests: as run_many.py reads them.

        Raises:
            SandboxError: the sandbox cannot be started.
            KeyboardInterrupt: the user interrupted.
        """
        with self._used() as box:
            with self._lock:
                numbers = box.ask(requests)
                box.start()
            while not box.has_ended(numbers):
                box.cancel_if_late()
                if self.cancel is None:
                    time.sleep(_POLL_SECONDS)
                elif self.cancel.wait(_POLL_SECONDS):
                    raise KeyboardInterrupt
            return [box.answer(number) for number in numbers]

    @contextmanager
    def _used(self) -> Iterator["_RunningBox"]:
        """Give the box that runs, or a new one; the last user of one that is over removes it."""
        with self._lock:
            box = self._running
            if box is None or box.is_over:
                box = _RunningBox(self.environment, self.tree, self.command)
            if self.environment.target.sandbox.shares_folders:
                self._running = box
            box.users += 1
        try:
            yield box
        finally:
            with self._lock:
                box.users -= 1
                is_over = box.is_over or box is not self._running
                if is_over and self._running is box:
                    self._running = None
                if is_over and not box.users:
                    box.stack.close()


class _RunningBox:
    """Sandbox in a thread, and its queue."""

    def __init__(self, environment: CodeEnvironment, tree: Path, command: BoxCommand) -> None:
        self.environment, self.command = environment, command
        self.users = 0
        self._end_seconds = 0.0  # of the monotonic clock
        self._numbers = count()
        self._finished: Future[FinishedProcess] | None = None
        with ExitStack() as stack:
            self.folders: BoxFolders = stack.enter_context(box_folders(environment, tree, command.programs))
            self.queue = self.folders.checks / "queue"  # read-only inside
            self.done = self.folders.home / "done"
            self.queue.mkdir()
            self.cancel = stack.enter_context(closing(Cancel()))
            self._pool = stack.enter_context(ThreadPoolExecutor(1))
            stack.callback(self._end)
            self.stack = stack.pop_all()

    def start(self) -> None:
        """Start the sandbox, if it does not run yet."""
        if self._finished is None:
            if not self.environment.target.sandbox.shares_folders:
                self._end_queue()
            self._finished = self._pool.submit(run_command, self.environment, self.command, self.folders, self.cancel)

    def _end_queue(self) -> None:
        (self.queue / "end").touch()

    def _end(self) -> None:
        """End the sandbox: its program does that by itself, if it is not amid a request."""
        self._end_queue()
        if self._finished is not None:
            wait([self._finished], _END_SECONDS)
        self.cancel.set()

    def has_ended(self, numbers: Iterable[int]) -> bool:
        """Return True if the sandbox has ended, or is kept and has answered these requests."""
        sandbox = self.environment.target.sandbox
        return self.is_over or (sandbox.shares_folders and all(map(self._has_answer, numbers)))

    @property
    def is_over(self) -> bool:
        """The sandbox has ended."""
        return self._finished is not None and self._finished.done()

    def ask(self, requests: Sequence[Mapping[str, Any]]) -> list[int]:
        """Put requests into the queue, the longest ones first; return their numbers."""
        numbers = dict.fromkeys(range(len(requests)), 0)
        for index in sorted(numbers, key=lambda index: -len(requests[index]["tests"])):
            numbers[index] = next(self._numbers)
            self._ask(numbers[index], requests[index])
        seconds = sum(request["seconds"] for request in requests)
        self._end_seconds = max(self._end_seconds, time.monotonic() + _START_SECONDS) + seconds
        return list(numbers.values())

    def cancel_if_late(self) -> None:
        """End the sandbox if it has taken longer than all its requests may."""
        if time.monotonic() > self._end_seconds:
            self.cancel.set()

    def _ask(self, number: int, request: Mapping[str, Any]) -> None:
        path = self.queue / f"{number:06d}.json"
        path.with_suffix(".new").write_text(json.dumps(request), encoding="utf-8")
        path.with_suffix(".new").rename(path)

    def _has_answer(self, number: int) -> bool:
        return (self.done / f"{number:06d}.jsonl").exists()

    def answer(self, number: int) -> RequestOutcomes:
        """Return the outcomes of a request; None: its tests did not end."""
        lines = list(read_lines(self.done / f"{number:06d}.jsonl"))
        return outcomes_of(lines) if any("ended" in line for line in lines) else None
