"""Runs of workflows, their attempts, jobs and logs."""

import hashlib
from collections.abc import Sequence
from typing import Any

from scylla_gha.hub.actions_records import AnnotationRecord, CheckRecord, JobRecord, RunRecord
from scylla_gha.hub.addresses import API
from scylla_gha.hub.errors import not_found
from scylla_gha.hub.operations.actions import (
    cancel,
    delete_logs,
    delete_run,
    find_job,
    find_run,
    jobs_of_attempt,
    rerun,
    runs_of,
)
from scylla_gha.hub.operations.run_logs import run_archive
from scylla_gha.hub.records import RepositoryRecord, UserRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.actions_json import job_json, run_json
from scylla_gha.hub.rest.repository_json import site_url
from scylla_gha.hub.search.ranges import in_range

_ACTIONS = "/repos/{owner}/{repo}/actions"
_RUN = f"{_ACTIONS}/runs/{{run_id}}"
_JOB = f"{_ACTIONS}/jobs/{{job_id}}"
LOGS = "/_logs"  # where answers with logs redirect to, as GitHub does to its storage


def _run(request: RestRequest) -> tuple[RepositoryRecord, RunRecord]:
    repository = request.repository()
    return repository, find_run(request.session, repository, request.number("run_id"))


def _attempt(request: RestRequest) -> tuple[RepositoryRecord, RunRecord, int]:
    repository, run = _run(request)
    attempt = request.number("attempt_number")
    if not 1 <= attempt <= run.attempt:
        raise not_found()
    return repository, run, attempt


def selected_runs(request: RestRequest, repository: RepositoryRecord, runs: Sequence[RunRecord]) -> RestAnswer:
    """Answer with the runs that the query's filters select."""
    shown = [run for run in runs if _is_selected(request, run)]
    return request.page(shown, lambda run: run_json(request.session, repository, run), "workflow_runs")


def _is_selected(request: RestRequest, run: RunRecord) -> bool:
    query = request.query
    actor = request.session.state.need(UserRecord, run.actor).login
    equal = {
        "branch": run.head_branch,
        "event": run.event,
        "head_sha": run.head_sha,
        "check_suite_id": str(run.id),
        "actor": actor.casefold(),
    }
    wanted = {name: query[name] for name in equal if query.get(name)}
    if "actor" in wanted:
        wanted["actor"] = wanted["actor"].casefold()
    status = query.get("status")
    return (
        all(equal[name] == value for name, value in wanted.items())
        and (not status or status in (run.status, run.conclusion))
        and (not query.get("created") or in_range(query["created"], run.created_at))
    )


@route("GET", f"{_ACTIONS}/runs")
def list_runs(request: RestRequest) -> RestAnswer:
    """List the runs of a repository, the newest first."""
    repository = request.repository()
    return selected_runs(request, repository, runs_of(request.session, repository))


@route("GET", _RUN)
def get_run(request: RestRequest) -> RestAnswer:
    """Return a run."""
    return RestAnswer(200, run_json(request.session, *_run(request)))


@route("DELETE", _RUN)
def remove_run(request: RestRequest) -> RestAnswer:
    """Delete a run."""
    delete_run(request.session, *_run(request))
    return RestAnswer(204)


@route("GET", f"{_RUN}/attempts/{{attempt_number}}")
def get_attempt(request: RestRequest) -> RestAnswer:
    """Return an attempt of a run."""
    return RestAnswer(200, run_json(request.session, *_attempt(request)))


@route("GET", f"{_RUN}/attempts/{{attempt_number}}/jobs")
def list_jobs_of_attempt(request: RestRequest) -> RestAnswer:
    """List the jobs of an attempt."""
    repository, run, attempt = _attempt(request)
    return _jobs(request, repository, run, jobs_of_attempt(run, attempt))


@route("GET", f"{_RUN}/jobs")
def list_jobs(request: RestRequest) -> RestAnswer:
    """List the jobs of the last attempt, or (filter=all) of all."""
    repository, run = _run(request)
    jobs = run.jobs if request.query.get("filter") == "all" else jobs_of_attempt(run)
    return _jobs(request, repository, run, jobs)


def _jobs(request: RestRequest, repository: RepositoryRecord, run: RunRecord, jobs: Sequence[JobRecord]) -> RestAnswer:
    return request.page(jobs, lambda job: job_json(request.session, repository, run, job), "jobs")


@route("GET", _JOB)
def get_job(request: RestRequest) -> RestAnswer:
    """Return a job of any attempt."""
    repository = request.repository()
    run, job = find_job(request.session, repository, request.number("job_id"))
    return RestAnswer(200, job_json(request.session, repository, run, job))


@route("POST", f"{_RUN}/rerun")
def post_rerun(request: RestRequest) -> RestAnswer:
    """Run all jobs again."""
    rerun(request.session, *_run(request))
    return RestAnswer(201, {})


@route("POST", f"{_RUN}/rerun-failed-jobs")
def post_rerun_failed(request: RestRequest) -> RestAnswer:
    """Run the failed jobs again."""
    rerun(request.session, *_run(request), failed=True)
    return RestAnswer(201, {})


@route("POST", f"{_JOB}/rerun")
def post_rerun_job(request: RestRequest) -> RestAnswer:
    """Run one job again."""
    repository = request.repository()
    run, job = find_job(request.session, repository, request.number("job_id"))
    rerun(request.session, repository, run, job=job.id)
    return RestAnswer(201, {})


@route("POST", f"{_RUN}/cancel", f"{_RUN}/force-cancel")
def post_cancel(request: RestRequest) -> RestAnswer:
    """Cancel a run."""
    cancel(request.session, *_run(request))
    return RestAnswer(202, {})


@route("GET", f"{_RUN}/timing")
def get_timing(request: RestRequest) -> RestAnswer:
    """Return how long the last attempt took; nothing is billed."""
    _, run = _run(request)
    ends = [job.completed_at for job in jobs_of_attempt(run) if job.completed_at]
    seconds = (max(ends) - run.started_at).total_seconds() if ends else 0
    return RestAnswer(200, {"billable": {}, "run_duration_ms": max(0, int(1000 * seconds))})


@route("GET", f"{_RUN}/artifacts")
def list_artifacts_of_run(request: RestRequest) -> RestAnswer:
    """List the artifacts of a run: there are none here."""
    _run(request)
    return RestAnswer(200, {"total_count": 0, "artifacts": []})


@route("GET", f"{_ACTIONS}/artifacts")
def list_artifacts(request: RestRequest) -> RestAnswer:
    """List the artifacts of a repository: there are none here."""
    request.repository()
    return RestAnswer(200, {"total_count": 0, "artifacts": []})


@route("GET", f"{_ACTIONS}/caches")
def list_caches(request: RestRequest) -> RestAnswer:
    """List the caches of a repository: there are none here."""
    request.repository()
    return RestAnswer(200, {"total_count": 0, "actions_caches": []})


@route("GET", "/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations")
def list_annotations(request: RestRequest) -> RestAnswer:
    """List the annotations of a check run, or of a job of an earlier attempt, which has no check any more."""
    repository, id_ = request.repository(), request.number("check_run_id")
    check = request.session.state.get(CheckRecord, id_)
    if check is not None and check.repository == repository.id:
        sha, annotations = check.sha, check.annotations
    else:
        run, job = find_job(request.session, repository, id_)
        sha, annotations = run.head_sha, job.annotations
    page = f"{site_url(request.session, repository)}/blob/{sha}"
    return request.page(annotations, lambda annotation: _annotation(annotation, page))


def _annotation(annotation: AnnotationRecord, page: str) -> dict[str, Any]:
    return {
        "path": annotation.path,
        "blob_href": f"{page}/{annotation.path}",
        "start_line": annotation.start_line,
        "end_line": annotation.end_line,
        "start_column": None,
        "end_column": None,
        "annotation_level": annotation.level,
        "title": annotation.title or "",
        "message": annotation.message,
        "raw_details": None,
    }


# Logs


@route("GET", f"{_RUN}/logs")
def get_logs(request: RestRequest) -> RestAnswer:
    """Redirect to the zip with the logs of the last attempt."""
    _, run = _run(request)
    return _to_logs(request, run, jobs_of_attempt(run), run.attempt)


@route("GET", f"{_RUN}/attempts/{{attempt_number}}/logs")
def get_logs_of_attempt(request: RestRequest) -> RestAnswer:
    """Redirect to the zip with the logs of an attempt."""
    _, run, attempt = _attempt(request)
    return _to_logs(request, run, jobs_of_attempt(run, attempt), attempt)


@route("DELETE", f"{_RUN}/logs")
def remove_logs(request: RestRequest) -> RestAnswer:
    """Delete the logs of a run."""
    delete_logs(request.session, *_run(request))
    return RestAnswer(204)


@route("GET", f"{_JOB}/logs")
def get_job_log(request: RestRequest) -> RestAnswer:
    """Redirect to the log of a job."""
    _, job = find_job(request.session, request.repository(), request.number("job_id"))
    if job.log is None:
        raise not_found()
    return _redirect(request, f"{LOGS}/jobs/{job.log}")


def _to_logs(request: RestRequest, run: RunRecord, jobs: Sequence[JobRecord], attempt: int) -> RestAnswer:
    if run.status != "completed" or not any(job.log for job in jobs):
        raise not_found()
    return _redirect(request, f"{LOGS}/runs/{run.id}/{attempt}/{_key(jobs)}")


def _redirect(request: RestRequest, path: str) -> RestAnswer:
    """Answer 302, on which clients in Go insist. The address needs no token, but cannot be guessed."""
    host = request.headers.get("host", "")
    base = API if host in ("", "api.github.com") else f"http://{host}/api/v3"
    return RestAnswer(302, headers={"Location": base + path})


def _key(jobs: Sequence[JobRecord]) -> str:
    return hashlib.sha256(" ".join(f"{job.id} {job.log}" for job in jobs).encode()).hexdigest()


@route("GET", f"{LOGS}/jobs/{{blob}}")
def read_job_log(request: RestRequest) -> RestAnswer:
    """Return the log of a job."""
    blob = request.params["blob"]
    jobs = (job for run in request.session.state.where(RunRecord) for job in run.jobs)
    if not any(job.log == blob for job in jobs):
        raise not_found()
    content = request.session.hub.blobs.read(blob)
    return RestAnswer(200, content=content, content_type="text/plain; charset=utf-8")


@route("GET", f"{LOGS}/runs/{{run_id}}/{{attempt_number}}/{{key}}")
def read_logs(request: RestRequest) -> RestAnswer:
    """Return the zip with the logs of an attempt."""
    run = request.session.state.get(RunRecord, request.number("run_id"))
    jobs = jobs_of_attempt(run, request.number("attempt_number")) if run else []
    if not jobs or _key(jobs) != request.params["key"]:
        raise not_found()
    return RestAnswer(200, content=run_archive(jobs, request.session.hub.blobs), content_type="application/zip")
