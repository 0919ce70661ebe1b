"""Mutations of issues and of comments."""

from collections.abc import Mapping
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.graphql.mutations import mutation, node
from scylla_gha.hub.operations.comments import add_comment, delete_comment, edit_comment
from scylla_gha.hub.operations.issues import (
    NO_MILESTONE,
    ClosingReason,
    LockReason,
    SubjectChanges,
    close_issue,
    create_issue,
    delete_issue,
    edit_subject,
    lock_subject,
    reopen_issue,
    unlock_subject,
)
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    RepositoryRecord,
    UserRecord,
)

SUBJECTS: Final[tuple[type[IssueRecord], ...]] = (IssueRecord, PullRequestRecord)
_REASONS: Final[Mapping[str, ClosingReason]] = {
    "COMPLETED": "completed",
    "NOT_PLANNED": "not_planned",
    "DUPLICATE": "duplicate",
}
_LOCK_REASONS: Final[Mapping[str, LockReason]] = {
    "OFF_TOPIC": "off-topic",
    "RESOLVED": "resolved",
    "SPAM": "spam",
    "TOO_HEATED": "too heated",
}
_GAPS: Final = ("issueTypeId", "issueFields", "parentIssueId", "projectIds")


def _without_gaps(values: Mapping[str, Any], name: str) -> None:
    """Refuse what the hub has not: types, fields, parents and projects of issues."""
    for field in _GAPS:
        if values.get(field):
            raise ContractGapError(f"{name}.{field}")


def _same(session: HubSession, record: IssueRecord) -> IssueRecord:
    """Return an issue or pull request as it is after a write."""
    return session.state.subject_by_id(record.id) or record


def changes_of(session: HubSession, values: Mapping[str, Any]) -> SubjectChanges:
    """Return the fields that an input changes; its ids have to be those of what the user may read."""
    labels, users = values.get("labelIds"), values.get("assigneeIds")
    milestone = NO_MILESTONE if "milestoneId" in values else None
    if values.get("milestoneId"):
        milestone = node(session, values["milestoneId"], MilestoneRecord).id
    body = values.get("body")
    return SubjectChanges(
        title=values.get("title"),
        body="" if body is None and "body" in values else body,
        labels=None if labels is None else tuple(node(session, id_, LabelRecord).id for id_ in labels),
        assignees=None if users is None else tuple(node(session, id_, UserRecord).id for id_ in users),
        milestone=milestone,
    )


@mutation("createIssue")
def _create_issue(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    _without_gaps(values, "CreateIssueInput")
    repository = node(session, values["repositoryId"], RepositoryRecord)
    return {"issue": create_issue(session, repository, changes_of(session, values))}


@mutation("updateIssue")
def _update_issue(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    _without_gaps(values, "UpdateIssueInput")
    issue = node(session, values["id"], IssueRecord)
    edit_subject(session, issue, changes_of(session, values))
    if values.get("state") == "CLOSED":
        close_issue(session, issue)
    elif values.get("state") == "OPEN":
        reopen_issue(session, issue)
    return {"issue": _same(session, issue), "actor": session.user}


@mutation("closeIssue")
def _close_issue(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    issue = node(session, values["issueId"], IssueRecord)
    canonical = values.get("duplicateIssueId")
    reason = _REASONS[values.get("stateReason") or ("DUPLICATE" if canonical else "COMPLETED")]
    close_issue(session, issue, reason, node(session, canonical, IssueRecord) if canonical else None)
    return {"issue": _same(session, issue)}


@mutation("reopenIssue")
def _reopen_issue(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    issue = node(session, values["issueId"], IssueRecord)
    reopen_issue(session, issue)
    return {"issue": _same(session, issue)}


@mutation("deleteIssue")
def _delete_issue(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    issue = node(session, values["issueId"], IssueRecord)
    delete_issue(session, issue)
    return {"repository": session.state.need(RepositoryRecord, issue.repository)}


@mutation("addComment")
def _add_comment(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["subjectId"], *SUBJECTS)
    comment = add_comment(session, subject, values["body"])
    edge = {"node": comment, "cursor": str(comment.id)}
    return {"commentEdge": edge, "timelineEdge": edge, "subject": _same(session, subject)}


@mutation("updateIssueComment")
def _update_comment(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    comment = _comment(session, values["id"])
    return {"issueComment": edit_comment(session, comment, values["body"])}


@mutation("deleteIssueComment")
def _delete_comment(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    delete_comment(session, _comment(session, values["id"]))
    return {}


def _comment(session: HubSession, id_: str) -> CommentRecord:
    comment = node(session, id_, CommentRecord)
    if comment.thread is not None:
        raise HubError(404, f"Could not resolve to IssueComment node with the global id of '{id_}'")
    return comment


@mutation("lockLockable")
def _lock(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["lockableId"], *SUBJECTS)
    lock_subject(session, subject, _LOCK_REASONS.get(values.get("lockReason") or ""))
    return {"lockedRecord": _same(session, subject), "actor": session.user}


@mutation("unlockLockable")
def _unlock(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["lockableId"], *SUBJECTS)
    unlock_subject(session, subject)
    return {"unlockedRecord": _same(session, subject), "actor": session.user}
