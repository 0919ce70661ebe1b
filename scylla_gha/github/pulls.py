"""Pull requests, permissions of accounts, workflow runs, and checks on commits."""

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from scylla_gha.github.api_errors import ApiOperation, ApiRequestError
from scylla_gha.github.client import ApiRequest, GitHubRepository
from scylla_gha.github.responses import (
    AnyResponse,
    CheckRun,
    CommitComparison,
    Permission,
    PullRequest,
    Push,
    WorkflowRun,
)

Conclusion = Literal["success", "failure", "neutral"]
_CAN_WRITE: Final = {"admin", "maintain", "write"}
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_HIDDEN: Final = {403, 404}
_MAX_DESCRIPTION: Final = 140  # characters of a status, GitHub's limit
_MAX_SUMMARY: Final = 60_000  # of GitHub's 65,535


def read_pull_request(repository: GitHubRepository, number: int) -> PullRequest:
    """Read a pull request as it is now."""
    operation = ApiOperation(f"read #{number}", "pull-requests: read")
    return repository.read(ApiRequest("GET", f"/pulls/{number}", operation), PullRequest)


def merge_base(repository: GitHubRepository, pull: PullRequest) -> str:
    """Return the commit at which a pull request branched off; it is on the repository's own branch."""
    commits = f"{pull.base.ref}...{pull.head.sha}"
    operation = ApiOperation(f"find the merge base of #{pull.number}", "contents: read")
    request = ApiRequest("GET", f"/compare/{quote(commits, safe='.')}", operation, query={"per_page": "1"})
    return repository.read(request, CommitComparison).merge_base_commit.sha


def can_write(repository: GitHubRepository, login: str) -> bool:
    """Return whether an account can write to the repository.

    The author association of an event is no proof: members of an organisation may have no write permission, and
    accounts with it may be shown as contributors.
    """
    operation = ApiOperation(f"read the permission of {login}", "metadata: read")
    request = ApiRequest("GET", f"/collaborators/{quote(login, safe='')}/permission", operation)
    try:
        return repository.read(request, Permission).permission in _CAN_WRITE
    except ApiRequestError as error:
        if error.status == _NOT_FOUND:
            return False
        raise


def last_push(repository: GitHubRepository, pull: PullRequest) -> Push | None:
    """Return the latest push to a pull request's branch, with GitHub's own time; None if GitHub does not show it.

    Dates in commits prove nothing: their authors choose them.
    """
    if pull.head.repo is None:
        return None
    request = ApiRequest(
        "GET", f"//repos/{pull.head.repo.full_name}/activity",
        ApiOperation(f"read the pushes to #{pull.number}", "contents: read"),
        query={"ref": f"refs/heads/{pull.head.ref}", "direction": "desc"},
    )  # fmt: skip
    try:
        return next(iter(repository.first_page(request, Push)), None)
    except ApiRequestError as error:
        if error.status in _HIDDEN:
            return None
        raise


def workflow_run(repository: GitHubRepository, run: int) -> WorkflowRun:
    """Read a workflow's run."""
    operation = ApiOperation(f"read the run {run}", "actions: read")
    return repository.read(ApiRequest("GET", f"/actions/runs/{run}", operation), WorkflowRun)


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
    operation = ApiOperation(f"create a check run on {check.sha[:7]}", "checks: write")

    def search() -> CheckRun | None:
        request = ApiRequest("GET", f"/commits/{check.sha}/check-runs", operation,
                             query={"check_name": check.name, "filter": "all"})  # fmt: skip
        runs = repository.pages(request, CheckRun, "check_runs")
        return next((run for run in runs if run.external_id == check.mark), None)

    repository.create(ApiRequest("POST", "/check-runs", operation, body), CheckRun, search)


def _set_status(repository: GitHubRepository, check: CheckReport) -> None:
    """Set a commit status; `neutral` becomes `success`, since statuses have no neutral and both allow a merge."""
    state = "failure" if check.conclusion == "failure" else "success"
    body = {"state": state, "context": check.name, "target_url": check.url,
            "description": check.title[:_MAX_DESCRIPTION]}  # fmt: skip
    operation = ApiOperation(f"set a status on {check.sha[:7]}", "checks: write` or `statuses: write")
    repository.read(ApiRequest("POST", f"/statuses/{check.sha}", operation, body), AnyResponse)
