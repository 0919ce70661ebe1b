"""Queue of a cell's runs of workflows, from which the harness takes them; it waits without asking again and again.

The hub executes nothing: the harness runs the commands of a run in a sandbox, and reports here what they did.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from typing import Any, Final, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

from scylla_gha.errors import ConfigError
from scylla_gha.hub.actions_records import RunRecord
from scylla_gha.hub.cell import Hub, HubSession
from scylla_gha.hub.operations.run_reports import (
    cancel_attempt,
    end_run,
    has_stopped,
    report_job,
    take_run,
    waiting_runs,
)
from scylla_gha.hub.workflow_records import (
    AwaitStopRequest,
    DrainAnswer,
    DrainRequest,
    JobReport,
    NextRun,
    NextRunRequest,
    QueuedRun,
    RunEnd,
    StopAnswer,
)
from scylla_gha.model import Record

_LONGEST_WAIT: Final = 60.0
R = TypeVar("R")


class RunQueue:
    """Queue of one cell. All methods belong to the event loop; the hub's records are read in threads."""

    def __init__(self, hub: Hub, threads: Executor) -> None:
        """Take over the runs that the hub queues from now on."""
        self._hub = hub
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._started: set[tuple[int, int]] = set()  # runs and attempts that the harness took
        self._closed = False
        hub.runner = self._notify

    def close(self) -> None:
        """Answer all who wait: no run will be queued any more."""
        self._closed = True
        self._wake()

    def _notify(self, session: HubSession, run: RunRecord) -> None:  # noqa: ARG002 as `Hub.runner` is called
        """Wake those who wait, from any thread."""
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _await(self, check: Callable[[], R | None], seconds: float) -> R | None:
        """Return what a check returns, as soon as that is not None; None after some seconds, or if it was closed."""
        until = time.monotonic() + min(seconds, _LONGEST_WAIT)
        while True:
            changed = self._changed
            outcome = await self._in_thread(check)
            remaining = until - time.monotonic()
            if outcome is not None or self._closed or remaining <= 0:
                return outcome
            try:
                await asyncio.wait_for(changed.wait(), remaining)
            except TimeoutError:
                return None

    async def _in_thread(self, work: Callable[[], R]) -> R:
        def locked() -> R:
            with self._hub.lock:
                return work()

        return await self._loop.run_in_executor(self._threads, locked)

    async def next(self, request: NextRunRequest) -> NextRun:
        """Return the next run, which is in progress from now on."""
        run = None if self._closed else await self._await(self._take, request.seconds)
        return NextRun(run=run, closed=self._closed and run is None)

    def _take(self) -> QueuedRun | None:
        run = take_run(self._hub)
        if run is not None:
            self._started.add((run.run, run.attempt))
        return run

    async def report(self, report: JobReport) -> StopAnswer:
        """Store the state of a job."""
        return StopAnswer(stopped=await self._in_thread(lambda: report_job(self._hub, report)))

    async def end(self, end: RunEnd) -> StopAnswer:
        """Complete an attempt."""
        await self._in_thread(lambda: end_run(self._hub, end))
        self._wake()
        return StopAnswer(stopped=True)

    async def await_stop(self, request: AwaitStopRequest) -> StopAnswer:
        """Wait until an attempt is not in progress any more."""
        stopped = await self._await(
            lambda: has_stopped(self._hub, request.run, request.attempt) or None, request.seconds
        )
        return StopAnswer(stopped=bool(stopped) or self._closed)

    async def drain(self, request: DrainRequest) -> DrainAnswer:
        """Wait until nothing is left to do; without time, cancel what is left, and close the queue."""
        if request.seconds > 0:
            is_done = await self._await(lambda: True if not self._left() else None, request.seconds)
            if not is_done and not self._closed:
                return DrainAnswer(cancelled=None)
        cancelled = await self._in_thread(self._cancel_left)
        self.close()
        return DrainAnswer(cancelled=cancelled)

    def _left(self) -> list[tuple[int, int]]:
        started = [(run, attempt) for run, attempt in self._started if not has_stopped(self._hub, run, attempt)]
        return [*started, *((run.id, run.attempt) for run in waiting_runs(self._hub))]

    def _cancel_left(self) -> int:
        left = self._left()
        for run, attempt in left:
            cancel_attempt(self._hub, run, attempt)
        return len(left)


def run_routes(queues: Callable[[str], RunQueue | None]) -> Mapping[str, Handler]:
    """Return the handlers of the control interface by path; `queues` finds the queue of a cell."""
    return {
        "/control/next-run": _handler(queues, NextRunRequest, RunQueue.next),
        "/control/report-job": _handler(queues, JobReport, RunQueue.report),
        "/control/end-run": _handler(queues, RunEnd, RunQueue.end),
        "/control/await-stop": _handler(queues, AwaitStopRequest, RunQueue.await_stop),
        "/control/drain-runs": _handler(queues, DrainRequest, RunQueue.drain),
    }


def _handler(
    queues: Callable[[str], RunQueue | None], kind: type[Any], method: Callable[[RunQueue, Any], Awaitable[Record]]
) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        asked = kind.model_validate_json(await request.read())
        queue = queues(asked.cell)
        if queue is None:
            raise ConfigError(f"{asked.cell}: this cell is not attached, or has no runner")
        answer = await method(queue, asked)
        return web.json_response(text=answer.model_dump_json())

    return handle
