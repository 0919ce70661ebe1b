"""Issues: what pull requests do not have."""

from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import constants, field
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.query import may_read
from scylla_gha.hub.graphql.sorting import matching
from scylla_gha.hub.operations.assignees import assignable_users
from scylla_gha.hub.operations.closing_keywords import pulls_that_close
from scylla_gha.hub.operations.subjects import repository_of_subject
from scylla_gha.hub.records import EventRecord, IssueRecord, PullRequestRecord, RepositoryRecord, UserRecord

constants("Issue", issueType=None, trackedIssuesCount=0, parent=None, isPinned=False,
          subIssuesSummary={"total": 0, "completed": 0, "percentCompleted": 0})  # fmt: skip
no_items("Issue.subIssues", "Issue.linkedBranches", "Issue.trackedIssues", "Issue.trackedInIssues", "Issue.blockedBy",
         "Issue.blocking", "Repository.issueTypes")  # fmt: skip


@field("Issue.stateReason")
def _state_reason(issue: IssueRecord, _session: HubSession, enableDuplicate: bool | None = None) -> str | None:  # noqa: N803 GitHub's name
    reason = issue.state_reason
    if reason == "duplicate" and not enableDuplicate:
        return "NOT_PLANNED"
    return reason.upper() if reason else None


@field("Issue.duplicateOf")
def _duplicate_of(issue: IssueRecord, session: HubSession) -> IssueRecord | None:
    return session.state.subject_by_id(issue.duplicate_of) if issue.duplicate_of else None


@connection("Issue.closedByPullRequestsReferences")
def _closed_by(
    issue: IssueRecord,
    session: HubSession,
    *,
    includeClosedPrs: bool | None = None,  # noqa: N803 GitHub's name
    orderByState: Any = None,  # noqa: ANN401, N803, ARG001 GitHub's name
    userLinkedOnly: bool | None = None,  # noqa: N803 GitHub's name
) -> list[PullRequestRecord]:
    if userLinkedOnly:
        return []  # links by hand are not recorded
    closed_by = session.state.where(EventRecord, subject=issue.id, event="closed")
    ids = [int(value) for event in closed_by for name, value in event.data if name == "pull"]
    closers = [pull for id_ in ids if (pull := session.state.get(PullRequestRecord, id_)) is not None]
    pulls = {pull.id: pull for pull in (*closers, *pulls_that_close(session, issue))}
    readable = [pull for pull in pulls.values() if may_read(session, pull)]
    wanted = [pull for pull in readable if includeClosedPrs or pull.state == "open" or pull.merged_at is not None]
    return sorted(wanted, key=lambda pull: pull.number)


@connection("Issue.suggestedActors", "PullRequest.suggestedActors", "Repository.suggestedActors")
def _suggested(
    parent: IssueRecord | RepositoryRecord, session: HubSession, *, query: str | None = None,
    capabilities: object = None,  # noqa: ARG001 who may be assigned may also be an author
) -> list[UserRecord]:  # fmt: skip
    repository = parent if isinstance(parent, RepositoryRecord) else repository_of_subject(session, parent)
    return matching(assignable_users(session, repository), query, "login", "name")
