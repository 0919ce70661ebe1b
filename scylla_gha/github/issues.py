"""Comments, reactions and issues; what the toolkit wrote is recognised by its author and a marker in the first line."""

from collections.abc import Iterator
from typing import Final, Literal

from scylla_gha.github.client import ApiRequest, GitHubRepository
from scylla_gha.github.responses import AnyResponse, Comment, Issue, User

ACTIONS_BOT: Final = "github-actions[bot]"
_WRITE_COMMENTS: Final = "pull-requests: write"
_WRITE_ISSUES: Final = "issues: write"
_INSTALLATION: Final = "ghs_"  # prefix of tokens of apps, the job's own token among them
_NOT_A_USER: Final = (401, 403, 404)
_NOT_FOUND: Final = 404
_DELETED: Final = (404, 410)
_EXISTS: Final = 422
_LABEL_COLOUR: Final = "b60205"


def own_login(repository: GitHubRepository) -> str:
    """Return the token's login. A job's own token cannot ask for it, and writes as the bot of Actions."""
    if (repository.access.token or "").startswith(_INSTALLATION):
        return ACTIONS_BOT
    user = repository.find(ApiRequest("GET", "//user", "ask whose token this is", "none"), User, *_NOT_A_USER)
    return user.login if user else ACTIONS_BOT


def author_comments(repository: GitHubRepository, number: int, author: str, since: str = "") -> Iterator[Comment]:
    """Yield an author's comments on an issue or pull request, oldest first, over all pages.

    Args:
        repository: the repository.
        number: of the issue or pull request.
        author: a login.
        since: ISO time; only comments changed after it; empty: all.
    """
    request = ApiRequest("GET", f"/issues/{number}/comments", f"read the comments on #{number}", "pull-requests: read",
                         query={"since": since} if since else {})  # fmt: skip
    return (comment for comment in repository.pages(request, Comment) if comment.author == author)


def find_marked(repository: GitHubRepository, number: int, author: str, marker: str) -> list[Comment]:
    """Return the author's comments that begin with the marker, oldest first.

    Both are needed: with the marker alone, anybody could make the bot edit their comment, or hide the bot's own.
    """
    comments = author_comments(repository, number, author)
    return [comment for comment in comments if (comment.body or "").startswith(marker)]


def create_comment(repository: GitHubRepository, number: int, body: str, author: str) -> Comment:
    """Comment once: before a retry, an equal comment of the author is searched for."""

    def search() -> Comment | None:
        comments = author_comments(repository, number, author)
        return next((comment for comment in comments if (comment.body or "").strip() == body.strip()), None)

    request = ApiRequest("POST", f"/issues/{number}/comments", f"comment on #{number}", _WRITE_COMMENTS, {"body": body})
    return repository.create(request, Comment, search)


def reply_once(repository: GitHubRepository, number: int, marker: str, text: str, author: str, since: str = "") -> None:
    """Comment, unless the author has a comment that begins with the marker; `since` as in `author_comments`."""
    comments = author_comments(repository, number, author, since)
    if not any((comment.body or "").startswith(marker) for comment in comments):
        create_comment(repository, number, f"{marker}\n{text}\n", author)


def edit_comment(repository: GitHubRepository, comment: int, body: str) -> Comment | None:
    """Replace a comment's text; None if the comment was deleted meanwhile."""
    request = ApiRequest("PATCH", f"/issues/comments/{comment}", f"edit the comment {comment}", _WRITE_COMMENTS,
                         {"body": body})  # fmt: skip
    return repository.find(request, Comment, *_DELETED)


def add_reaction(repository: GitHubRepository, comment: int, content: Literal["eyes", "confused", "rocket"]) -> None:
    """React to a comment; GitHub stores one reaction of a kind for each user."""
    path = f"/issues/comments/{comment}/reactions"
    repository.send(ApiRequest("POST", path, f"react to the comment {comment}", _WRITE_COMMENTS, {"content": content}))


def find_issue(repository: GitHubRepository, author: str, marker: str, label: str) -> Issue | None:
    """Return the author's newest issue with the label that begins with the marker; open ones first."""
    request = ApiRequest("GET", "/issues", "read issues", "issues: read", query={"state": "all", "labels": label})
    issues = [
        issue for issue in repository.pages(request, Issue)
        if issue.author == author and (issue.body or "").startswith(marker)
    ]  # fmt: skip
    return max(issues, key=lambda issue: (issue.state == "open", issue.number), default=None)


def open_issue(
    repository: GitHubRepository,
    author: str,
    title: str,
    body: str,
    label: str,
    about: str = "An agent is worse than before",
) -> Issue:
    """Open an issue once; the label is created with the description `about` if it is missing."""
    read = ApiRequest("GET", f"/labels/{label}", f"read the label {label}", "issues: read")
    if repository.find(read, AnyResponse, _NOT_FOUND) is None:
        content = {"name": label, "color": _LABEL_COLOUR, "description": about}
        create = ApiRequest("POST", "/labels", f"create the label {label}", _WRITE_ISSUES, content)
        repository.find(create, AnyResponse, _EXISTS)
    marker = body.partition("\n")[0]
    request = ApiRequest(
        "POST", "/issues", "open an issue", _WRITE_ISSUES,
        {"title": title, "body": body, "labels": [label]},
    )  # fmt: skip

    def search() -> Issue | None:
        issue = find_issue(repository, author, marker, label)
        return issue if issue and issue.state == "open" else None

    return repository.create(request, Issue, search)


def update_issue(repository: GitHubRepository, number: int, body: str, state: Literal["open", "closed"]) -> Issue:
    """Replace an issue's text, and open or close it."""
    reason = {"state_reason": "completed"} if state == "closed" else {}
    request = ApiRequest("PATCH", f"/issues/{number}", f"update the issue #{number}", _WRITE_ISSUES,
                         {"body": body, "state": state, **reason})  # fmt: skip
    return repository.read(request, Issue)
