"""Pull requests, permissions of accounts, workflow runs and their dispatch, tags, and checks on commits."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from scylla_gha.errors import GitHubError
from scylla_gha.github.access import ApiRequestError
from scylla_gha.github.client import ApiRequest, GitHubRepository
from scylla_gha.github.responses import (
    AnyResponse,
    CheckRun,
    CommitComparison,
    Dispatched,
    Permission,
    PullRequest,
    Push,
    Pushes,
    Ref,
    WorkflowRun,
)

Conclusion = Literal["success", "failure", "neutral"]
_CAN_WRITE: Final = {"admin", "maintain", "write"}
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_EXISTS: Final = 422
_HIDDEN: Final = (403, 404)
_MAX_DESCRIPTION: Final = 140  # characters of a status, GitHub's limit
_MAX_SUMMARY: Final = 60_000  # of GitHub's 65,535


def read_pull_request(repository: GitHubRepository, number: int) -> PullRequest:
    """Read a pull request as it is now."""
    return repository.read(ApiRequest("GET", f"/pulls/{number}", f"read #{number}", "pull-requests: read"), PullRequest)


def merge_base(repository: GitHubRepository, pull: PullRequest) -> str:
    """Return the commit at which a pull request branched off; it is on the repository's own branch."""
    commits = f"{pull.base.ref}...{pull.head.sha}"
    request = ApiRequest("GET", f"/compare/{quote(commits, safe='.')}", f"find the merge base of #{pull.number}",
                         "contents: read", query={"per_page": "1"})  # fmt: skip
    return repository.read(request, CommitComparison).merge_base_commit.sha


def can_write(repository: GitHubRepository, login: str) -> bool:
    """Return whether an account can write to the repository.

    The author association of an event is no proof: members of an organisation may have no write permission, and
    accounts with it may be shown as contributors.
    """
    path = f"/collaborators/{quote(login, safe='')}/permission"
    request = ApiRequest("GET", path, f"read the permission of {login}", "metadata: read")
    permission = repository.find(request, Permission, _NOT_FOUND)
    return permission is not None and permission.permission in _CAN_WRITE


def last_push(repository: GitHubRepository, pull: PullRequest) -> Push | None:
    """Return the latest push to a pull request's branch, with GitHub's own time; None if GitHub does not show it.

    Dates in commits prove nothing: their authors choose them.
    """
    if pull.head.repo is None:
        return None
    request = ApiRequest(
        "GET", f"//repos/{pull.head.repo.full_name}/activity",
        f"read the pushes to #{pull.number}", "contents: read",
        query={"ref": f"refs/heads/{pull.head.ref}", "direction": "desc"},
    )  # fmt: skip
    pushes = repository.find(request, Pushes, *_HIDDEN)
    return next(iter(pushes.root), None) if pushes else None


def workflow_run(repository: GitHubRepository, run: int) -> WorkflowRun:
    """Read a workflow's run."""
    request = ApiRequest("GET", f"/actions/runs/{run}", f"read the run {run}", "actions: read")
    return repository.read(request, WorkflowRun)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A check on a commit; `mark` is equal for two reports of the same run and attempt."""

    name: str
    sha: str
    conclusion: Conclusion
    title: str
    summary: str
    url: str
    mark: str


def post_conclusion(repository: GitHubRepository, check: CheckReport) -> Literal["check run", "commit status"]:
    """Create a check run, or a commit status if the token may not create check runs; return which."""
    try:
        _create_check_run(repository, check)
    except ApiRequestError as error:
        if error.status != _FORBIDDEN:
            raise
        _set_status(repository, check)
        return "commit status"
    return "check run"


def _create_check_run(repository: GitHubRepository, check: CheckReport) -> None:
    body = {
        "name": check.name, "head_sha": check.sha, "status": "completed", "conclusion": check.conclusion,
        "details_url": check.url, "external_id": check.mark,
        "output": {"title": check.title, "summary": check.summary[:_MAX_SUMMARY]},
    }  # fmt: skip
    operation = (f"create a check run on {check.sha[:7]}", "checks: write")

    def search() -> CheckRun | None:
        request = ApiRequest("GET", f"/commits/{check.sha}/check-runs", *operation,
                             query={"check_name": check.name, "filter": "all"})  # fmt: skip
        runs = repository.pages(request, CheckRun, "check_runs")
        return next((run for run in runs if run.external_id == check.mark), None)

    repository.create(ApiRequest("POST", "/check-runs", *operation, body), CheckRun, search)


def _set_status(repository: GitHubRepository, check: CheckReport) -> None:
    """Set a commit status; `neutral` becomes `success`, since statuses have no neutral and both allow a merge."""
    state = "failure" if check.conclusion == "failure" else "success"
    body = {"state": state, "context": check.name, "target_url": check.url,
            "description": check.title[:_MAX_DESCRIPTION]}  # fmt: skip
    request = ApiRequest("POST", f"/statuses/{check.sha}", f"set a status on {check.sha[:7]}",
                         "checks: write` or `statuses: write", body)  # fmt: skip
    repository.read(request, AnyResponse)


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
    operation = (f"dispatch {workflow} on {ref}", "actions: write")

    def search() -> Dispatched | None:
        query = {"event": "workflow_dispatch", "branch": ref, "created": f">={since:%Y-%m-%dT%H:%M:%SZ}"}
        request = ApiRequest("GET", f"/actions/workflows/{workflow}/runs", *operation, query=query)
        run = next(repository.pages(request, WorkflowRun, "workflow_runs"), None)
        return Dispatched(workflow_run_id=run.id, html_url=run.html_url) if run else None

    body = {"ref": ref, "inputs": dict(inputs), "return_run_details": True}
    request = ApiRequest("POST", f"/actions/workflows/{workflow}/dispatches", *operation, body)
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
        request = ApiRequest("POST", "/git/refs", f"create the tag {tag}", "contents: write", body)
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
    request = ApiRequest("GET", f"/git/ref/tags/{tag}", f"read the tag {tag}", "contents: read")
    return repository.find(request, Ref, _NOT_FOUND)
