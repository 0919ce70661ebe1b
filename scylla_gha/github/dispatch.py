"""Dispatch of workflows, and the tags that pin a campaign to a commit."""

import datetime
from collections.abc import Mapping
from typing import Final

from scylla_gha.errors import GitHubError
from scylla_gha.github.api_errors import ApiOperation, ApiRequestError
from scylla_gha.github.client import ApiRequest, GitHubRepository
from scylla_gha.github.responses import Dispatched, Ref, WorkflowRun

_NOT_FOUND: Final = 404
_EXISTS: Final = 422


def dispatch_workflow(repository: GitHubRepository, workflow: str, ref: str, inputs: Mapping[str, str]) -> Dispatched:
    """Start a workflow once: each run costs money.

    If the answer is lost, a run of the workflow on the same ref that began since is taken for it; two people who
    dispatch at the moment of such a fault get one run, and can dispatch again.

    Args:
        repository: the repository.
        workflow: its file's name.
        ref: branch or tag.
        inputs: of the dispatch.
    """
    since = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    operation = ApiOperation(f"dispatch {workflow} on {ref}", "actions: write")

    def search() -> Dispatched | None:
        query = {"event": "workflow_dispatch", "branch": ref, "created": f">={since:%Y-%m-%dT%H:%M:%SZ}"}
        request = ApiRequest("GET", f"/actions/workflows/{workflow}/runs", operation, query=query)
        run = next(repository.pages(request, WorkflowRun, "workflow_runs"), None)
        return Dispatched(workflow_run_id=run.id, html_url=run.html_url) if run else None

    body = {"ref": ref, "inputs": dict(inputs), "return_run_details": True}
    request = ApiRequest("POST", f"/actions/workflows/{workflow}/dispatches", operation, body)
    dispatched = repository.create(request, Dispatched, search)
    return dispatched if dispatched.html_url else search() or dispatched


def pin_commit(repository: GitHubRepository, tag: str, sha: str) -> str:
    """Create a tag at a commit if it does not exist; return the tag's commit.

    Raises:
        GitHubError: the tag is annotated.
    """
    ref = _read_tag(repository, tag)
    if ref is None:
        body = {"ref": f"refs/tags/{tag}", "sha": sha}
        request = ApiRequest("POST", "/git/refs", ApiOperation(f"create the tag {tag}", "contents: write"), body)
        try:
            ref = repository.create(request, Ref, lambda: _read_tag(repository, tag))
        except ApiRequestError as error:
            ref = _read_tag(repository, tag) if error.status == _EXISTS else None  # another run was faster
            if ref is None:
                raise
    if ref.object.type != "commit":
        raise GitHubError(f"{repository.repository}: the tag {tag} is annotated, so this toolkit did not create it; "
                          "delete it, or give the campaign another name")  # fmt: skip
    return ref.object.sha


def _read_tag(repository: GitHubRepository, tag: str) -> Ref | None:
    operation = ApiOperation(f"read the tag {tag}", "contents: read")
    try:
        return repository.read(ApiRequest("GET", f"/git/ref/tags/{tag}", operation), Ref)
    except ApiRequestError as error:
        if error.status == _NOT_FOUND:
            return None
        raise
