"""Pull requests of a hub in this process: opening, pushing to their branches, rules of branches."""

from collections.abc import Mapping
from typing import Any

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.refs import change_ref
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord
from tests.support.hub import AUTHOR, NAME, OWNER, REPO, Caller, commit

PULLS = f"{REPO}/pulls"


def demo(hub: Hub) -> RepositoryRecord:
    """The repository octo-org/demo, as it is now."""
    record = hub.state.repository(OWNER, NAME)
    assert record is not None
    return record


def git_of(hub: Hub) -> GitRepository:
    """The git repository of octo-org/demo."""
    return hub.git(demo(hub))


def push(
    hub: Hub,
    branch: str,
    files: Mapping[str, str | None],
    *,
    onto: str | None = None,
    message: str = "Change",
    login: str = AUTHOR,
) -> str:
    """Commit on a branch, or force it to a commit `onto` another one, as a user; returns the commit."""
    session, git = hub.session(login), git_of(hub)
    tip = git.branch(branch)
    parent = git.resolve(onto) if onto else tip
    assert parent is not None
    sha = commit(git, files, f"{message}\n", session.signature(), parent)
    change_ref(session, demo(hub), f"refs/heads/{branch}", sha, force=tip is not None and parent != tip)
    return sha


def delete_branch(hub: Hub, branch: str) -> None:
    """Delete a branch."""
    change_ref(hub.session(AUTHOR), demo(hub), f"refs/heads/{branch}", None)


def open_pull(caller: Caller, head: str = "topic", base: str = "main", **fields: Any) -> dict[str, Any]:
    """Open a pull request over REST, and return it."""
    answer = caller.rest("POST", PULLS, {"title": "Change the sum", "head": head, "base": base, **fields})
    assert answer.status == 201, answer.body
    body: dict[str, Any] = answer.body
    return body


def pull_record(hub: Hub, number: int) -> PullRequestRecord:
    """The record of a pull request of octo-org/demo."""
    record = hub.state.first(PullRequestRecord, repository=demo(hub).id, number=number)
    assert record is not None
    return record


def refusal(caller: Caller, method: str, url: str, body: Any = None) -> tuple[int, str]:
    """Status and reason of a refused request: GitHub's message, or the first of its `errors`."""
    answer = caller.rest(method, url, body)
    assert answer.status >= 400, answer.body
    errors = answer.body.get("errors") or []
    if not errors:
        return answer.status, answer.body["message"]
    first = errors[0]
    return answer.status, first if isinstance(first, str) else first.get("message") or first["field"]
