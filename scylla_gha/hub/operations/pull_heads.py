"""Effects of a changed branch on pull requests: heads follow, approvals go stale, bases are changed, some close."""

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.closing_keywords import close_issues_of_commits, close_issues_of_pull
from scylla_gha.hub.operations.protection import protection_of
from scylla_gha.hub.operations.pull_facts import base_sha, head_sha, repository_of
from scylla_gha.hub.operations.pull_states import mark_closed
from scylla_gha.hub.operations.pulls import follow_head, open_pulls
from scylla_gha.hub.operations.review_requests import request_code_owners
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.operations.workflow_events import start_for_pull
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, ReviewRecord


def branch_changed(
    session: HubSession, repository: RepositoryRecord, branch: str, old: str | None, new: str | None
) -> None:
    """Do what follows from a branch that was created (`old` None), moved, or deleted (`new` None)."""
    if new is None:
        _head_deleted(session, repository, branch, old)
        _base_deleted(session, repository, branch, old)
    elif old is not None:
        for pull in _from(session, repository, branch):
            if pull.state == "open":
                _head_moved(session, pull, old, new)
        _base_moved(session, repository, branch, old, new)


def _from(session: HubSession, repository: RepositoryRecord, branch: str) -> list[PullRequestRecord]:
    return session.state.where(PullRequestRecord, head_repository=repository.id, head_ref=branch)


def _head_deleted(session: HubSession, repository: RepositoryRecord, branch: str, old: str | None) -> None:
    """Close the open pull requests of a deleted head branch; closed ones note it if their head was its tip.

    See https://docs.github.com/pull-requests/collaborating-with-pull-requests/proposing-changes-to-your-work-with-pull-requests/creating-and-deleting-branches-within-your-repository
    """
    for pull in _from(session, repository, branch):
        if pull.state == "open" or head_sha(session, pull) == old:
            mark_closed(session, pull)
            add_event(session, pull, "head_ref_deleted", ref=branch)


def _base_deleted(session: HubSession, repository: RepositoryRecord, branch: str, old: str | None) -> None:
    """Close the pull requests into a deleted branch."""
    for pull in session.state.where(PullRequestRecord, repository=repository.id, base_ref=branch, state="open"):
        add_event(session, pull, "base_ref_deleted", ref=branch)
        mark_closed(session, pull, old)


def retarget_stacked(session: HubSession, merged: PullRequestRecord) -> None:
    """Give the pull requests into the head of a merged one its base, before GitHub deletes that branch by itself.

    A branch that a client deletes, by REST or by a push, closes them instead: https://github.com/cli/cli/issues/1168.
    See the page of `_head_deleted`, "Deleting a branch used for a pull request".
    """
    repository, base = repository_of(session, merged), merged.base_ref
    stacked = session.state.where(PullRequestRecord, repository=repository.id, base_ref=merged.head_ref, state="open")
    for pull in stacked:
        if not open_pulls(session, repository, base, pull.head_repository, pull.head_ref):
            add_event(session, pull, "automatic_base_change_succeeded", from_=merged.head_ref, to=base)
            session.state.update(session.user, pull, base_ref=base)


def _head_moved(session: HubSession, pull: PullRequestRecord, old: str, new: str) -> None:
    """Let an open pull request follow its branch; it is closed if no commit of its own is left."""
    source = session.state.need(RepositoryRecord, pull.head_repository)
    forced = not session.git(source).is_ancestor(old, new)
    follow_head(session, pull, new)
    session.state.update(session.user, pull, updated_at=session.state.now())
    if forced:
        add_event(session, pull, "head_ref_force_pushed", from_=old, to=new)
    base = base_sha(session, pull)
    if session.git(pull.repository).is_ancestor(new, base):
        mark_closed(session, pull)
        return
    _dismiss_stale_reviews(session, pull)
    start_for_pull(session, pull, "synchronize")
    request_code_owners(session, pull)


def _dismiss_stale_reviews(session: HubSession, pull: PullRequestRecord) -> None:
    """Dismiss approvals of another diff, where the base's protection says so; a push that leaves it equal keeps them.

    See https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches#require-pull-request-reviews-before-merging
    """
    rule = protection_of(session, repository_of(session, pull), pull.base_ref)
    if rule is None or not rule.dismiss_stale_reviews:
        return
    for review in session.state.where(ReviewRecord, pull=pull.id, state="APPROVED"):
        if _diff(session, pull, review.commit) != _diff(session, pull, head_sha(session, pull)):
            add_event(session, pull, "review_dismissed", review=review.id, state="approved")
            session.state.update(session.user, review, state="DISMISSED")


def _diff(session: HubSession, pull: PullRequestRecord, commit: str) -> list[tuple[str, str, str | None]]:
    """Return what a pull request changes if a commit is its head: path, kind of change and hunks of each file."""
    git, base = session.git(pull.repository), base_sha(session, pull)
    files = git.changed_files(git.merge_base(base, commit) or base, commit)
    return [(file.path, file.status, file.patch) for file in files]


def _base_moved(session: HubSession, repository: RepositoryRecord, branch: str, old: str, new: str) -> None:
    """Mark the pull requests as merged whose commits came into their base, and close what messages want closed.

    See https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/about-pull-request-merges#indirect-merges
    """
    git = session.git(repository)
    for pull in session.state.where(PullRequestRecord, repository=repository.id, base_ref=branch, state="open"):
        head = head_sha(session, pull)
        if git.is_ancestor(head, new) and not git.is_ancestor(head, old):
            mark_merged(session, pull, old, _bringing(session, repository, old, new, head))
            close_issues_of_pull(session, pull)
    if branch == repository.default_branch:
        commits = git.commits_between(old, new)
        close_issues_of_commits(session, repository, [commit.sha for commit in commits])


def _bringing(session: HubSession, repository: RepositoryRecord, old: str, new: str, head: str) -> str:
    """Return the first commit of a push that contains a head, along first parents."""
    git = session.git(repository)
    shas = git.text("rev-list", "--first-parent", "--reverse", f"{old}..{new}").split()
    return next((sha for sha in shas if git.is_ancestor(head, sha)), new)


def mark_merged(session: HubSession, pull: PullRequestRecord, base: str, commit: str) -> PullRequestRecord:
    """Close a pull request as merged by a commit; `base` is the base's tip before the merge."""
    state, user = session.state, session.user
    add_event(session, pull, "merged", commit=commit)
    add_event(session, pull, "closed")
    now = state.now()
    return state.update(user, pull, state="closed", closed_at=now, closed_by=user.id, closed_base=base, merged_at=now,
                        merged_by=user.id, merge_commit=commit)  # fmt: skip
