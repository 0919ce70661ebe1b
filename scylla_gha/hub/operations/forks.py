"""Forks of repositories, and how they follow their upstream."""

from collections.abc import Iterator
from dataclasses import dataclass

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_objects import fetch, merged_tree, write_commit
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.refs import BRANCH, TAG, change_ref
from scylla_gha.hub.operations.repositories import free_name, may_create_in
from scylla_gha.hub.records import RepositoryRecord, UserRecord


def fork_repository(
    session: HubSession,
    repository: RepositoryRecord,
    owner: UserRecord,
    *,
    name: str | None = None,
    default_branch_only: bool = False,
) -> RepositoryRecord:
    """Fork a repository; its objects are borrowed. Who has a fork of it gets that one.

    An organization may fork its own repository under another name, and a person may not.

    Raises:
        HubError: the user may not create a repository there, or owns the repository.
    """
    state, user = session.state, session.user
    if not may_create_in(session, owner):
        raise HubError(403, "You do not have permission to create repositories in this organization.")
    existing = state.first(RepositoryRecord, parent=repository.id, owner=owner.id)
    if existing is not None:
        return existing
    if owner.id == repository.owner and (owner.kind != "Organization" or not name):
        raise HubError(422, "A repository cannot be forked into the account that owns it")
    wanted = free_name(session, owner, name) if name else _name_beside(session, owner, repository.name)
    now = state.now()
    fork = RepositoryRecord(
        id=state.new_id(), created_at=now, updated_at=now, pushed_at=repository.pushed_at, owner=owner.id, name=wanted,
        default_branch=repository.default_branch, description=repository.description, homepage=repository.homepage,
        private=repository.private, has_issues=False, parent=repository.id,
        permissions=() if owner.id == user.id else ((user.id, "admin"),),
    )  # fmt: skip
    state.create(user, fork)
    source = session.git(repository)
    folder = session.hub.git_folder(fork.id)
    GitRepository.create(folder, borrowed=source.path)
    only = f"{BRANCH}{repository.default_branch}" if default_branch_only else ""
    lines = [f"{sha} {ref}\n" for ref, sha in sorted(_shared_refs(source)) if not only or ref == only]
    (folder / "packed-refs").write_text("".join(lines))
    return fork


def _name_beside(session: HubSession, owner: UserRecord, name: str) -> str:
    """Return a name, with a number where the owner has a repository of that name."""
    taken_names = {record.name.casefold() for record in session.state.where(RepositoryRecord, owner=owner.id)}
    number = next(number for number in range(len(taken_names) + 1) if _numbered(name, number) not in taken_names)
    return f"{name}-{number}" if number else name


def _numbered(name: str, number: int) -> str:
    return (f"{name}-{number}" if number else name).casefold()


def _shared_refs(git: GitRepository) -> Iterator[tuple[str, str]]:
    yield from ((ref, sha) for ref, sha in git.refs().items() if ref.startswith((BRANCH, TAG)))


@dataclass(frozen=True, slots=True)
class UpstreamSync:
    """Result of bringing a fork's branch up to date: `kind` is none, fast-forward or merge."""

    kind: str
    upstream: str


def merge_upstream(session: HubSession, repository: RepositoryRecord, branch: str) -> UpstreamSync:
    """Bring a branch of a fork up to date with the same branch of its parent.

    Raises:
        HubError: 422, it is no fork, or the parent has no such branch; 409, they conflict.
    """
    session.require(repository, "write")
    parent = session.state.get(RepositoryRecord, repository.parent)
    if parent is None:
        raise HubError(422, "Repository is not a fork")
    theirs = session.git(parent).branch(branch)
    git = session.git(repository)
    ours = git.branch(branch)
    if theirs is None or ours is None:
        raise HubError(422, f"The branch {branch} does not exist in the fork and its upstream")
    upstream = f"{session.state.need(UserRecord, parent.owner).login}:{branch}"
    fetch(git, session.git(parent), theirs)
    if git.is_ancestor(theirs, ours):
        return UpstreamSync("none", upstream)
    if git.is_ancestor(ours, theirs):
        change_ref(session, repository, f"{BRANCH}{branch}", theirs)
        return UpstreamSync("fast-forward", upstream)
    tree = merged_tree(git, ours, theirs)
    if tree is None:
        raise HubError(409, "There are merge conflicts")
    signature = session.signature()
    message = f"Merge branch '{upstream}' into {branch}"
    change_ref(
        session,
        repository,
        f"{BRANCH}{branch}",
        write_commit(git, tree, [ours, theirs], message, signature, signature),
    )
    return UpstreamSync("merge", upstream)
