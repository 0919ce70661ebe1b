"""Addresses of things on the web site, as paths (`resourcePath`) and whole (`url`)."""

from urllib.parse import quote

from scylla_gha.hub.actions_records import RunRecord, WorkflowRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import field
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    ReleaseRecord,
    RepositoryRecord,
    ReviewRecord,
    UserRecord,
)

_Addressed = (
    UserRecord | RepositoryRecord | IssueRecord | CommentRecord | ReviewRecord | LabelRecord | MilestoneRecord
    | ReleaseRecord | RunRecord | WorkflowRecord
)  # fmt: skip


def repository_path(session: HubSession, repository: RepositoryRecord | int) -> str:
    """Return the path of a repository, /owner/name."""
    record = session.state.need(RepositoryRecord, repository) if isinstance(repository, int) else repository
    return f"/{session.state.full_name(record)}"


def subject_path(session: HubSession, subject: IssueRecord) -> str:
    """Return the path of an issue or a pull request."""
    kind = "pull" if isinstance(subject, PullRequestRecord) else "issues"
    return f"{repository_path(session, subject.repository)}/{kind}/{subject.number}"


@field(*(f"{kind}.resourcePath" for kind in (
    "User", "Bot", "Organization", "Repository", "Issue", "PullRequest", "IssueComment", "PullRequestReview",
    "PullRequestReviewComment", "Label", "Milestone", "Release", "WorkflowRun", "Workflow"
)))  # fmt: skip
def path_of(record: _Addressed, session: HubSession) -> str:
    """Return the path of a record."""
    if isinstance(record, UserRecord):
        return f"/{record.login}"
    if isinstance(record, RepositoryRecord):
        return repository_path(session, record)
    if isinstance(record, IssueRecord):
        return subject_path(session, record)
    if isinstance(record, CommentRecord):
        subject = session.state.subject_by_id(record.subject)
        anchor = "issuecomment-" if record.thread is None else "discussion_r"
        return f"{subject_path(session, subject)}#{anchor}{record.id}" if subject else ""
    if isinstance(record, ReviewRecord):
        pull = session.state.need(PullRequestRecord, record.pull)
        return f"{subject_path(session, pull)}#pullrequestreview-{record.id}"
    return repository_path(session, record.repository) + _path_within(record)


def _path_within(record: LabelRecord | MilestoneRecord | ReleaseRecord | RunRecord | WorkflowRecord) -> str:
    if isinstance(record, LabelRecord):
        return f"/labels/{quote(record.name)}"
    if isinstance(record, MilestoneRecord):
        return f"/milestone/{record.number}"
    if isinstance(record, ReleaseRecord):
        return f"/releases/tag/{f'untagged-{record.id:020x}' if record.draft else quote(record.tag)}"
    if isinstance(record, WorkflowRecord):
        return f"/actions/workflows/{quote(record.path.rpartition('/')[2])}"
    return f"/actions/runs/{record.id}"


@field(*(f"{kind}.url" for kind in (
    "User", "Bot", "Organization", "Repository", "Issue", "PullRequest", "IssueComment", "PullRequestReview",
    "PullRequestReviewComment", "Label", "Milestone", "Release", "WorkflowRun", "Workflow"
)), "PullRequest.permalink", "Issue.bodyUrl")  # fmt: skip
def address_of(record: _Addressed, session: HubSession) -> str:
    """Return the whole address of a record."""
    return SITE + path_of(record, session)
