"""Pull requests: lists, creation, changes, files, commits, merges and updates of their branches."""

from collections.abc import Callable
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError, invalid
from scylla_gha.hub.operations.comments import comments_of
from scylla_gha.hub.operations.issues import SubjectChanges
from scylla_gha.hub.operations.merging import MergeMethod, merge_pull
from scylla_gha.hub.operations.pull_branches import update_branch
from scylla_gha.hub.operations.pull_facts import (
    base_sha,
    fork_point,
    head_sha,
    pull_commits,
    pull_files,
    repository_of,
)
from scylla_gha.hub.operations.pull_states import change_pull_state
from scylla_gha.hub.operations.pulls import create_pull, find_pull, update_pull
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.commit_json import changed_file, commit
from scylla_gha.hub.rest.pull_json import full_pull_json, pull_json, pull_url

_LIST: Final = "/repos/{owner}/{repo}/pulls"
_ONE: Final = f"{_LIST}/{{pull_number}}"
_METHODS: Final[dict[str, MergeMethod]] = {"merge": "merge", "squash": "squash", "rebase": "rebase"}


def pull_of(request: RestRequest) -> PullRequestRecord:
    """Return the pull request of a path, which the user may read."""
    return find_pull(request.session, request.repository(), request.number("pull_number"))


@route("GET", _LIST)
def list_pulls(request: RestRequest) -> RestAnswer:
    """Answer with the pull requests that the query asks for."""
    session, query, repository = request.session, request.query, request.repository()
    state, base, head = query.get("state", "open"), query.get("base"), query.get("head")
    if state not in ("open", "closed", "all"):
        raise invalid("PullRequest", "state")
    pulls = session.state.where(PullRequestRecord, repository=repository.id)
    chosen = [
        pull
        for pull in pulls
        if state in ("all", pull.state) and base in (None, "", pull.base_ref) and _is_from(session, pull, head)
    ]
    sort = query.get("sort", "created")
    down = query.get("direction", "desc" if sort == "created" else "asc") == "desc"
    chosen.sort(key=_sort_key(session, sort), reverse=down)
    return request.page(chosen, lambda pull: pull_json(session, pull))


def _is_from(session: HubSession, pull: PullRequestRecord, head: str | None) -> bool:
    """Return whether a pull request is from "owner:branch"; GitHub ignores a head without owner."""
    if not head or ":" not in head:
        return True
    owner, _, branch = head.partition(":")
    source = session.state.get(RepositoryRecord, pull.head_repository)
    user = session.state.get(UserRecord, source.owner) if source else None
    return pull.head_ref == branch and user is not None and user.login.casefold() == owner.casefold()


def _sort_key(session: HubSession, sort: str) -> Callable[[PullRequestRecord], Any]:
    if sort == "updated":
        return lambda pull: (pull.updated_at, pull.number)
    if sort == "popularity":
        return lambda pull: (len(comments_of(session, pull)), pull.number)
    return lambda pull: (pull.created_at, pull.number)


@route("POST", _LIST)
def post_pull(request: RestRequest) -> RestAnswer:
    """Open a pull request."""
    if request.body.get("issue") is not None:
        raise ContractGapError("turning an issue into a pull request")
    repository, session = request.repository(), request.session
    head_name = request.optional("head_repo", str)
    source = session.state.repository(*_owner_and_name(session, repository, head_name)) if head_name else None
    if head_name and source is None:
        raise invalid("PullRequest", "head_repo")
    modify = request.optional("maintainer_can_modify", bool)
    pull = create_pull(
        session,
        repository,
        head=request.needed("head", str),
        base=request.needed("base", str),
        title=request.needed("title", str),
        body=request.optional("body", str),
        draft=bool(request.optional("draft", bool)),
        maintainer_can_modify=modify is not False,
        head_repository=source,
    )
    return RestAnswer(201, full_pull_json(session, pull), headers={"Location": pull_url(session, pull)})


def _owner_and_name(session: HubSession, repository: RepositoryRecord, name: str) -> tuple[str, str]:
    """Return owner and name of "owner/name", or of a name of the same owner."""
    owner, mark, rest = name.partition("/")
    return (owner, rest) if mark else (session.state.need(UserRecord, repository.owner).login, name)


@route("GET", _ONE)
def get_pull(request: RestRequest) -> RestAnswer:
    """Answer with a pull request, or as its media type asks, with its diff or its commits as mails."""
    session, pull = request.session, pull_of(request)
    accept = request.headers.get("accept", "").partition(";")[0].strip()
    git = session.git(pull.repository)
    if accept.endswith(("diff", "diff+json")):
        diff = git.diff(fork_point(session, pull), head_sha(session, pull))
        return _text(diff, "diff")
    if accept.endswith(("patch", "patch+json")):
        return _text(git.format_patch(base_sha(session, pull), head_sha(session, pull)), "patch")
    return RestAnswer(200, full_pull_json(session, pull))


def _text(text: str, kind: str) -> RestAnswer:
    content = f"{text}\n".encode() if text else b""
    return RestAnswer(200, content=content, content_type=f"application/vnd.github.v3.{kind}; charset=utf-8")


@route("PATCH", _ONE)
def patch_pull(request: RestRequest) -> RestAnswer:
    """Change title, text, base or state."""
    session, pull = request.session, pull_of(request)
    state = request.optional("state", str)
    if state not in (None, "open", "closed"):
        raise invalid("PullRequest", "state")
    body = request.optional("body", str)
    pull = update_pull(
        session,
        pull,
        SubjectChanges(title=request.optional("title", str), body="" if request.has("body") and body is None else body),
        base=request.optional("base", str),
        maintainer_can_modify=request.optional("maintainer_can_modify", bool),
    )
    if state is not None:
        pull = change_pull_state(session, pull, state)
    return RestAnswer(200, full_pull_json(session, pull))


@route("GET", f"{_ONE}/files")
def list_files(request: RestRequest) -> RestAnswer:
    """Answer with the files that a pull request changes."""
    session, pull = request.session, pull_of(request)
    repository, head = repository_of(session, pull), head_sha(session, pull)
    return request.page(pull_files(session, pull), lambda file: changed_file(session, repository, file, head))


@route("GET", f"{_ONE}/commits")
def list_commits_of_pull(request: RestRequest) -> RestAnswer:
    """Answer with the commits of a pull request, the oldest first; 250 at most, as GitHub does."""
    session, pull = request.session, pull_of(request)
    repository = repository_of(session, pull)
    return request.page(pull_commits(session, pull)[:250], lambda entry: commit(session, repository, entry.sha))


@route("GET", f"{_ONE}/merge")
def is_merged(request: RestRequest) -> RestAnswer:
    """Answer 204 if a pull request was merged, else 404."""
    if pull_of(request).merged_at is None:
        raise HubError(404, "Not Found")
    return RestAnswer(204)


@route("PUT", f"{_ONE}/merge")
def put_merge(request: RestRequest) -> RestAnswer:
    """Merge a pull request."""
    pull, method = pull_of(request), request.optional("merge_method", str) or "merge"
    if method not in _METHODS:
        raise invalid("PullRequest", "merge_method")
    merged = merge_pull(
        request.session,
        pull,
        method=_METHODS[method],
        title=request.optional("commit_title", str),
        message=request.optional("commit_message", str),
        expected_head=request.optional("sha", str),
    )
    answer = {"sha": merged.merge_commit, "merged": True, "message": "Pull Request successfully merged"}
    return RestAnswer(200, answer)


@route("PUT", f"{_ONE}/update-branch")
def put_update_branch(request: RestRequest) -> RestAnswer:
    """Merge the base into the head."""
    session, pull = request.session, pull_of(request)
    update_branch(session, pull, expected_head=request.optional("expected_head_sha", str))
    url = pull_url(session, pull).replace("api.github.com", "github.com")
    return RestAnswer(202, {"message": "Updating pull request branch.", "url": url})
