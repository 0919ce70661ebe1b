"""Step of a fixture's history that runs a workflow: its attempts, jobs, steps, logs and annotations."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.hub.actions_records import AnnotationRecord, JobRecord, RunRecord, StepRecord, WorkflowRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.fixture_world import FixtureWorld, StepMaker
from scylla_gha.hub.operations.actions import finish_attempt, mirror_checks
from scylla_gha.hub.operations.run_logs import job_log
from scylla_gha.hub.operations.workflow_files import register_workflows
from scylla_gha.model.github_history import FixtureJob, FixtureRun, FixtureStep


def _run(world: FixtureWorld, step: FixtureRun) -> None:
    session, state = world.session(step.actor), world.hub.state
    session.require(world.repository, "write")
    workflow = _workflow(world, step.workflow)
    sha = world.revision(f"refs/heads/{step.branch}")
    number = 1 + max((run.number for run in state.where(RunRecord, workflow=workflow.id)), default=0)
    now = state.now()
    run = RunRecord(
        id=state.new_id(), created_at=now, updated_at=now, started_at=now, repository=world.repository.id,
        workflow=workflow.id, number=number, event=step.event, head_branch=step.branch, head_sha=sha,
        title=world.git.commit(sha).headline, actor=session.user.id, status="queued", conclusion=None,
        scripted=step.scripted,
    )  # fmt: skip
    run = state.create(session.user, run)
    if step.dispatched:
        state.update(session.user, workflow, scripted=step.dispatched)
    for attempt, jobs in enumerate(step.attempts, 1):
        if attempt > 1:
            run = state.update(session.user, run, attempt=attempt, status="queued", conclusion=None,
                               started_at=state.now())  # fmt: skip
        run = _attempt(world, session, run, jobs, is_last=attempt == len(step.attempts))
    facts = {f"job_{at}": job.id for at, job in enumerate(run.jobs, 1)}
    url = f"{SITE}/{state.full_name(world.repository)}/actions/runs/{run.id}"
    world.remember("run", step.key, run, number=number, sha=sha, branch=step.branch, url=url, **facts)
    world.remember("workflow", step.key, workflow, name=workflow.name, path=workflow.path)


def _workflow(world: FixtureWorld, path: str) -> WorkflowRecord:
    register_workflows(world.owner, world.repository)
    workflow = world.hub.state.first(WorkflowRecord, repository=world.repository.id, path=path)
    if workflow is None:
        raise ConfigError(f"workflow: the default branch has no workflow {path}; commit the file before")
    return workflow


def _attempt(
    world: FixtureWorld, session: HubSession, run: RunRecord, jobs: Sequence[FixtureJob], *, is_last: bool
) -> RunRecord:
    records = [_job(world, session, run, job) for job in jobs]
    if all(job.conclusion is not None for job in jobs):
        state = session.state
        state.clock = max([state.clock, *(job.completed_at for job in records if job.completed_at)])
        return finish_attempt(session, run, records)
    if not is_last:
        raise ConfigError("attempts: only jobs of the last attempt can still run; give a conclusion")
    before = tuple(job for job in run.jobs if job.attempt < run.attempt)
    running = session.state.update(session.user, run, jobs=(*before, *records), status="in_progress")
    mirror_checks(session, running)
    return running


def _job(world: FixtureWorld, session: HubSession, run: RunRecord, job: FixtureJob) -> JobRecord:
    state, is_done = session.state, job.conclusion is not None
    begin = end = state.now() + datetime.timedelta(seconds=job.wait_seconds)
    steps, log = [], b""
    for number, step in enumerate(job.steps, 1):
        start, end = end, end + datetime.timedelta(seconds=step.seconds)
        steps.append(StepRecord(number=number, name=step.name, conclusion=step.conclusion, started_at=start,
                                completed_at=end))  # fmt: skip
        log += b"" if step.conclusion == "skipped" else job_log([(step.name, _output(world, step))], start)
    annotations = tuple(
        AnnotationRecord(path=note.path, start_line=note.line, end_line=note.line, level=note.level,
                         message=note.message, title=note.title)
        for note in job.annotations
    )  # fmt: skip
    return JobRecord(
        id=state.new_id(), name=job.name, attempt=run.attempt, status="completed" if is_done else "in_progress",
        conclusion=job.conclusion, created_at=state.now(), started_at=begin, completed_at=end if is_done else None,
        steps=tuple(steps), annotations=annotations, log=session.hub.blobs.add(log) if is_done else None,
    )  # fmt: skip


def _output(world: FixtureWorld, step: FixtureStep) -> str:
    return step.log if step.log_file is None else world.beside(step.log_file).decode(errors="replace")


STEPS: Final[Mapping[str, StepMaker]] = {"run": _run}
