"""JSON of workflows, runs and jobs."""

from typing import Any

from scylla_gha.hub.actions_records import JobRecord, RunRecord, StepRecord, WorkflowRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.actions import conclusion_of, jobs_of_attempt
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord
from scylla_gha.hub.rest import present
from scylla_gha.hub.rest.commit_json import signature
from scylla_gha.hub.rest.repository_json import api_url, minimal_repository, site_url


def workflow_json(session: HubSession, repository: RepositoryRecord, workflow: WorkflowRecord) -> dict[str, Any]:
    """Return a workflow as GitHub answers it."""
    file = workflow.path.rpartition("/")[2]
    return {
        **present.ids(workflow),
        "name": workflow.name,
        "path": workflow.path,
        "state": workflow.state,
        "created_at": present.time(workflow.created_at),
        "updated_at": present.time(workflow.updated_at),
        "url": f"{api_url(session, repository)}/actions/workflows/{workflow.id}",
        "html_url": f"{site_url(session, repository)}/blob/{repository.default_branch}/{workflow.path}",
        "badge_url": f"{site_url(session, repository)}/workflows/{file}/badge.svg",
    }


def run_json(
    session: HubSession, repository: RepositoryRecord, run: RunRecord, attempt: int | None = None
) -> dict[str, Any]:
    """Return a run as GitHub answers it; `attempt` is of an earlier one, None of the last."""
    state = session.state
    workflow = state.get(WorkflowRecord, run.workflow)
    url = f"{api_url(session, repository)}/actions/runs/{run.id}"
    actor = present.user(state.need(UserRecord, run.actor))
    minimal = minimal_repository(session, repository)
    return {
        **present.ids(run),
        "name": workflow.name if workflow else run.title,
        "display_title": run.title,
        "path": workflow.path if workflow else "",
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "run_number": run.number,
        "event": run.event,
        "workflow_id": run.workflow,
        **_attempt(run, attempt or run.attempt, url),
        "check_suite_id": run.id,
        "check_suite_node_id": f"CS_kwDO{run.id:08d}",
        "check_suite_url": f"{api_url(session, repository)}/check-suites/{run.id}",
        "url": url,
        "html_url": f"{site_url(session, repository)}/actions/runs/{run.id}",
        "pull_requests": _pulls(session, repository, run),
        "created_at": present.time(run.created_at),
        "updated_at": present.time(run.updated_at),
        "actor": actor,
        "triggering_actor": actor,
        "referenced_workflows": [],
        **{f"{name}_url": f"{url}/{name}" for name in ("jobs", "logs", "artifacts", "cancel", "rerun")},
        "workflow_url": f"{api_url(session, repository)}/actions/workflows/{run.workflow}",
        "head_commit": _head_commit(session, run),
        "repository": minimal,
        "head_repository": minimal,
    }


def _attempt(run: RunRecord, attempt: int, url: str) -> dict[str, Any]:
    own = [job.created_at for job in run.jobs if job.attempt == attempt]
    is_last = attempt == run.attempt
    return {
        "run_attempt": attempt,
        "status": run.status if is_last else "completed",
        "conclusion": run.conclusion if is_last else conclusion_of(jobs_of_attempt(run, attempt)),
        "run_started_at": present.time(run.started_at if is_last or not own else min(own)),
        "previous_attempt_url": f"{url}/attempts/{attempt - 1}" if attempt > 1 else None,
    }


def _head_commit(session: HubSession, run: RunRecord) -> dict[str, Any] | None:
    git = session.git(run.repository)
    if git.commit_of(run.head_sha) is None:
        return None
    commit = git.commit(run.head_sha)
    people = {role: signature(getattr(commit, role)) for role in ("author", "committer")}
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": present.time(commit.committer.date),
        **{role: {"name": who["name"], "email": who["email"]} for role, who in people.items()},
    }


def _pulls(session: HubSession, repository: RepositoryRecord, run: RunRecord) -> list[dict[str, Any]]:
    """Return the open pull requests of a run's branch."""
    git = session.git(repository)
    pulls = session.state.where(
        PullRequestRecord, head_repository=repository.id, head_ref=run.head_branch, state="open"
    )
    url = api_url(session, repository)
    own = {"id": repository.id, "name": repository.name, "url": url}
    return [
        {
            "id": pull.id,
            "number": pull.number,
            "url": f"{url}/pulls/{pull.number}",
            "head": {"ref": pull.head_ref, "sha": git.branch(pull.head_ref) or run.head_sha, "repo": own},
            "base": {"ref": pull.base_ref, "sha": git.branch(pull.base_ref) or run.head_sha, "repo": own},
        }
        for pull in pulls
        if pull.repository == repository.id
    ]


def job_json(session: HubSession, repository: RepositoryRecord, run: RunRecord, job: JobRecord) -> dict[str, Any]:
    """Return a job as GitHub answers it."""
    url = api_url(session, repository)
    workflow = session.state.get(WorkflowRecord, run.workflow)
    ran = job.started_at is not None
    return {
        "id": job.id,
        "node_id": f"CR_kwDO{job.id:08d}",
        "run_id": run.id,
        "run_url": f"{url}/actions/runs/{run.id}",
        "run_attempt": job.attempt,
        "workflow_name": workflow.name if workflow else None,
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "name": job.name,
        "status": job.status,
        "conclusion": job.conclusion,
        "created_at": present.time(job.created_at),
        "started_at": present.time(job.started_at or job.created_at),
        "completed_at": present.time(job.completed_at),
        "steps": [_step(step) for step in job.steps],
        "url": f"{url}/actions/jobs/{job.id}",
        "html_url": f"{site_url(session, repository)}/actions/runs/{run.id}/job/{job.id}",
        "check_run_url": f"{url}/check-runs/{job.id}",
        "labels": ["ubuntu-latest"],
        "runner_id": 1 if ran else None,
        "runner_name": "GitHub Actions 1" if ran else None,
        "runner_group_id": 0 if ran else None,
        "runner_group_name": "GitHub Actions" if ran else None,
    }


def _step(step: StepRecord) -> dict[str, Any]:
    return {
        "name": step.name,
        "status": step.status,
        "conclusion": step.conclusion,
        "number": step.number,
        "started_at": present.time(step.started_at),
        "completed_at": present.time(step.completed_at),
    }
