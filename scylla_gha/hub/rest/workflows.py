"""Workflows of Actions: reading, enabling, disabling, and starting them by hand."""

from scylla_gha.hub.actions_records import WorkflowRecord
from scylla_gha.hub.operations.actions import runs_of
from scylla_gha.hub.operations.run_start import dispatch
from scylla_gha.hub.operations.workflow_files import enable_workflow, find_workflow, workflows_of
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.actions_json import run_json, workflow_json
from scylla_gha.hub.rest.runs import selected_runs

_WORKFLOWS = "/repos/{owner}/{repo}/actions/workflows"
_WORKFLOW = f"{_WORKFLOWS}/{{workflow_id}}"


def _workflow(request: RestRequest) -> tuple[RepositoryRecord, WorkflowRecord]:
    repository = request.repository()
    return repository, find_workflow(request.session, repository, request.params["workflow_id"])


@route("GET", _WORKFLOWS)
def list_workflows(request: RestRequest) -> RestAnswer:
    """List the workflows of a repository."""
    repository = request.repository()
    workflows = workflows_of(request.session, repository)
    return request.page(workflows, lambda workflow: workflow_json(request.session, repository, workflow), "workflows")


@route("GET", _WORKFLOW)
def get_workflow(request: RestRequest) -> RestAnswer:
    """Return a workflow by id or name of its file."""
    return RestAnswer(200, workflow_json(request.session, *_workflow(request)))


@route("PUT", f"{_WORKFLOW}/enable")
def put_enabled(request: RestRequest) -> RestAnswer:
    """Enable a workflow."""
    enable_workflow(request.session, *_workflow(request), enabled=True)
    return RestAnswer(204)


@route("PUT", f"{_WORKFLOW}/disable")
def put_disabled(request: RestRequest) -> RestAnswer:
    """Disable a workflow."""
    enable_workflow(request.session, *_workflow(request), enabled=False)
    return RestAnswer(204)


@route("POST", f"{_WORKFLOW}/dispatches")
def post_dispatch(request: RestRequest) -> RestAnswer:
    """Start a workflow on a branch or tag."""
    repository, workflow = _workflow(request)
    inputs = request.optional("inputs", dict) or {}
    run = dispatch(request.session, repository, workflow, request.needed("ref", str), inputs)
    if not request.optional("return_run_details", bool):
        return RestAnswer(204)
    body = run_json(request.session, repository, run)
    return RestAnswer(200, {"workflow_run_id": run.id, "run_url": body["url"], "html_url": body["html_url"]})


@route("GET", f"{_WORKFLOW}/runs")
def list_runs_of_workflow(request: RestRequest) -> RestAnswer:
    """List the runs of a workflow."""
    repository, workflow = _workflow(request)
    runs = [run for run in runs_of(request.session, repository) if run.workflow == workflow.id]
    return selected_runs(request, repository, runs)


@route("GET", f"{_WORKFLOW}/timing")
def get_workflow_timing(request: RestRequest) -> RestAnswer:
    """Return what a workflow costs, which is nothing here."""
    _workflow(request)
    return RestAnswer(200, {"billable": {}})
