"""Runs in the hands of the runner: the next queued one, the states of its jobs, and its end."""

from dataclasses import replace
from typing import Final

from scylla_gha.hub.actions_records import AnnotationRecord, JobRecord, RunRecord, StepRecord, WorkflowRecord
from scylla_gha.hub.addresses import API, SITE
from scylla_gha.hub.cell import Hub, HubSession
from scylla_gha.hub.operations.actions import as_github, finish_attempt, jobs_of_attempt, mark_cancelled, mirror_checks
from scylla_gha.hub.operations.run_logs import job_log
from scylla_gha.hub.operations.run_start import fail_to_start
from scylla_gha.hub.operations.workflow_plan import WorkflowError, plan_workflow
from scylla_gha.hub.records import RepositoryRecord, UserRecord
from scylla_gha.hub.workflow_records import JobReport, QueuedRun, RunEnd, StepReport, WorkflowPlan

_QUEUED: Final = "queued"


def waiting_runs(hub: Hub) -> list[RunRecord]:
    """Return the queued runs, the oldest first."""
    return hub.state.where(RunRecord, status=_QUEUED)


def take_run(hub: Hub) -> QueuedRun | None:
    """Mark the next queued run as in progress and return it; None if there is none.

    A run whose file cannot be run, or has other jobs, is completed as a startup failure.
    """
    github = as_github(HubSession(hub, None))
    for run in waiting_runs(hub):
        workflow = hub.state.need(WorkflowRecord, run.workflow)
        try:
            queued = _queued_run(github, run, workflow)
        except WorkflowError as error:
            fail_to_start(github, run, str(error), workflow.path)
            continue
        mirror_checks(github, hub.state.update(github.user, run, status="in_progress"))
        return queued
    return None


def _queued_run(session: HubSession, run: RunRecord, workflow: WorkflowRecord) -> QueuedRun:
    commit = run.commit or run.head_sha
    content = session.git(run.repository).content(f"{commit}:{workflow.path}")
    if content is None:
        raise WorkflowError("The commit has no such file")
    plan = plan_workflow(content)
    ids, earlier = _jobs_by_key(plan, run)
    return QueuedRun(run=run.id, attempt=run.attempt, repository=run.repository, commit=commit, plan=plan,
                     github=_github(session, run, workflow, commit), inputs=dict(run.inputs), ids=ids,
                     earlier=earlier)  # fmt: skip


def _jobs_by_key(plan: WorkflowPlan, run: RunRecord) -> tuple[dict[str, int], dict[str, str]]:
    """Return the ids of the jobs to run, and the conclusions of those that are not run again."""
    records = {job.name: job for job in jobs_of_attempt(run)}
    if unknown := sorted(records.keys() - {job.name for job in plan.jobs}):
        raise WorkflowError(f"The file has no job of the name '{unknown[0]}'")
    ids = {job.key: records[job.name].id for job in plan.jobs
           if job.name in records and records[job.name].attempt == run.attempt}  # fmt: skip
    earlier = {job.key: records[job.name].conclusion or "" if job.name in records else "success"
               for job in plan.jobs if job.key not in ids}  # fmt: skip
    return ids, earlier


def _github(session: HubSession, run: RunRecord, workflow: WorkflowRecord, commit: str) -> dict[str, str]:
    """Return the context `github` of a run, as texts."""
    state = session.state
    repository = state.need(RepositoryRecord, run.repository)
    name, actor = state.full_name(repository), state.need(UserRecord, run.actor).login
    ref = run.ref or f"refs/heads/{run.head_branch}"
    is_pull = ref.startswith("refs/pull/")
    return {
        "ref": ref,
        "ref_name": ref.removeprefix("refs/heads/").removeprefix("refs/tags/").removeprefix("refs/pull/"),
        "ref_type": "tag" if ref.startswith("refs/tags/") else "branch",
        "sha": commit,
        "head_ref": run.head_branch if is_pull else "",
        "base_ref": run.base_ref,
        "event_name": run.event,
        "repository": name,
        "repository_owner": name.partition("/")[0],
        "actor": actor,
        "triggering_actor": actor,
        "workflow": workflow.name,
        "run_id": str(run.id),
        "run_number": str(run.number),
        "run_attempt": str(run.attempt),
        "server_url": SITE,
        "api_url": API,
    }


def report_job(hub: Hub, report: JobReport) -> bool:
    """Store the state of a job; return whether its attempt is not in progress any more.

    A job that was cancelled meanwhile only gets its log.
    """
    github = as_github(HubSession(hub, None))
    run = hub.state.get(RunRecord, report.run)
    if run is None or not any(job.id == report.job for job in run.jobs):
        return True
    is_stopped = has_stopped(hub, report.run, report.attempt)
    jobs = tuple(_reported(github, job, report, is_stopped=is_stopped) if job.id == report.job else job
                 for job in run.jobs)  # fmt: skip
    mirror_checks(github, hub.state.update(github.user, run, jobs=jobs))
    return is_stopped


def has_stopped(hub: Hub, run_id: int, attempt: int) -> bool:
    """Return whether an attempt is not in progress any more."""
    run = hub.state.get(RunRecord, run_id)
    return run is None or run.attempt != attempt or run.status == "completed"


def _reported(session: HubSession, job: JobRecord, report: JobReport, *, is_stopped: bool) -> JobRecord:
    now = session.state.now()
    log = session.hub.blobs.add(job_log(report.log, now)) if report.log else None
    if is_stopped:
        return replace(job, log=job.log or log)
    before = {step.number: step for step in job.steps}
    is_done = report.conclusion is not None
    notes = tuple(
        AnnotationRecord(path=note.path, start_line=note.line, end_line=note.end_line, level=note.level,
                         message=note.message, title=note.title)
        for note in report.notes
    )  # fmt: skip
    return replace(
        job,
        status="completed" if is_done else "in_progress",
        conclusion=report.conclusion,
        started_at=job.started_at or now,
        completed_at=now if is_done else None,
        steps=tuple(_step(session, before.get(at), at, step) for at, step in enumerate(report.steps, 1)),
        annotations=notes,
        log=log,
    )


def _step(session: HubSession, before: StepRecord | None, number: int, report: StepReport) -> StepRecord:
    now = session.state.now()
    has_started = report.status != _QUEUED and report.conclusion != "skipped"
    started = (before and before.started_at) or now
    is_done = report.status == "completed"
    return StepRecord(
        number=number, name=report.name, status=report.status, conclusion=report.conclusion,
        started_at=started if has_started else None,
        completed_at=((before and before.completed_at) or now) if is_done else None,
    )  # fmt: skip


def end_run(hub: Hub, end: RunEnd) -> None:
    """Complete an attempt, unless it was cancelled meanwhile."""
    run = hub.state.get(RunRecord, end.run)
    if run is not None and not has_stopped(hub, end.run, end.attempt):
        jobs = [job for job in run.jobs if job.attempt == end.attempt]
        finish_attempt(as_github(HubSession(hub, None)), run, jobs, end.conclusion)


def cancel_attempt(hub: Hub, run_id: int, attempt: int) -> None:
    """Cancel an attempt that is not completed, as GitHub itself."""
    run = hub.state.get(RunRecord, run_id)
    if run is not None and not has_stopped(hub, run_id, attempt):
        mark_cancelled(as_github(HubSession(hub, None)), run)
