"""Read and write pull requests, issues, comments, reactions, checks, permissions, tags, and workflow runs.

The toolkit recognises its own posts by their author and a marker in the first line.
"""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal
from urllib.parse import quote

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import ApiRequestError
from scylla_gha.github_api.client import ApiRequest, GitHubRepository
from scylla_gha.github_api.responses import (
    AnyResponse,
    CheckRun,
    Comment,
    CommitComparison,
    Dispatched,
    Issue,
    Permission,
    PullRequest,
    Push,
    Pushes,
    Ref,
    User,
    WorkflowRun,
)

Conclusion = Literal["success", "failure", "neutral"]
_CAN_WRITE: Final = {"admin", "maintain", "write"}
_HIDDEN: Final = (403, 404)
_MAX_DESCRIPTION: Final = 140  # characters of a status, GitHub's limit
_MAX_SUMMARY: Final = 60_000  # characters; GitHub's limit is 65,535
ACTIONS_BOT: Final = "github-actions[bot]"
_WRITE_COMMENTS: Final = "pull-requests: write"
_WRITE_ISSUES: Final = "issues: write"
_INSTALLATION: Final = "ghs_"  # prefix of tokens of apps, including the job's token
_NOT_A_USER: Final = (401, 403, 404)
_DELETED: Final = (404, 410)
_LABEL_COLOUR: Final = "b60205"


def read_pull_request(repository: GitHubRepository, number: int) -> PullRequest:
    """Read the current state of a pull request."""
    return repository.read(ApiRequest("GET", f"/pulls/{number}", f"read #{number}", "pull-requests: read"), PullRequest)


def merge_base(repository: GitHubRepository, pull: PullRequest) -> str:
    """Return the commit at which a pull request branched off from its base branch."""
    commits = f"{pull.base.ref}...{pull.head.sha}"
    request = ApiRequest(
        "GET",
        f"/compare/{quote(commits, safe='.')}",
        f"find the merge base of #{pull.number}",
        "contents: read",
        query={"per_page": "1"},
    )
    return repository.read(request, CommitComparison).merge_base_commit.sha


def can_write(repository: GitHubRepository, login: str) -> bool:
    """Return whether an account can write to the repository.

    The author association of an event does not tell: members of an organisation may lack write permission, and
    accounts that have it may be shown as contributors.
    """
    path = f"/collaborators/{quote(login, safe='')}/permission"
    request = ApiRequest("GET", path, f"read the permission of {login}", "metadata: read")
    permission = repository.find(request, Permission, HTTPStatus.NOT_FOUND)
    return permission is not None and permission.permission in _CAN_WRITE


def last_push(repository: GitHubRepository, pull: PullRequest) -> Push | None:
    """Return the latest push to a pull request's branch, with GitHub's time, or None if GitHub does not show it.

    Dates in commits are not used, since their authors choose them.
    """
    if pull.head.repo is None:
        return None
    request = ApiRequest(
        "GET",
        f"//repos/{pull.head.repo.full_name}/activity",
        f"read the pushes to #{pull.number}",
        "contents: read",
        query={"ref": f"refs/heads/{pull.head.ref}", "direction": "desc"},
    )
    pushes = repository.find(request, Pushes, *_HIDDEN)
    return next(iter(pushes.root), None) if pushes else None


def workflow_run(repository: GitHubRepository, run: int) -> WorkflowRun:
    """Read a workflow run."""
    request = ApiRequest("GET", f"/actions/runs/{run}", f"read the run {run}", "actions: read")
    return repository.read(request, WorkflowRun)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A check on a commit; two reports of the same run and attempt have the same `mark`."""

    name: str
    sha: str
    conclusion: Conclusion
    title: str
    summary: str
    url: str
    mark: str


def post_conclusion(repository: GitHubRepository, check: CheckReport) -> Literal["check run", "commit status"]:
    """Create a check run, or a commit status if the token may not create check runs; return its kind."""
    try:
        _create_check_run(repository, check)
    except ApiRequestError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        _set_status(repository, check)
        return "commit status"
    return "check run"


def _create_check_run(repository: GitHubRepository, check: CheckReport) -> None:
    body = {
        "name": check.name,
        "head_sha": check.sha,
        "status": "completed",
        "conclusion": check.conclusion,
        "details_url": check.url,
        "external_id": check.mark,
        "output": {"title": check.title, "summary": check.summary[:_MAX_SUMMARY]},
    }
    operation = (f"create a check run on {check.sha[:7]}", "checks: write")

    def search() -> CheckRun | None:
        request = ApiRequest(
            "GET", f"/commits/{check.sha}/check-runs", *operation, query={"check_name": check.name, "filter": "all"}
        )
        runs = repository.pages(request, CheckRun, "check_runs")
        return next((run for run in runs if run.external_id == check.mark), None)

    repository.create(ApiRequest("POST", "/check-runs", *operation, body), CheckRun, search)


def _set_status(repository: GitHubRepository, check: CheckReport) -> None:
    """Set a commit status; `neutral` becomes `success`, since statuses have no `neutral`, and both allow a merge."""
    state = "failure" if check.conclusion == "failure" else "success"
    body = {
        "state": state,
        "context": check.name,
        "target_url": check.url,
        "description": check.title[:_MAX_DESCRIPTION],
    }
    request = ApiRequest(
        "POST", f"/statuses/{check.sha}", f"set a status on {check.sha[:7]}", "checks: write` or `statuses: write", body
    )
    repository.read(request, AnyResponse)


def dispatch_workflow(repository: GitHubRepository, workflow: str, ref: str, inputs: Mapping[str, str]) -> Dispatched:
    """Start a workflow exactly once, since each run costs money.

    If the answer is lost, a run of the workflow on the same ref that began since then counts as the started run. It
    may be a run that somebody else dispatched at the same moment; dispatch again in this case.

    Args:
        repository: the repository.
        workflow: file name of the workflow.
        ref: branch or tag.
        inputs: inputs of the dispatch.
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
    """Create a tag at a commit unless the tag exists; return the tag's commit.

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
            is_taken = error.status == HTTPStatus.UNPROCESSABLE_ENTITY  # another run has just created it
            ref = _read_tag(repository, tag) if is_taken else None
            if ref is None:
                raise
    if ref.object.type != "commit":
        raise GitHubError(
            f"{repository.repository}: the tag {tag} is annotated, so this toolkit did not create it; "
            "delete it, or give the campaign another name"
        )
    return ref.object.sha


def _read_tag(repository: GitHubRepository, tag: str) -> Ref | None:
    request = ApiRequest("GET", f"/git/ref/tags/{tag}", f"read the tag {tag}", "contents: read")
    return repository.find(request, Ref, HTTPStatus.NOT_FOUND)


def token_login(repository: GitHubRepository) -> str:
    """Return the token's login. A job's token cannot ask for its login; it writes as the bot of Actions."""
    if (repository.access.token or "").startswith(_INSTALLATION):
        return ACTIONS_BOT
    user = repository.find(ApiRequest("GET", "//user", "ask whose token this is", "none"), User, *_NOT_A_USER)
    return user.login if user else ACTIONS_BOT


def author_comments(repository: GitHubRepository, number: int, author: str, since: str = "") -> Iterator[Comment]:
    """Yield an author's comments on an issue or pull request, oldest first, over all pages.

    Args:
        repository: the repository.
        number: number of the issue or pull request.
        author: a login.
        since: ISO time; only comments changed after it; empty: all.
    """
    request = ApiRequest(
        "GET",
        f"/issues/{number}/comments",
        f"read the comments on #{number}",
        "pull-requests: read",
        query={"since": since} if since else {},
    )
    return (comment for comment in repository.pages(request, Comment) if comment.author == author)


def find_marked(repository: GitHubRepository, number: int, author: str, marker: str) -> list[Comment]:
    """Return the author's comments that begin with the marker, oldest first.

    Author and marker are both needed: anybody can write the marker, so that the bot would edit the wrong comment.
    """
    comments = author_comments(repository, number, author)
    return [comment for comment in comments if (comment.body or "").startswith(marker)]


def create_comment(repository: GitHubRepository, number: int, body: str, author: str) -> Comment:
    """Create a comment exactly once: before a retry, search for an equal comment by the author."""

    def search() -> Comment | None:
        comments = author_comments(repository, number, author)
        return next((comment for comment in comments if (comment.body or "").strip() == body.strip()), None)

    request = ApiRequest("POST", f"/issues/{number}/comments", f"comment on #{number}", _WRITE_COMMENTS, {"body": body})
    return repository.create(request, Comment, search)


def reply_once(repository: GitHubRepository, number: int, marker: str, text: str, author: str, since: str = "") -> None:
    """Comment unless a comment of the author begins with the marker; `since` as in `author_comments`."""
    comments = author_comments(repository, number, author, since)
    if not any((comment.body or "").startswith(marker) for comment in comments):
        create_comment(repository, number, f"{marker}\n{text}\n", author)


def edit_comment(repository: GitHubRepository, comment: int, body: str) -> Comment | None:
    """Replace a comment's text; return None if the comment was deleted meanwhile."""
    request = ApiRequest(
        "PATCH", f"/issues/comments/{comment}", f"edit the comment {comment}", _WRITE_COMMENTS, {"body": body}
    )
    return repository.find(request, Comment, *_DELETED)


def add_reaction(repository: GitHubRepository, comment: int, content: Literal["eyes", "confused", "rocket"]) -> None:
    """React to a comment; GitHub stores one reaction of a kind for each user."""
    path = f"/issues/comments/{comment}/reactions"
    repository.send(ApiRequest("POST", path, f"react to the comment {comment}", _WRITE_COMMENTS, {"content": content}))


def find_issue(repository: GitHubRepository, author: str, marker: str, label: str) -> Issue | None:
    """Return the author's newest issue with the label that begins with the marker; open ones first."""
    request = ApiRequest("GET", "/issues", "read issues", "issues: read", query={"state": "all", "labels": label})
    issues = [
        issue
        for issue in repository.pages(request, Issue)
        if issue.author == author and (issue.body or "").startswith(marker)
    ]
    return max(issues, key=lambda issue: (issue.state == "open", issue.number), default=None)


def open_issue(
    repository: GitHubRepository,
    author: str,
    title: str,
    body: str,
    label: str,
    about: str = "An agent is worse than before",
) -> Issue:
    """Open an issue exactly once; create a missing label with the description `about`."""
    read = ApiRequest("GET", f"/labels/{label}", f"read the label {label}", "issues: read")
    if repository.find(read, AnyResponse, HTTPStatus.NOT_FOUND) is None:
        content = {"name": label, "color": _LABEL_COLOUR, "description": about}
        create = ApiRequest("POST", "/labels", f"create the label {label}", _WRITE_ISSUES, content)
        repository.find(create, AnyResponse, HTTPStatus.UNPROCESSABLE_ENTITY)
    marker = body.partition("\n")[0]
    request = ApiRequest(
        "POST",
        "/issues",
        "open an issue",
        _WRITE_ISSUES,
        {"title": title, "body": body, "labels": [label]},
    )

    def search() -> Issue | None:
        issue = find_issue(repository, author, marker, label)
        return issue if issue and issue.state == "open" else None

    return repository.create(request, Issue, search)


def update_issue(repository: GitHubRepository, number: int, body: str, state: Literal["open", "closed"]) -> Issue:
    """Replace an issue's text, and open or close it."""
    reason = {"state_reason": "completed"} if state == "closed" else {}
    request = ApiRequest(
        "PATCH",
        f"/issues/{number}",
        f"update the issue #{number}",
        _WRITE_ISSUES,
        {"body": body, "state": state, **reason},
    )
    return repository.read(request, Issue)
