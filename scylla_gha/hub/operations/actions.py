"""Runs of workflows: completed, run again, cancelled and deleted. Checks mirror the jobs of the last attempt.

Rules by https://docs.github.com/en/rest/actions/workflow-runs and
https://docs.github.com/en/actions/how-tos/manage-workflow-runs/re-run-workflows-and-jobs.
"""

import datetime
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from scylla_gha.hub.actions_records import CheckRecord, JobRecord, RunRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.operations.scripted_runs import scripted_jobs
from scylla_gha.hub.operations.workflow_files import NO_RIGHTS
from scylla_gha.hub.records import RepositoryRecord, UserRecord

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


def as_github(session: HubSession) -> HubSession:
    """Return the session of GitHub itself, which starts runs after a push; its writes are nobody's."""
    writer = UserRecord(id=0, created_at=session.state.now(), login="github-actions[bot]", kind="Bot")
    return HubSession(session.hub, writer)


def hand_over(session: HubSession, run: RunRecord) -> RunRecord:
    """Tell the runner of a run that is queued, or that is not to be run any more."""
    mirror_checks(session, run)
    if session.hub.runner is not None:
        session.hub.runner(session, run)
    return session.state.need(RunRecord, run.id)


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
    return hand_over(session, state.update(session.user, started, jobs=(*run.jobs, *queued)))


def cancel(session: HubSession, repository: RepositoryRecord, run: RunRecord) -> RunRecord:
    """Cancel a run that is queued or in progress, with its jobs.

    Raises:
        HubError: the user may not; 409, the run is completed.
    """
    session.require(repository, "write", NO_RIGHTS)
    if run.status == "completed":
        raise HubError(409, "Cannot cancel a workflow run that is completed.")
    return mark_cancelled(session, run)


def mark_cancelled(session: HubSession, run: RunRecord) -> RunRecord:
    """Complete a run as cancelled, with its jobs that are not completed."""
    now = session.state.now()
    jobs = tuple(_cancelled(job, now) if job.status != "completed" else job for job in run.jobs)
    cancelled = session.state.update(session.user, run, status="completed", conclusion="cancelled", jobs=jobs)
    return hand_over(session, cancelled)


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
