"""States of pull requests: closed, open again, draft, ready for review."""

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.operations.pull_facts import base_sha, head_sha, repository_of
from scylla_gha.hub.operations.pulls import bring, follow_head, open_pulls, require_edit_of_pull
from scylla_gha.hub.operations.review_requests import request_code_owners
from scylla_gha.hub.operations.subjects import NO_RIGHTS, may_edit, require_writable
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.operations.workflow_events import start_for_pull
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord


def close_pull(session: HubSession, pull: PullRequestRecord) -> PullRequestRecord:
    """Close a pull request without a merge; nothing is done to a closed one.

    Raises:
        HubError: 403, the user is neither its author nor has the role triage.
    """
    require_writable(session, repository_of(session, pull))
    if not may_edit(session, pull):
        raise HubError(403, NO_RIGHTS)
    return mark_closed(session, pull)


def mark_closed(session: HubSession, pull: PullRequestRecord, base: str | None = None) -> PullRequestRecord:
    """Close a pull request, by whoever acts; `base` is the base's last tip if its branch is gone."""
    if pull.state == "closed":
        return pull
    state, user = session.state, session.user
    base = base or base_sha(session, pull)
    add_event(session, pull, "closed")
    return state.update(user, pull, state="closed", closed_at=state.now(), closed_by=user.id, closed_base=base)


def reopen_pull(session: HubSession, pull: PullRequestRecord) -> PullRequestRecord:
    """Reopen a pull request that was closed without a merge; nothing is done to an open one.

    See https://docs.github.com/rest/pulls/pulls#update-a-pull-request

    Raises:
        HubError: 403; 422 if it was merged, or its branches are not what they were.
    """
    require_writable(session, repository_of(session, pull))
    if not may_edit(session, pull):
        raise HubError(403, NO_RIGHTS)
    if pull.state == "open":
        return pull
    if (reason := _why_closed(session, pull)) is not None:
        raise invalid("PullRequest", "state", "custom", f"state cannot be changed. {reason}")
    tip = session.git(pull.head_repository).branch(pull.head_ref)
    add_event(session, pull, "reopened")
    changed = session.state.update(session.user, pull, state="open", closed_at=None, closed_by=None, closed_base=None)
    if tip is not None:
        follow_head(session, changed, tip)
    start_for_pull(session, changed, "reopened")
    return changed


def change_pull_state(session: HubSession, pull: PullRequestRecord, state: str) -> PullRequestRecord:
    """Close a pull request, or open it again (`state` "open").

    Raises:
        HubError: as `close_pull` and `reopen_pull` do.
    """
    return reopen_pull(session, pull) if state == "open" else close_pull(session, pull)


def _why_closed(session: HubSession, pull: PullRequestRecord) -> str | None:
    """Return why a pull request cannot be opened again, in GitHub's words.

    Commits on top of the closed head are no obstacle, says GitHub's answer in
    https://github.com/isaacs/github/issues/361: the branch has to contain the head that was closed.
    """
    repository = repository_of(session, pull)
    source = session.state.get(RepositoryRecord, pull.head_repository)
    if pull.merged_at is not None:
        return "The pull request cannot be reopened."
    base_tip = session.git(repository).branch(pull.base_ref)
    if base_tip is None:
        return f"The {pull.base_ref} branch has been deleted."
    tip = None if source is None else session.git(source).branch(pull.head_ref)
    if source is None or tip is None:
        return f"The {pull.head_ref} branch has been deleted."
    if open_pulls(session, repository, pull.base_ref, source.id, pull.head_ref):
        return f"There is already an open pull request from {pull.head_ref} to {pull.base_ref}."
    bring(session, repository, source, tip)
    git = session.git(repository)
    if not git.is_ancestor(head_sha(session, pull), tip):
        return f"The {pull.head_ref} branch was force-pushed or recreated."
    return f"There are no new commits on the {pull.head_ref} branch." if git.is_ancestor(tip, base_tip) else None


def set_draft(session: HubSession, pull: PullRequestRecord, *, draft: bool) -> PullRequestRecord:
    """Turn a pull request into a draft, or mark it as ready for review.

    Raises:
        HubError: 403; 422 if it is closed.
    """
    require_edit_of_pull(session, pull)
    if pull.draft == draft:
        return pull
    if pull.state == "closed":
        raise HubError(422, "Pull request is closed.")
    add_event(session, pull, "convert_to_draft" if draft else "ready_for_review")
    return request_code_owners(session, session.state.update(session.user, pull, draft=draft))
