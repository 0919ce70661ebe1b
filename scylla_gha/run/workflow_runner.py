"""Runner of workflows: it takes the queued runs of a trial's GitHub and runs their jobs in the box of checks.

The hub's process executes nothing. Jobs run one after another, in a thread beside the agent; another thread waits for
a cancellation. A run that still goes on a while after the trial is cancelled.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.hub.client import HubProcess
from scylla_gha.hub.control import AttachedCell
from scylla_gha.hub.operations.workflow_expressions import ExpressionScope, is_true
from scylla_gha.hub.workflow_records import JobReport, QueuedRun, RunEnd, WorkflowJob
from scylla_gha.prepare.workspace import scratch
from scylla_gha.process import Cancel
from scylla_gha.run.workflow_job import JobResult, JobRun, contexts_of
from scylla_gha.run.workflow_steps import JobBox, WorkflowBox

AFTER_SECONDS: Final = 60.0  # that runs may go on when the agent has ended
_POLL_SECONDS: Final = 20.0
_SLICE_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 120.0  # for what a job has left, which is copied out of its box


class EndlessJobError(ToolError):
    """A job of a workflow does not end after it was cancelled."""


@dataclass
class WorkflowRunner:
    """Runner of one cell. `repositories` is the folder with the cell's bare repositories, which are only read."""

    hub: HubProcess
    cell: AttachedCell
    repositories: Path
    box: WorkflowBox
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "workflows"))
    _running: "Future[None] | None" = None

    def start(self) -> None:
        """Begin to take runs."""
        self._running = self._threads.submit(self._take_runs)

    def finish(self, seconds: float = AFTER_SECONDS) -> None:
        """Wait for the runs that are queued or in progress, cancel them after some seconds, and end.

        Raises:
            SandboxError: the sandbox of a job was lost.
            EndlessJobError: the job that runs does not end.
            ToolError: the hub has died.
        """
        if self._running is None:
            return
        try:
            self._drain(self._running, seconds)
            self._running.result(_GRACE_SECONDS)
        except FutureTimeoutError:
            raise EndlessJobError("a job of a workflow does not end") from None
        finally:
            self._threads.shutdown(wait=False)

    def _drain(self, running: "Future[None]", seconds: float) -> None:
        until = time.monotonic() + seconds
        while not running.done() and not (self.box.cancel and self.box.cancel.is_set):
            remaining = until - time.monotonic()
            if self.hub.drain_runs(self.cell, max(0.0, min(_SLICE_SECONDS, remaining))) is not None:
                return
        if not running.done():
            self.hub.drain_runs(self.cell, 0.0)

    def _take_runs(self) -> None:
        while True:
            answer = self.hub.next_run(self.cell, _POLL_SECONDS)
            if answer.run is not None:
                self._do_run(answer.run)
            elif answer.closed:
                return

    def _do_run(self, run: QueuedRun) -> None:
        cancel = Cancel()
        watcher = threading.Thread(target=self._await_stop, args=(run, cancel), name="workflow-stop")
        watcher.start()
        is_done = False
        try:
            results = self._do_jobs(run, cancel)
            failed = [job for job in run.plan.jobs
                      if results[job.key].conclusion == "failure" and not job.continue_on_error]  # fmt: skip
            tolerated = any(results[job.key].conclusion == "failure" for job in run.plan.jobs) and not failed
            self.hub.end_run(RunEnd(cell=self.cell.cell, run=run.run, attempt=run.attempt,
                                    conclusion="success" if tolerated else None))  # fmt: skip
            is_done = True
        finally:
            if not is_done:
                self._give_up()
            watcher.join()
            cancel.close()

    def _give_up(self) -> None:
        """Cancel all runs after a fault, so that nobody waits for them; this ends the watcher too."""
        with contextlib.suppress(ToolError):  # the hub is gone
            self.hub.drain_runs(self.cell, 0.0)

    def _await_stop(self, run: QueuedRun, cancel: Cancel) -> None:
        """Set a flag when a run was cancelled, or the hub is gone."""
        try:
            while not self.hub.await_stop(self.cell, run, _POLL_SECONDS):
                pass
        except ToolError:
            pass
        cancel.set()

    def _do_jobs(self, run: QueuedRun, cancel: Cancel) -> Mapping[str, JobResult]:
        results = {key: JobResult(conclusion) for key, conclusion in run.earlier.items()}
        for job in run.plan.jobs:
            if job.key not in run.ids:
                continue
            status = _status_of_needs(run, job, results)
            scope = ExpressionScope(contexts_of(run, job, results, run.plan.env), status)
            if cancel.is_set or not is_true(job.condition, scope):
                results[job.key] = JobResult("skipped")
                self.hub.report_job(JobReport(cell=self.cell.cell, run=run.run, attempt=run.attempt,
                                              job=run.ids[job.key], steps=(), conclusion="skipped"))  # fmt: skip
            else:
                results[job.key] = self._do_job(run, job, results, cancel)
        return results

    def _do_job(self, run: QueuedRun, job: WorkflowJob, results: Mapping[str, JobResult], cancel: Cancel) -> JobResult:
        repository = self.repositories / f"{run.repository}.git"
        with scratch() as root:
            box = JobBox(self.box, root, cancel)
            return JobRun(self.cell.cell, run, job, results, box, repository, self.hub.report_job).do()


def _status_of_needs(run: QueuedRun, job: WorkflowJob, results: Mapping[str, JobResult]) -> str:
    """Return what the status functions in a job's `if` look at: failure if a job that it depends on has failed."""
    conclusions = {results[key].conclusion for key in _ancestors(run, job.needs)}
    if "failure" in conclusions:
        return "failure"
    direct = {results[key].conclusion for key in job.needs}
    return "success" if direct <= {"success"} else "cancelled" if "cancelled" in conclusions else "skipped"


def _ancestors(run: QueuedRun, keys: Iterable[str]) -> set[str]:
    needs = {job.key: job.needs for job in run.plan.jobs}
    reached, waiting = set[str](), list(keys)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting += needs[key]
    return reached
