"""Pull requests: creation, and changes of title, text and base."""

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid, not_found
from scylla_gha.hub.git_objects import fetch
from scylla_gha.hub.operations.issues import SubjectChanges, check_text, edit_subject
from scylla_gha.hub.operations.pull_facts import head_sha, repository_of
from scylla_gha.hub.operations.review_requests import request_code_owners
from scylla_gha.hub.operations.subjects import NO_RIGHTS, require_writable
from scylla_gha.hub.operations.timeline import add_event, add_references
from scylla_gha.hub.operations.workflow_events import start_for_pull
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord


def find_pull(session: HubSession, repository: RepositoryRecord, number: int) -> PullRequestRecord:
    """Return the pull request with a number.

    Raises:
        HubError: 404, there is none, or the number is an issue's.
    """
    pull = session.state.first(PullRequestRecord, repository=repository.id, number=number)
    if pull is None:
        raise not_found()
    return pull


def require_edit_of_pull(session: HubSession, pull: PullRequestRecord) -> None:
    """Require that the user is the pull request's author or has write access.

    See https://docs.github.com/rest/pulls/pulls#update-a-pull-request

    Raises:
        HubError: 403, or 404 if the repository may not be read.
    """
    repository = repository_of(session, pull)
    require_writable(session, repository)
    if pull.author != session.user.id and not session.may(repository, "write"):
        raise HubError(403, NO_RIGHTS)


def create_pull(  # noqa: PLR0913 the fields of GitHub's request
    session: HubSession,
    repository: RepositoryRecord,
    *,
    head: str,
    base: str,
    title: str,
    body: str | None = None,
    draft: bool = False,
    maintainer_can_modify: bool = True,
    head_repository: RepositoryRecord | None = None,
) -> PullRequestRecord:
    """Open a pull request; `head` is a branch, or "owner:branch" of a repository in the same network.

    See https://docs.github.com/rest/pulls/pulls#create-a-pull-request

    Raises:
        HubError: 403 without write access to the head's repository; 422 as GitHub words it.
    """
    require_writable(session, repository)
    check_text(title, body, "PullRequest")
    source, branch = _head(session, repository, head, head_repository)
    session.require(source, "write")
    tip = _check_branches(session, repository, base, source, branch)
    state, user = session.state, session.user
    number = state.next_number(repository)
    _set_head(session, repository, number, source, tip)
    record = PullRequestRecord(
        id=state.new_id(), created_at=state.now(), updated_at=state.now(), repository=repository.id, number=number,
        title=title.strip(), body=body or None, author=user.id, head_repository=source.id, head_ref=branch,
        base_ref=base, draft=draft,
        maintainer_can_modify=maintainer_can_modify and source.id != repository.id,
    )  # fmt: skip
    state.create(user, record)
    add_references(session, record, body)
    requested = request_code_owners(session, record)
    start_for_pull(session, requested, "opened")
    return requested


def _head(
    session: HubSession, repository: RepositoryRecord, head: str, head_repository: RepositoryRecord | None
) -> tuple[RepositoryRecord, str]:
    """Return the repository and the branch that a text names as a head."""
    owner, mark, branch = head.rpartition(":")
    if head_repository is not None or not mark:
        return head_repository or repository, branch
    user = session.state.user(owner)
    if user is not None:
        first = _root(session, repository)
        owned = session.state.where(RepositoryRecord, owner=user.id)
        for candidate in sorted(owned, key=lambda record: record.id != repository.id):
            if _root(session, candidate) == first and session.may(candidate, "read"):
                return candidate, branch
    raise invalid("PullRequest", "head")


def _root(session: HubSession, repository: RepositoryRecord) -> int:
    """Return the id of the repository that a network of forks began with."""
    while (parent := session.state.get(RepositoryRecord, repository.parent)) is not None:
        repository = parent
    return repository.id


def _check_branches(
    session: HubSession, repository: RepositoryRecord, base: str, source: RepositoryRecord, branch: str
) -> str:
    """Return the head's tip, if a pull request may be opened from it.

    Raises:
        HubError: 422, a branch is missing, there is nothing to merge, or there is such a pull request already.
    """
    base_tip, tip = session.git(repository).branch(base), session.git(source).branch(branch)
    if base_tip is None:
        raise invalid("PullRequest", "base")
    if tip is None:
        raise invalid("PullRequest", "head")
    owner = session.state.need(UserRecord, source.owner).login
    if open_pulls(session, repository, base, source.id, branch):
        raise invalid("PullRequest", "", "custom", f"A pull request already exists for {owner}:{branch}.")
    bring(session, repository, source, tip)
    git = session.git(repository)
    if git.is_ancestor(tip, base_tip):
        base_owner = session.state.need(UserRecord, repository.owner).login
        names = (base, branch) if source.id == repository.id else (f"{base_owner}:{base}", f"{owner}:{branch}")
        raise invalid("PullRequest", "", "custom", f"No commits between {names[0]} and {names[1]}")
    if git.merge_base(base_tip, tip) is None:
        raise invalid("PullRequest", "", "custom", f"The {branch} branch has no history in common with {base}")
    return tip


def open_pulls(
    session: HubSession, repository: RepositoryRecord, base: str, source: int, branch: str
) -> list[PullRequestRecord]:
    """Return the open pull request from a head into a base, as a list that is empty or has one."""
    return session.state.where(PullRequestRecord, repository=repository.id, base_ref=base, head_repository=source,
                               head_ref=branch, state="open")  # fmt: skip


def bring(session: HubSession, repository: RepositoryRecord, source: RepositoryRecord, sha: str) -> None:
    """Copy a fork's commit into the repository of the base."""
    git = session.git(repository)
    if source.id != repository.id and git.commit_of(sha) is None:
        fetch(git, session.git(source), sha)


def _set_head(
    session: HubSession, repository: RepositoryRecord, number: int, source: RepositoryRecord, tip: str
) -> None:
    bring(session, repository, source, tip)
    session.git(repository).set_ref(f"refs/pull/{number}/head", tip)


def follow_head(session: HubSession, pull: PullRequestRecord, tip: str) -> None:
    """Set the head of a pull request to the tip of its branch."""
    source = session.state.need(RepositoryRecord, pull.head_repository)
    _set_head(session, repository_of(session, pull), pull.number, source, tip)


def update_pull(
    session: HubSession,
    pull: PullRequestRecord,
    changes: SubjectChanges,
    *,
    base: str | None = None,
    maintainer_can_modify: bool | None = None,
) -> PullRequestRecord:
    """Change what is not None.

    See https://docs.github.com/rest/pulls/pulls#update-a-pull-request

    Raises:
        HubError: 403; 422 as GitHub words it.
    """
    if base is not None and base != pull.base_ref:
        require_edit_of_pull(session, pull)
        change_base(session, pull, base)
    edit_subject(session, pull, changes)
    current = session.state.need(PullRequestRecord, pull.id)
    if maintainer_can_modify is None or pull.head_repository == pull.repository:
        return current
    require_edit_of_pull(session, pull)
    return session.state.update(session.user, current, maintainer_can_modify=maintainer_can_modify)


def change_base(session: HubSession, pull: PullRequestRecord, base: str, event: str = "base_ref_changed") -> None:
    """Give an open pull request another base.

    See https://docs.github.com/pull-requests/collaborating-with-pull-requests/proposing-changes-to-your-work-with-pull-requests/changing-the-base-branch-of-a-pull-request

    Raises:
        HubError: 422 as GitHub words it.
    """
    repository = repository_of(session, pull)
    tip, git = session.git(repository).branch(base), session.git(repository)
    if pull.state == "closed":
        raise invalid("PullRequest", "base", "custom", "Cannot change the base branch of a closed pull request.")
    if tip is None:
        message = f"Proposed base branch '{base}' was not found"
        raise invalid("PullRequest", "base", "invalid", message)
    if open_pulls(session, repository, base, pull.head_repository, pull.head_ref):
        message = f"A pull request already exists for base branch '{base}' and head branch '{pull.head_ref}'"
        raise invalid("PullRequest", "base", "custom", message)
    if git.is_ancestor(head_sha(session, pull), tip):
        message = f"There are no new commits between base branch '{base}' and head branch '{pull.head_ref}'"
        raise invalid("PullRequest", "base", "custom", message)
    add_event(session, pull, event, from_=pull.base_ref, to=base)
    session.state.update(session.user, pull, base_ref=base)
