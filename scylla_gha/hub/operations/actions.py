"""Runs of workflows: starting, running again, cancelling and deleting them; checks mirror the jobs of the last attempt.

Rules by https://docs.github.com/en/rest/actions/workflow-runs and
https://docs.github.com/en/actions/how-tos/manage-workflow-runs/re-run-workflows-and-jobs.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from scylla_gha.hub.actions_records import CheckRecord, JobRecord, RunRecord, StepRecord, WorkflowRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.operations.scripted_runs import scripted_jobs
from scylla_gha.hub.operations.workflow_files import NO_RIGHTS, PlannedJob, check_inputs, workflow_file
from scylla_gha.hub.records import RepositoryRecord

PASSED: Final = ("success", "neutral", "skipped")
_MOST_ATTEMPTS: Final = 51
_NOT_AGAIN: Final = "This workflow run cannot be retried"


def runs_of(session: HubSession, repository: RepositoryRecord) -> list[RunRecord]:
    """Return a repository's runs, the newest first."""
    return session.state.where(RunRecord, repository=repository.id)[::-1]


def find_run(session: HubSession, repository: RepositoryRecord, id_: int) -> RunRecord:
    """Return a run.

    Raises:
        HubError: there is none with this id.
    """
    run = session.state.get(RunRecord, id_)
    if run is None or run.repository != repository.id:
        raise not_found()
    return run


def find_job(session: HubSession, repository: RepositoryRecord, id_: int) -> tuple[RunRecord, JobRecord]:
    """Return a job of any attempt, and its run.

    Raises:
        HubError: there is none with this id.
    """
    for run in session.state.where(RunRecord, repository=repository.id):
        for job in run.jobs:
            if job.id == id_:
                return run, job
    raise not_found()


def jobs_of_attempt(run: RunRecord, attempt: int | None = None) -> list[JobRecord]:
    """Return the jobs of an attempt (None: the last): of each, its latest execution until then.

    Jobs that an attempt did not run again stay those of an attempt before.
    """
    last: dict[str, JobRecord] = {}
    for job in run.jobs:
        if job.attempt <= (attempt or run.attempt):
            last[job.name] = job
    return list(last.values())


def conclusion_of(jobs: Sequence[JobRecord]) -> str:
    """Return the conclusion of a run whose jobs are completed."""
    conclusions = {job.conclusion for job in jobs}
    for worst in ("failure", "timed_out", "cancelled", "action_required"):
        if worst in conclusions:
            return worst
    return "skipped" if conclusions == {"skipped"} else "success"


def start_run(
    session: HubSession, workflow: WorkflowRecord, sha: str, branch: str, event: str, title: str
) -> RunRecord:
    """Create a run of a workflow. It is queued for the hub's runner, unless the fixture scripted its conclusion."""
    state = session.state
    now = state.now()
    file = workflow_file(session, workflow, sha)
    runs = state.where(RunRecord, workflow=workflow.id)
    run = RunRecord(
        id=state.new_id(),
        created_at=now,
        updated_at=now,
        started_at=now,
        repository=workflow.repository,
        workflow=workflow.id,
        number=max((run.number for run in runs), default=0) + 1,
        event=event,
        head_branch=branch,
        head_sha=sha,
        title=title,
        actor=session.user.id,
        status="queued",
        conclusion=None,
        jobs=tuple(_queued_job(session, plan) for plan in (file.jobs if file else ())),
    )
    state.create(session.user, run)
    if workflow.scripted:
        conclusion, *scripted = workflow.scripted
        state.update(session.user, workflow, scripted=tuple(scripted))
        return finish_attempt(session, run, scripted_jobs(session, run, run.jobs, conclusion), conclusion)
    return _hand_over(session, run)


def _queued_job(session: HubSession, plan: PlannedJob) -> JobRecord:
    steps = tuple(StepRecord(number=number, name=name, status="queued") for number, name in enumerate(plan.steps, 1))
    return JobRecord(id=session.state.new_id(), name=plan.name, attempt=1, status="queued", conclusion=None,
                     created_at=session.state.now(), steps=steps)  # fmt: skip


def _hand_over(session: HubSession, run: RunRecord) -> RunRecord:
    mirror_checks(session, run)
    if session.hub.runner is not None:
        session.hub.runner(session, run)
    return session.state.need(RunRecord, run.id)


def dispatch(
    session: HubSession, repository: RepositoryRecord, workflow: WorkflowRecord, ref: str, inputs: Mapping[str, Any]
) -> RunRecord:
    """Start a workflow by hand on a branch or tag.

    Raises:
        HubError: the user may not, or ref, inputs or the workflow do not allow it.
    """
    session.require(repository, "write", NO_RIGHTS)
    name = ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
    git = session.git(repository)
    sha = git.branches().get(name) or git.tags().get(name)
    if sha is None:
        raise HubError(422, f"No ref found for: {ref}")
    if workflow.state != "active":
        raise HubError(422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
    file = workflow_file(session, workflow, sha)
    if file is None or "workflow_dispatch" not in file.triggers:
        raise HubError(422, "Workflow does not have 'workflow_dispatch' trigger")
    check_inputs(file, inputs)
    title = file.run_name if file.run_name and "${{" not in file.run_name else file.name
    return start_run(session, workflow, sha, name, "workflow_dispatch", title)


def finish_attempt(
    session: HubSession, run: RunRecord, jobs: Sequence[JobRecord], conclusion: str | None = None
) -> RunRecord:
    """Complete the current attempt of a run with its jobs, which replace those of the attempt that it had.

    The run's conclusion (None) follows from them, and the checks of its commit are made to agree.
    """
    current = session.state.need(RunRecord, run.id)
    done = tuple(replace(job, attempt=current.attempt) for job in jobs)
    before = tuple(job for job in current.jobs if job.attempt < current.attempt)
    latest = jobs_of_attempt(replace(current, jobs=(*before, *done)))
    end = conclusion or conclusion_of(latest)
    finished = session.state.update(session.user, current, jobs=(*before, *done), status="completed", conclusion=end)
    mirror_checks(session, finished)
    return finished


def mirror_checks(session: HubSession, run: RunRecord) -> None:
    """Make the checks of a run's commit agree with the jobs of its last attempt; a check has the id of its job."""
    state = session.state
    jobs = {job.id: job for job in jobs_of_attempt(run)}
    repository = state.need(RepositoryRecord, run.repository)
    page = f"{SITE}/{state.full_name(repository)}/actions/runs/{run.id}"
    for check in state.where(CheckRecord, run=run.id):
        if check.job not in jobs:
            state.delete(session.user, check)
    for job in jobs.values():
        fields: dict[str, Any] = {
            "status": job.status,
            "conclusion": job.conclusion,
            "started_at": job.started_at,
            "completed_at": job.completed_at,
            "annotations": job.annotations,
        }
        if check_of_job := state.get(CheckRecord, job.id):
            state.update(session.user, check_of_job, **fields)
        else:
            check = CheckRecord(id=job.id, created_at=job.created_at, repository=run.repository, sha=run.head_sha,
                                name=job.name, kind="check_run", run=run.id, job=job.id, creator=run.actor,
                                details_url=f"{page}/job/{job.id}")  # fmt: skip
            state.create(session.user, replace(check, **fields))


def rerun(
    session: HubSession, repository: RepositoryRecord, run: RunRecord, *, failed: bool = False, job: int | None = None
) -> RunRecord:
    """Make a new attempt of a run: of all its jobs, of those that failed, or of one.

    Its conclusion is the run's next scripted one. Without a script it goes to the runner, or, if the hub has none,
    ends as the attempt before did, since commit and workflow are the same.

    Raises:
        HubError: the user may not, or the run is not completed, or no job failed.
    """
    session.require(repository, "write", NO_RIGHTS)
    if run.status != "completed":
        raise HubError(403, "This workflow is already running")
    if run.attempt >= _MOST_ATTEMPTS:
        raise HubError(403, _NOT_AGAIN)
    previous = jobs_of_attempt(run)
    again = [entry for entry in previous if (job is None or entry.id == job)]
    if failed:
        again = [entry for entry in previous if entry.conclusion not in ("success", "neutral")]
        if all(entry.conclusion == "skipped" for entry in again):
            raise HubError(403, _NOT_AGAIN)
    if job is not None and not again:
        raise HubError(403, "Only jobs from the current attempt can be re-run")
    return _new_attempt(session, run, again)


def _new_attempt(session: HubSession, run: RunRecord, jobs: Sequence[JobRecord]) -> RunRecord:
    state = session.state
    started = state.update(session.user, run, attempt=run.attempt + 1, status="queued", conclusion=None,
                           started_at=state.now(), scripted=run.scripted[1:])  # fmt: skip
    if run.scripted or session.hub.runner is None:
        conclusion = run.scripted[0] if run.scripted else conclusion_of(jobs)
        end = None if conclusion == "success" else conclusion  # a job that was not run again may have failed
        return finish_attempt(session, started, scripted_jobs(session, started, jobs, conclusion), end)
    queued = tuple(
        replace(job, id=state.new_id(), attempt=started.attempt, status="queued", conclusion=None, log=None,
                created_at=state.now(), started_at=None, completed_at=None, annotations=(),
                steps=tuple(replace(step, status="queued", conclusion=None) for step in job.steps))
        for job in jobs
    )  # fmt: skip
    return _hand_over(session, state.update(session.user, started, jobs=(*run.jobs, *queued)))


def cancel(session: HubSession, repository: RepositoryRecord, run: RunRecord) -> RunRecord:
    """Cancel a run that is queued or in progress, with its jobs.

    Raises:
        HubError: the user may not; 409, the run is completed.
    """
    session.require(repository, "write", NO_RIGHTS)
    if run.status == "completed":
        raise HubError(409, "Cannot cancel a workflow run that is completed.")
    now = session.state.now()
    jobs = tuple(_cancelled(job, now) if job.status != "completed" else job for job in run.jobs)
    cancelled = session.state.update(session.user, run, status="completed", conclusion="cancelled", jobs=jobs)
    mirror_checks(session, cancelled)
    return cancelled


def _cancelled(job: JobRecord, now: datetime.datetime) -> JobRecord:
    steps = tuple(
        step if step.conclusion else replace(step, status="completed", conclusion="cancelled") for step in job.steps
    )
    return replace(job, status="completed", conclusion="cancelled", steps=steps, completed_at=now)


def delete_run(session: HubSession, repository: RepositoryRecord, run: RunRecord) -> None:
    """Delete a run with its checks.

    Raises:
        HubError: the user may not, or the run is not completed.
    """
    session.require(repository, "write", NO_RIGHTS)
    if run.status != "completed":
        raise HubError(403, "Cannot delete a workflow run that is not completed")
    for check in session.state.where(CheckRecord, run=run.id):
        session.state.delete(session.user, check)
    session.state.delete(session.user, run)


def delete_logs(session: HubSession, repository: RepositoryRecord, run: RunRecord) -> None:
    """Delete the logs of all attempts of a run.

    Raises:
        HubError: the user may not, or the run is not completed.
    """
    session.require(repository, "write", NO_RIGHTS)
    if run.status != "completed":
        raise HubError(403, "Cannot delete the logs of a workflow run that is not completed")
    session.state.update(session.user, run, jobs=tuple(replace(job, log=None) for job in run.jobs))
