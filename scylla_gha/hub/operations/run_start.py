"""Start of runs: by a dispatch, by a push, and by what happens to a pull request.

See https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from scylla_gha.hub.actions_records import AnnotationRecord, JobRecord, RunRecord, StepRecord, WorkflowRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.actions import finish_attempt, hand_over
from scylla_gha.hub.operations.run_logs import job_log
from scylla_gha.hub.operations.scripted_runs import scripted_jobs
from scylla_gha.hub.operations.workflow_files import (
    NO_RIGHTS,
    PlannedJob,
    check_inputs,
    read_workflow,
    workflow_file,
)
from scylla_gha.hub.operations.workflow_plan import WorkflowError, plan_workflow
from scylla_gha.hub.records import RepositoryRecord

MOST_WAITING: Final = 300  # runs of a cell
_DISPATCH: Final = "workflow_dispatch"


@dataclass(frozen=True, slots=True)
class RunStart:
    """Event that starts a run; fields as of `RunRecord`."""

    event: str
    sha: str
    branch: str
    title: str
    actor: int
    ref: str
    commit: str | None = None
    base_ref: str = ""
    inputs: tuple[tuple[str, str], ...] = ()


def start_run(session: HubSession, workflow: WorkflowRecord, start: RunStart) -> RunRecord:
    """Create a run of a workflow. It is queued for the hub's runner, unless the fixture scripted its conclusion.

    If the runner cannot run the file, the run is a startup failure that says why.
    """
    state = session.state
    now = state.now()
    content = session.git(workflow.repository).content(f"{start.commit or start.sha}:{workflow.path}") or b""
    run = RunRecord(
        id=state.new_id(), created_at=now, updated_at=now, started_at=now, repository=workflow.repository,
        workflow=workflow.id, event=start.event, head_branch=start.branch, head_sha=start.sha, title=start.title,
        number=max((run.number for run in state.where(RunRecord, workflow=workflow.id)), default=0) + 1,
        actor=start.actor, status="queued", conclusion=None, ref=start.ref, commit=start.commit,
        base_ref=start.base_ref, inputs=start.inputs,
    )  # fmt: skip
    is_scripted = bool(workflow.scripted) and start.event == _DISPATCH
    fault = None if is_scripted or session.hub.runner is None else _fault(session, content)
    if fault is not None:
        return fail_to_start(session, state.create(session.user, run), fault, workflow.path)
    jobs = tuple(_queued_job(session, job) for job in read_workflow(content, workflow.path).jobs)
    run = state.create(session.user, replace(run, jobs=jobs))
    if is_scripted:
        conclusion, *scripted = workflow.scripted
        state.update(session.user, workflow, scripted=tuple(scripted))
        return finish_attempt(session, run, scripted_jobs(session, run, run.jobs, conclusion), conclusion)
    return hand_over(session, run)


def _fault(session: HubSession, content: bytes) -> str | None:
    """Return why a run cannot be queued, or None."""
    if len(session.state.where(RunRecord, status="queued")) >= MOST_WAITING:
        return f"{MOST_WAITING} runs are waiting already, and no more are queued here"
    try:
        plan_workflow(content)
    except WorkflowError as error:
        return str(error)
    return None


def _queued_job(session: HubSession, plan: PlannedJob) -> JobRecord:
    steps = tuple(StepRecord(number=number, name=name, status="queued") for number, name in enumerate(plan.steps, 1))
    return JobRecord(id=session.state.new_id(), name=plan.name, attempt=1, status="queued", conclusion=None,
                     created_at=session.state.now(), steps=steps)  # fmt: skip


def fail_to_start(session: HubSession, run: RunRecord, fault: str, path: str) -> RunRecord:
    """Complete an attempt as a startup failure.

    GitHub shows the reason on its pages alone. Here it is the log and the annotation of a job, so that
    `gh run view --log` prints it.
    """
    now = session.state.now()
    message = f"Invalid workflow file: {path}: {fault}"
    note = AnnotationRecord(path=path, start_line=1, end_line=1, level="failure", message=message)
    step = StepRecord(number=1, name="Set up job", conclusion="failure", started_at=now, completed_at=now)
    log = session.hub.blobs.add(job_log([("Set up job", f"##[error]{message}")], now))
    job = JobRecord(id=session.state.new_id(), name="Read the workflow file", attempt=run.attempt, status="completed",
                    conclusion="failure", created_at=now, started_at=now, completed_at=now, steps=(step,),
                    annotations=(note,), log=log)  # fmt: skip
    return finish_attempt(session, run, [job], "startup_failure")


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
    if file is None or _DISPATCH not in file.triggers:
        raise HubError(422, "Workflow does not have 'workflow_dispatch' trigger")
    check_inputs(file, inputs)
    title = file.run_name if file.run_name and "${{" not in file.run_name else file.name
    defaults = {name: about["default"] for name, about in file.inputs.items() if "default" in about}
    texts = tuple((key, _input_text(text)) for key, text in {**defaults, **inputs}.items())
    kind = "heads" if name in git.branches() else "tags"
    start = RunStart(_DISPATCH, sha, name, title, session.user.id, f"refs/{kind}/{name}", inputs=texts)
    return start_run(session, workflow, start)


def _input_text(scalar: object) -> str:
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)[:1000]
