"""Attempts whose conclusion is known beforehand: their jobs, steps, logs and annotations."""

from collections.abc import Sequence
from dataclasses import replace

from scylla_gha.hub.actions_records import AnnotationRecord, JobRecord, RunRecord, StepRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.run_logs import job_log

_EXIT = "Process completed with exit code 1."


def scripted_jobs(
    session: HubSession, run: RunRecord, jobs: Sequence[JobRecord], conclusion: str
) -> tuple[JobRecord, ...]:
    """Return jobs of the run's current attempt that amount to a conclusion, completed at once.

    If it is not a success, the jobs fail that failed before, in the same step and with the same log; if none did,
    the last one does.
    """
    end = "failure" if conclusion == "startup_failure" else conclusion  # which no job has
    failed = {job.id for job in jobs if job.conclusion not in (None, "success", "neutral", "skipped")}
    if not failed and jobs:
        failed = {jobs[-1].id}
    return tuple(
        _failed(session, run, job, end) if end != "success" and job.id in failed else _passed(session, run, job)
        for job in jobs
    )


def _completed(session: HubSession, run: RunRecord, job: JobRecord) -> JobRecord:
    now = session.state.now()
    is_new = job.attempt == run.attempt
    return replace(job, id=job.id if is_new else session.state.new_id(), attempt=run.attempt, status="completed",
                   created_at=now, started_at=now, completed_at=now)  # fmt: skip


def _passed(session: HubSession, run: RunRecord, job: JobRecord) -> JobRecord:
    now = session.state.now()
    steps = tuple(
        replace(step, status="completed", conclusion="success", started_at=now, completed_at=now) for step in job.steps
    )
    log = session.hub.blobs.add(job_log(((step.name, "") for step in steps), now))
    return replace(_completed(session, run, job), conclusion="success", steps=steps, log=log, annotations=())


def _failed(session: HubSession, run: RunRecord, job: JobRecord, conclusion: str) -> JobRecord:
    if job.conclusion == conclusion and job.log:
        return _completed(session, run, job)
    now = session.state.now()
    at = next((at for at, step in enumerate(job.steps) if step.conclusion == "failure"), max(0, len(job.steps) - 2))
    steps = tuple(
        replace(step, status="completed", conclusion=_step_conclusion(number, at, conclusion, len(job.steps)),
                started_at=now, completed_at=now)
        for number, step in enumerate(job.steps)
    )  # fmt: skip
    sections = ((step.name, f"##[error]{_EXIT}\n" if number == at else "") for number, step in _ran(steps))
    note = AnnotationRecord(path=".github", start_line=1, end_line=1, level="failure", message=_EXIT)
    log = session.hub.blobs.add(job_log(sections, now))
    return replace(_completed(session, run, job), conclusion=conclusion, steps=steps, log=log, annotations=(note,))


def _ran(steps: Sequence[StepRecord]) -> list[tuple[int, StepRecord]]:
    return [(number, step) for number, step in enumerate(steps) if step.conclusion != "skipped"]


def _step_conclusion(number: int, failed: int, conclusion: str, count: int) -> str:
    """Return success for the steps before the failed one and for the last, which completes the job, else skipped."""
    if number == failed:
        return conclusion
    return "success" if number < failed or number == count - 1 else "skipped"
