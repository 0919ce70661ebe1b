"""Runs the workflows of a trial's GitHub: takes queued runs and runs their jobs in the checks' sandbox.

The hub's process executes nothing. Jobs run one after another, in a thread while the agent works; another thread waits
for a cancellation. A run that has not ended some seconds after the trial is cancelled.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from scylla_gha.attempt.workflow_steps import JobBox, StepOutput, WorkflowBox
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.hub.client import HubProcess
from scylla_gha.hub.control import AttachedCell
from scylla_gha.hub.operations.workflow_expressions import ExpressionError, ExpressionScope, filled_in, is_true
from scylla_gha.hub.workflow_records import JobReport, QueuedRun, RunEnd, StepReport, WorkflowJob, WorkflowStep
from scylla_gha.prepare.workspace import scratch
from scylla_gha.system.process import Cancel

JOB_SECONDS: Final = 1200.0
_MAX_NOTES: Final = 50  # of a job, as on GitHub
_MAX_LOG_CHARACTERS: Final = 2_000_000  # of a job's log, with titles; in JSON, each takes up to six bytes
_MAX_TITLE_CHARACTERS: Final = 500
_CUT: Final = "... [the log of this job is too long; the rest is left out]\n"
Report = Callable[[JobReport], bool]
AFTER_SECONDS: Final = 60.0  # for runs that have not ended when the agent ends
_POLL_SECONDS: Final = 20.0
_SLICE_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 120.0  # for the copy of a job's files out of its sandbox


@dataclass(frozen=True, slots=True)
class JobResult:
    """Conclusion and outputs of a job, as other jobs see them in `needs`."""

    conclusion: str
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass
class JobRun:
    """Job that runs in a sandbox. `report` is called when a step begins or ends; it returns True to cancel the job."""

    cell: str
    run: QueuedRun
    job: WorkflowJob
    results: Mapping[str, JobResult]
    box: JobBox
    repository: Path
    report: Report
    status: str = "success"
    _outputs: list[StepOutput] = field(default_factory=list)
    _sections: list[tuple[str, str]] = field(default_factory=list)
    _steps: dict[str, Any] = field(default_factory=dict)  # the context `steps`
    _deadline: float = 0.0

    def do(self) -> JobResult:
        """Run the steps, report them, and return the job's result.

        Raises:
            SandboxError: the sandbox was lost, or cannot be started.
        """
        self._deadline = time.monotonic() + min(JOB_SECONDS, 60 * self.job.minutes if self.job.minutes else JOB_SECONDS)
        steps = [
            StepReport(name="Set up job", status="completed", conclusion="success"),
            *(StepReport(name=step.name, status="queued") for step in self.job.steps),
            StepReport(name="Complete job", status="queued"),
        ]
        self._add_section("Set up job", f"Job {self.job.name} of {self.run.github['workflow']}\n")
        for at, step in enumerate(self.job.steps, 1):
            if self.status != "cancelled" and self._is_wanted(step):
                steps[at] = StepReport(name=step.name, status="in_progress")
                if self._send(steps):
                    self.box.cancel.set()
                steps[at] = StepReport(name=step.name, status="completed", conclusion=self._do_step(step))
            else:
                steps[at] = StepReport(name=step.name, status="completed", conclusion="skipped")
        steps[-1] = StepReport(name="Complete job", status="completed", conclusion="success")
        if self.status != "cancelled":
            self._add_section("Complete job", "")
        self._send(steps, self.status)
        return JobResult(self.status, self._job_outputs())

    def _send(self, steps: list[StepReport], conclusion: str | None = None) -> bool:
        is_done = conclusion is not None
        notes = [note for output in self._outputs for note in output.notes][:_MAX_NOTES]
        return self.report(
            JobReport(
                cell=self.cell,
                run=self.run.run,
                attempt=self.run.attempt,
                job=self.run.ids[self.job.key],
                steps=tuple(steps),
                conclusion=conclusion,
                notes=tuple(notes) if is_done else (),
                log=tuple(self._sections) if is_done else (),
            )
        )

    @property
    def _scope(self) -> ExpressionScope:
        env = {**self.run.plan.env, **self.job.env}
        scope = ExpressionScope(contexts_of(self.run, self.job, self.results, env), self.status)
        texts = {**{name: _filled(text, scope) for name, text in env.items()}, **self.box.variables}
        more = {"env": texts, "steps": self._steps, "job": {"status": self.status}}
        return replace(scope, contexts={**scope.contexts, **more})

    def _is_wanted(self, step: WorkflowStep) -> bool:
        try:
            return is_true(step.condition, self._scope)
        except ExpressionError:
            return True  # the step then fails with this error

    def _do_step(self, step: WorkflowStep) -> str:
        """Run one step and return its conclusion."""
        output = StepOutput()
        self._outputs.append(output)
        outcome, outputs, title = "success", dict[str, str](), step.name
        try:
            scope = self._scope
            env = {**scope.contexts["env"], **{name: filled_in(text, scope) for name, text in step.env.items()}}
            scope = replace(scope, contexts={**scope.contexts, "env": env})
            is_true(step.condition, scope)
            if step.script is not None:
                script = filled_in(step.script, scope)
                folder = None if step.folder is None else filled_in(step.folder, scope)
                title = _title(step, script)
                outcome, outputs = self._do_script(
                    step.model_copy(update={"script": script, "folder": folder}), env, output
                )
            elif step.action == "checkout":
                self.box.check_out(self.repository, self.run.commit)
                output.add(f"HEAD is now at {self.run.commit[:7]}")
        except (ExpressionError, FixtureError) as error:
            output.fail(str(error))
            outcome = "failure"
        conclusion = "success" if step.continue_on_error and outcome == "failure" else outcome
        if conclusion != "success" and self.status == "success":
            self.status = conclusion
        if step.id:
            self._steps[step.id] = {"outputs": outputs, "outcome": outcome, "conclusion": conclusion}
        self._add_section(title, output.text)
        return conclusion

    def _add_section(self, title: str, text: str) -> None:
        """Add the log of a step; cut it if there is too little room."""
        room = max(0, _MAX_LOG_CHARACTERS - sum(len(part) for section in self._sections for part in section))
        title = title if len(title) <= room else title.partition("\n")[0][:_MAX_TITLE_CHARACTERS]
        room = max(0, room - len(title))
        self._sections.append((title, text if len(text) <= room else text[:room] + _CUT))

    def _do_script(self, step: WorkflowStep, env: Mapping[str, str], output: StepOutput) -> tuple[str, dict[str, str]]:
        """Run a step's script; return its outcome and its outputs."""
        variables = {**_default_variables(self.run, self.job), **env}
        end = self.box.run_script(step, variables, self._deadline - time.monotonic(), output)
        if end.ended == "cancelled":
            output.fail("The operation was canceled.")
            return "cancelled", {}
        if end.ended == "timed_out":
            is_of_job = time.monotonic() >= self._deadline
            output.fail(
                "The job has exceeded the maximum execution time."
                if is_of_job
                else f"The action '{step.name}' has timed out."
            )
            return "cancelled" if is_of_job else "failure", {}
        if end.code:
            output.fail(f"Process completed with exit code {end.code if end.code > 0 else 128 - end.code}.")
        return "failure" if end.code else "success", dict(end.outputs)

    def _job_outputs(self) -> dict[str, str]:
        scope = self._scope
        return {name: _filled(text, scope) for name, text in self.job.outputs.items()}


def contexts_of(
    run: QueuedRun, job: WorkflowJob, results: Mapping[str, JobResult], env: Mapping[str, str]
) -> dict[str, Any]:
    """Return the contexts that expressions of a job can use; the steps' contexts are empty."""
    needs = {key: {"result": results[key].conclusion, "outputs": results[key].outputs} for key in job.needs}
    github = {**run.github, "job": job.key, "event": {"inputs": run.inputs}}
    runner = {"os": "Linux", "arch": "X64"}
    return {
        "github": github,
        "inputs": run.inputs,
        "needs": needs,
        "env": env,
        "runner": runner,
        "steps": {},
        "job": {"status": "success"},
    }


def _filled(text: str, scope: ExpressionScope) -> str:
    try:
        return filled_in(text, scope)
    except ExpressionError as error:
        return str(error)


def _default_variables(run: QueuedRun, job: WorkflowJob) -> dict[str, str]:
    """Return the variables that every step has.

    See https://docs.github.com/en/actions/reference/workflows-and-actions/variables
    """
    context = {f"GITHUB_{name.upper()}": text for name, text in run.github.items()}
    runner = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_JOB": job.key, "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64"}
    return {**context, **runner, **{f"INPUT_{name.upper()}": text for name, text in run.inputs.items()}}


def _title(step: WorkflowStep, script: str) -> str:
    """Return the first lines of a step's log: its script and its shell."""
    first = script.strip().partition("\n")[0]
    return f"Run {first}\n{script.rstrip()}\nshell: {step.shell or 'bash -e'}"


class EndlessJobError(ToolError):
    """A job of a workflow does not end after it was cancelled."""


@dataclass
class WorkflowRunner:
    """Runner of one cell's workflows. `repositories` is the folder of the cell's bare repositories (only read)."""

    hub: HubProcess
    cell: AttachedCell
    repositories: Path
    box: WorkflowBox
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "workflows"))
    _running: "Future[None] | None" = None

    def start(self) -> None:
        """Start the thread that takes queued runs."""
        self._running = self._threads.submit(self._take_runs)

    def finish(self, seconds: float = AFTER_SECONDS) -> None:
        """Wait up to `seconds` for the runs that are queued or in progress, then cancel them.

        Raises:
            SandboxError: the sandbox of a job was lost.
            EndlessJobError: a job does not end although it was cancelled.
            ToolError: the hub has died.
        """
        if self._running is None:
            return
        try:
            self._drain(self._running, seconds)
            self._running.result(_GRACE_SECONDS)
        except FutureTimeoutError:
            raise EndlessJobError("a job of a workflow does not end after it was cancelled") from None
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
            failed = [
                job for job in run.plan.jobs if results[job.key].conclusion == "failure" and not job.continue_on_error
            ]
            tolerated = any(results[job.key].conclusion == "failure" for job in run.plan.jobs) and not failed
            self.hub.end_run(
                RunEnd(
                    cell=self.cell.cell, run=run.run, attempt=run.attempt, conclusion="success" if tolerated else None
                )
            )
            is_done = True
        finally:
            if not is_done:
                self._cancel_all_runs()
            watcher.join()
            cancel.close()

    def _cancel_all_runs(self) -> None:
        """Cancel all runs after a fault, so that nothing waits for them; this also ends the watcher."""
        with contextlib.suppress(ToolError):  # the hub is gone
            self.hub.drain_runs(self.cell, 0.0)

    def _await_stop(self, run: QueuedRun, cancel: Cancel) -> None:
        """Set `cancel` when the run is cancelled or the hub has ended."""
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
                self.hub.report_job(
                    JobReport(
                        cell=self.cell.cell,
                        run=run.run,
                        attempt=run.attempt,
                        job=run.ids[job.key],
                        steps=(),
                        conclusion="skipped",
                    )
                )
            else:
                results[job.key] = self._do_job(run, job, results, cancel)
        return results

    def _do_job(self, run: QueuedRun, job: WorkflowJob, results: Mapping[str, JobResult], cancel: Cancel) -> JobResult:
        repository = self.repositories / f"{run.repository}.git"
        with scratch() as root:
            box = JobBox(self.box, root, cancel)
            return JobRun(self.cell.cell, run, job, results, box, repository, self.hub.report_job).do()


def _status_of_needs(run: QueuedRun, job: WorkflowJob, results: Mapping[str, JobResult]) -> str:
    """Return the status for the functions in a job's `if`: failure if a direct or indirect dependency has failed."""
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
