"""Issues: creating, editing, closing, reopening, locking, deleting. Editing and locking are of pull requests too."""

from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.operations.assignees import set_assignees
from scylla_gha.hub.operations.labels import set_labels
from scylla_gha.hub.operations.milestones import set_milestone
from scylla_gha.hub.operations.subjects import (
    ISSUES_DISABLED,
    MOST_CHARACTERS,
    NO_RIGHTS,
    may_triage,
    repository_of_subject,
    require_edit,
    require_writable,
)
from scylla_gha.hub.operations.timeline import add_event, add_references
from scylla_gha.hub.records import (
    CommentRecord,
    EventRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    RepositoryRecord,
)

LONGEST_TITLE: Final = 256
NO_MILESTONE: Final = 0
ClosingReason = Literal["completed", "not_planned", "duplicate"]
LockReason = Literal["off-topic", "too heated", "resolved", "spam"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectChanges:
    """Fields of an issue or pull request; None stays as it is. Labels, users and milestone are named by id."""

    title: str | None = None
    body: str | None = None
    labels: tuple[int, ...] | None = None
    assignees: tuple[int, ...] | None = None
    milestone: int | None = None


def check_text(title: str | None, body: str | None, resource: str = "Issue") -> None:
    """Refuse a title that is empty, or a title or body that is too long.

    Raises:
        HubError: 422.
    """
    if title is not None and not title.strip():
        raise invalid(resource, "title", "missing_field")
    if len(title or "") > LONGEST_TITLE:
        raise invalid(resource, "title", "custom", f"title is too long (maximum is {LONGEST_TITLE} characters)")
    if len(body or "") > MOST_CHARACTERS:
        raise invalid(resource, "body", "custom", f"body is too long (maximum is {MOST_CHARACTERS} characters)")


def check_new_issue(session: HubSession, repository: RepositoryRecord, title: str, body: str | None) -> None:
    """Refuse a new issue before anything is written.

    Raises:
        HubError: 401, 403 or 404; 410 if issues are disabled; 422 if title or body is wrong.
    """
    require_writable(session, repository)
    if not repository.has_issues:
        raise HubError(410, ISSUES_DISABLED)
    check_text(title, body)


def create_issue(session: HubSession, repository: RepositoryRecord, changes: SubjectChanges) -> IssueRecord:
    """Open an issue. Labels, assignees and milestone of who has not the role triage are dropped, as GitHub does.

    See https://docs.github.com/rest/issues/issues#create-an-issue

    Raises:
        HubError: 410 if issues are disabled; 422 if a field is wrong.
    """
    check_new_issue(session, repository, changes.title or "", changes.body)
    _check_metadata(session, repository, changes)
    state, now = session.state, session.state.now()
    record = IssueRecord(
        id=state.new_id(), created_at=now, updated_at=now, repository=repository.id,
        number=state.next_number(repository), title=(changes.title or "").strip(), body=changes.body or None,
        author=session.user.id,
    )  # fmt: skip
    state.create(session.user, record)
    if may_triage(session, record):
        set_metadata(session, record, changes)
    add_references(session, record, record.body)
    return state.need(IssueRecord, record.id)


def set_metadata(session: HubSession, subject: IssueRecord, changes: SubjectChanges) -> None:
    """Set labels, assignees and milestone.

    Raises:
        HubError: 403 if the user has not the role triage.
    """
    if changes.labels is not None:
        set_labels(session, subject, changes.labels)
    if changes.assignees is not None:
        set_assignees(session, subject, changes.assignees)
    if changes.milestone is not None:
        set_milestone(session, subject, session.state.get(MilestoneRecord, changes.milestone))


def _check_metadata(session: HubSession, repository: RepositoryRecord, changes: SubjectChanges) -> None:
    """Refuse labels and a milestone of another repository, before anything is written."""
    labels = [session.state.get(LabelRecord, id_) for id_ in changes.labels or ()]
    if any(label is None or label.repository != repository.id for label in labels):
        raise invalid("Issue", "labels")
    milestone = session.state.get(MilestoneRecord, changes.milestone)
    if changes.milestone and (milestone is None or milestone.repository != repository.id):
        raise invalid("Issue", "milestone")


def edit_subject(session: HubSession, subject: IssueRecord, changes: SubjectChanges) -> None:
    """Change fields of an issue or pull request. Labels and the like of who has not the role triage are dropped.

    See https://docs.github.com/rest/issues/issues#update-an-issue

    Raises:
        HubError: 403 if the user is neither the author nor has the role triage; 422 if a field is wrong.
    """
    require_edit(session, subject)
    check_text(changes.title, changes.body)
    _check_metadata(session, repository_of_subject(session, subject), changes)
    before = session.state.subject_by_id(subject.id) or subject
    fields: dict[str, object] = {} if changes.title is None else {"title": changes.title.strip()}
    if changes.body is not None:
        fields["body"] = changes.body or None
    after = session.state.update(session.user, before, **fields)
    if after.title != before.title:
        add_event(session, subject, "renamed", from_=before.title, to=after.title)
    if after.body != before.body:
        add_references(session, subject, after.body)
    if may_triage(session, subject):
        set_metadata(session, subject, changes)


def close_issue(
    session: HubSession,
    issue: IssueRecord,
    reason: ClosingReason = "completed",
    duplicate_of: IssueRecord | None = None,
) -> None:
    """Close an issue, as its author or with the role triage; nothing is done if it is closed.

    Raises:
        HubError: 403; 422 if it is to be a duplicate of itself.
    """
    require_edit(session, issue)
    if duplicate_of is not None and duplicate_of.id == issue.id:
        raise invalid("Issue", "duplicate_issue_id", "custom", "issue cannot be a duplicate of itself")
    if issue.state == "open":
        record_closing(session, issue, reason)
        if reason == "duplicate" and duplicate_of is not None:
            session.state.update(session.user, issue, duplicate_of=duplicate_of.id)
            add_event(session, issue, "marked_as_duplicate", canonical=duplicate_of.id)


def record_closing(
    session: HubSession,
    issue: IssueRecord,
    reason: ClosingReason = "completed",
    *,
    pull: int | None = None,
    commit: str | None = None,
) -> None:
    """Close an issue without asking for rights: by a pull request that was merged, or by a commit."""
    now = session.state.now()
    session.state.update(session.user, issue, state="closed", state_reason=reason, closed_at=now,
                         closed_by=session.user.id)  # fmt: skip
    add_event(session, issue, "closed", reason=reason, pull=pull, commit=commit)


def reopen_issue(session: HubSession, issue: IssueRecord) -> None:
    """Open a closed issue again, with the role triage, or as the author who closed it.

    Raises:
        HubError: 403.
    """
    require_edit(session, issue)
    if issue.closed_by not in (None, session.user.id) and not may_triage(session, issue):
        raise HubError(403, NO_RIGHTS)
    if issue.state == "closed":
        canonical = issue.duplicate_of
        session.state.update(session.user, issue, state="open", state_reason="reopened", closed_at=None,
                             closed_by=None, duplicate_of=None)  # fmt: skip
        add_event(session, issue, "reopened")
        if canonical is not None:
            add_event(session, issue, "unmarked_as_duplicate", canonical=canonical)


def delete_issue(session: HubSession, issue: IssueRecord) -> None:
    """Remove an issue with its comments, as an administrator; its number is not taken again.

    See https://docs.github.com/issues/tracking-your-work-with-issues/administering-issues/deleting-an-issue

    Raises:
        HubError: 403.
    """
    state = session.state
    session.require(repository_of_subject(session, issue), "admin", NO_RIGHTS)
    for comment in state.where(CommentRecord, subject=issue.id):
        state.delete(session.user, comment)
    sources = {("source", str(issue.id)), ("canonical", str(issue.id))}
    for event in state.where(EventRecord):
        if event.subject == issue.id or sources & set(event.data):
            state.delete(session.user, event)
    for duplicate in state.where(IssueRecord, duplicate_of=issue.id):
        state.update(session.user, duplicate, duplicate_of=None, updated_at=duplicate.updated_at)
    state.delete(session.user, issue)


def lock_subject(session: HubSession, subject: IssueRecord, reason: LockReason | None = None) -> None:
    """Lock a conversation, with write access.

    See https://docs.github.com/rest/issues/issues#lock-an-issue

    Raises:
        HubError: 403.
    """
    session.require(repository_of_subject(session, subject), "write", NO_RIGHTS)
    if not subject.locked:
        session.state.update(session.user, subject, locked=True, lock_reason=reason)
        add_event(session, subject, "locked", reason=reason)


def unlock_subject(session: HubSession, subject: IssueRecord) -> None:
    """Unlock a conversation, with write access.

    Raises:
        HubError: 403.
    """
    session.require(repository_of_subject(session, subject), "write", NO_RIGHTS)
    if subject.locked:
        session.state.update(session.user, subject, locked=False, lock_reason=None)
        add_event(session, subject, "unlocked")
