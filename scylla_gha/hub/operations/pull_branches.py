"""Branches that GitHub writes for a pull request: the base merged into its head, and the revert of a merged one."""

from typing import Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_objects import fetch, merged_tree, rebased, write_commit
from scylla_gha.hub.operations.merging import web_flow
from scylla_gha.hub.operations.pull_facts import base_sha, head_sha, repository_of
from scylla_gha.hub.operations.pulls import create_pull
from scylla_gha.hub.operations.refs import change_ref
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord


def update_branch(
    session: HubSession,
    pull: PullRequestRecord,
    *,
    method: Literal["merge", "rebase"] = "merge",
    expected_head: str | None = None,
) -> PullRequestRecord:
    """Bring the commits of the base into the head of a pull request.

    See https://docs.github.com/rest/pulls/pulls#update-a-pull-request-branch

    Raises:
        HubError: 403 without write access to the head; 422 on a conflict, a stale head, or if there is nothing to do.
    """
    source = session.state.get(RepositoryRecord, pull.head_repository)
    session.require(repository_of(session, pull), "read")
    if source is None:
        raise HubError(422, "The repository of the head branch was deleted.")
    session.require(source, "write")
    git, base, head = session.git(pull.repository), base_sha(session, pull), head_sha(session, pull)
    if expected_head is not None and expected_head != head:
        raise HubError(422, "expected head sha didn\u2019t match current head ref.")
    if pull.state == "closed":
        raise HubError(422, "Pull request is closed.")
    if git.is_ancestor(base, head):
        raise HubError(422, "There are no new commits on the base branch.")
    commit = _updated(session, pull, method)
    if commit is None:
        raise HubError(422, "merge conflict between base and head")
    if source.id != pull.repository:
        fetch(session.git(source), git, commit)
    change_ref(session, source, f"refs/heads/{pull.head_ref}", commit, force=method == "rebase")
    return session.state.need(PullRequestRecord, pull.id)


def _updated(session: HubSession, pull: PullRequestRecord, method: str) -> str | None:
    """Store the new head and return it; None if base and head conflict."""
    git, base, head = session.git(pull.repository), base_sha(session, pull), head_sha(session, pull)
    if method == "rebase":
        return rebased(git, base, head, session.signature())
    tree = merged_tree(git, head, base)
    if tree is None:
        return None
    message = f"Merge branch '{pull.base_ref}' into {pull.head_ref}"
    return write_commit(git, tree, [head, base], message, session.signature(), web_flow(session))


def revert_pull(
    session: HubSession,
    pull: PullRequestRecord,
    *,
    title: str | None = None,
    body: str | None = None,
    draft: bool = False,
) -> PullRequestRecord:
    """Open a pull request that takes back what a merged one changed.

    See https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/reverting-a-pull-request

    Raises:
        HubError: 403 without write access; 422 if it is not merged, or later changes conflict.
    """
    repository = repository_of(session, pull)
    session.require(repository, "write")
    git, tip = session.git(repository), session.git(repository).branch(pull.base_ref)
    if pull.merge_commit is None or tip is None:
        raise HubError(422, "Pull request must be merged before it can be reverted.")
    tree = merged_tree(git, tip, base_sha(session, pull), base=pull.merge_commit)
    if tree is None:
        raise HubError(422, "This pull request could not be reverted automatically, since later changes conflict.")
    headline = f'Revert "{pull.title}"'
    message = f"{headline}\n\nThis reverts commit {pull.merge_commit}."
    commit = write_commit(git, tree, [tip], message, session.signature(), web_flow(session))
    branch = _free_branch(session, repository, f"revert-{pull.number}-{pull.head_ref}")
    change_ref(session, repository, f"refs/heads/{branch}", commit)
    reverted = f"Reverts {session.state.full_name(repository)}#{pull.number}"
    return create_pull(session, repository, head=branch, base=pull.base_ref, title=title or headline,
                       body=reverted if body is None else body, draft=draft)  # fmt: skip


def _free_branch(session: HubSession, repository: RepositoryRecord, name: str) -> str:
    branches = session.git(repository).branches()
    numbers = (f"{name}-{number}" for number in range(1, len(branches) + 2))
    return name if name not in branches else next(branch for branch in numbers if branch not in branches)
