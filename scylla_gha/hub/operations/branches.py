"""Merges of branches without a pull request, and new names of branches."""

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_objects import merged_tree, write_commit
from scylla_gha.hub.git_store import NO_COMMIT, GitRepository, is_ref_name
from scylla_gha.hub.operations.git_data import check_message
from scylla_gha.hub.operations.merging import web_flow
from scylla_gha.hub.operations.protection import protection_of
from scylla_gha.hub.operations.pull_states import mark_closed
from scylla_gha.hub.operations.refs import BRANCH, change_ref, set_default_branch
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.records import ProtectionRecord, PullRequestRecord, RepositoryRecord


def merge_branch(
    session: HubSession, repository: RepositoryRecord, base: str, head: str, message: str | None
) -> str | None:
    """Merge a revision into a branch, and return the merge commit; None if the branch contains it already.

    Raises:
        HubError: the user may not; 404, one of them does not exist; 409, they conflict.
    """
    session.require(repository, "write")
    git = session.git(repository)
    ours, theirs = git.branch(base), git.resolve(head)
    if ours is None:
        raise HubError(404, "Base does not exist")
    if theirs is None:
        raise HubError(404, "Head does not exist")
    if git.is_ancestor(theirs, ours):
        return None
    tree = merged_tree(git, ours, theirs)
    if tree is None:
        raise HubError(409, "Merge conflict")
    text = check_message(message or f"Merge {head} into {base}")
    sha = write_commit(git, tree, [ours, theirs], text, session.signature(), web_flow(session))
    change_ref(session, repository, f"{BRANCH}{base}", sha)
    return sha


def rename_branch(session: HubSession, repository: RepositoryRecord, old: str, new: str) -> None:
    """Give a branch a new name. Open pull requests into it and its protection follow; those from it are closed.

    See https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-branches-in-your-repository/renaming-a-branch

    Raises:
        HubError: the user may not; 404, there is no such branch; 422, the new name is invalid or not free.
    """
    is_guarded = old == repository.default_branch or protection_of(session, repository, old) is not None
    session.require(repository, "admin" if is_guarded else "write")
    git, state, user = session.git(repository), session.state, session.user
    tip = git.branch(old)
    if tip is None:
        raise HubError(404, "Branch not found")
    _move(git, old, new, tip)
    state.note_push(user, repository, f"{BRANCH}{new}", f"{NO_COMMIT} {tip}")
    state.note_push(user, repository, f"{BRANCH}{old}", f"{tip} {NO_COMMIT}")
    if old == repository.default_branch:
        set_default_branch(session, repository, new)
    _follow(session, repository, old, new)


def _move(git: GitRepository, old: str, new: str, tip: str) -> None:
    """Move the ref; the old one goes first, since the new name may be below it."""
    if not is_ref_name(f"{BRANCH}{new}") or git.branch(new) is not None:
        raise HubError(422, f"Cannot rename branch to {new[:250]!r}: the name is invalid or already exists.")
    if not git.set_ref(f"{BRANCH}{old}", NO_COMMIT, tip):
        raise HubError(409, "Reference update failed")
    if not git.set_ref(f"{BRANCH}{new}", tip, NO_COMMIT):
        git.set_ref(f"{BRANCH}{old}", tip)
        raise HubError(422, f"Cannot rename branch to {new[:250]!r}: another one stands in its way.")


def _follow(session: HubSession, repository: RepositoryRecord, old: str, new: str) -> None:
    """Give open pull requests into a branch and its protection its new name, and close those from it."""
    state, user = session.state, session.user
    for pull in state.where(PullRequestRecord, repository=repository.id, base_ref=old, state="open"):
        state.update(user, pull, base_ref=new)
    for pull in state.where(PullRequestRecord, head_repository=repository.id, head_ref=old, state="open"):
        mark_closed(session, pull)
        add_event(session, pull, "head_ref_deleted", ref=old)
    for rule in state.where(ProtectionRecord, repository=repository.id, pattern=old):
        state.update(user, rule, pattern=new)
