"""Entry points of queries: repositories, users, and nodes by their global ids."""

import datetime
from collections.abc import Mapping
from typing import Any

from scylla_gha.hub.actions_records import CheckRecord, HubRecord, RunRecord, WorkflowRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.graphql import attributes, field
from scylla_gha.hub.graphql.git_nodes import git_node
from scylla_gha.hub.operations.labels import DEFAULT_LABELS
from scylla_gha.hub.records import (
    CommentRecord,
    EventRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    ProtectionRecord,
    PullRequestRecord,
    ReleaseRecord,
    RepositoryRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
    node_id,
)

_OWNED = (IssueRecord, LabelRecord, MilestoneRecord, ReleaseRecord, ProtectionRecord, RunRecord, WorkflowRecord,
          CheckRecord)  # fmt: skip
_WITH_IDS = {
    "Label": LabelRecord, "Milestone": MilestoneRecord, "Issue": IssueRecord, "PullRequest": PullRequestRecord,
    "Release": ReleaseRecord, "IssueComment": CommentRecord, "PullRequestReview": ReviewRecord,
    "PullRequestReviewComment": CommentRecord, "PullRequestReviewThread": ThreadRecord, "CheckRun": CheckRecord,
    "StatusContext": CheckRecord, "WorkflowRun": RunRecord, "Workflow": WorkflowRecord,
    "BranchProtectionRule": ProtectionRecord,
}  # fmt: skip


@field(*(f"{kind}.id" for kind in _WITH_IDS))
def _id(record: HubRecord, _session: HubSession) -> str:
    return node_id(record)


for _kind in ("Issue", "PullRequest", "IssueComment", "PullRequestReview", "PullRequestReviewComment"):
    attributes(_kind, databaseId="id", fullDatabaseId="id", createdAt="created_at", updatedAt="updated_at")
for _kind in ("WorkflowRun", "Workflow"):
    attributes(_kind, databaseId="id", createdAt="created_at", updatedAt="updated_at")
for _kind in ("Release", "CheckRun", "BranchProtectionRule"):
    attributes(_kind, databaseId="id")
for _kind in ("Release", "StatusContext", "Milestone", "Label"):
    attributes(_kind, createdAt="created_at")
attributes("Label", name="name", color="color", description="description", updatedAt="created_at")
attributes("Milestone", number="number", title="title", description="description", dueOn="due_on",
           closedAt="closed_at", updatedAt="updated_at")  # fmt: skip


@field(*(f"{kind}.repository" for kind in _WITH_IDS if kind not in ("StatusContext", "WorkflowRun", "Workflow")))
def _repository_of(record: HubRecord, session: HubSession) -> RepositoryRecord:
    return owner_of(session, record)


def owner_of(session: HubSession, record: Any) -> RepositoryRecord:  # noqa: ANN401 any record that belongs to a repository
    """Return the repository that a record belongs to."""
    if isinstance(record, _OWNED):
        return session.state.need(RepositoryRecord, record.repository)
    subject = record.pull if isinstance(record, ReviewRecord | ThreadRecord) else record.subject
    return session.state.need(RepositoryRecord, session.state.subject_by_id(subject).repository)  # type: ignore[union-attr]


def may_read(session: HubSession, record: HubRecord) -> bool:
    """Return whether the user may see a record: its repository, and no other user's pending review."""
    if isinstance(record, UserRecord):
        return True
    if isinstance(record, RepositoryRecord):
        return session.may(record, "read")
    if not session.may(owner_of(session, record), "read"):
        return False
    if isinstance(record, ReleaseRecord):
        return not record.draft or session.may(owner_of(session, record), "write")
    review = session.state.get(ReviewRecord, record.review) if isinstance(record, CommentRecord) else record
    if isinstance(review, ReviewRecord) and review.state == "PENDING":
        return session.viewer is not None and session.viewer.id == review.author
    return True


@field("Label.isDefault")
def _is_default(label: LabelRecord, _session: HubSession) -> bool:
    return label.name in DEFAULT_LABELS


@field("Query.repository")
def _repository(
    _parent: object,
    session: HubSession,
    owner: str,
    name: str,
    followRenames: bool = True,  # noqa: ARG001, N803 GitHub's name
) -> RepositoryRecord:
    repository = session.state.repository(owner, name)
    if repository is None or not session.may(repository, "read"):
        raise _missing(f"a Repository with the name '{owner}/{name}'")
    return repository


@field("Query.viewer")
def _viewer(_parent: object, session: HubSession) -> UserRecord:
    return session.user


@field("Query.user")
def _user(_parent: object, session: HubSession, login: str) -> UserRecord:
    user = session.state.user(login)
    if user is None or user.kind != "User":
        raise _missing(f"a User with the login of '{login}'")
    return user


@field("Query.organization")
def _organization(_parent: object, session: HubSession, login: str) -> UserRecord:
    user = session.state.user(login)
    if user is None or user.kind != "Organization":
        raise _missing(f"an Organization with the login of '{login}'")
    return user


@field("Query.repositoryOwner")
def _owner(_parent: object, session: HubSession, login: str) -> UserRecord | None:
    user = session.state.user(login)
    return user if user is not None and user.kind != "Bot" else None


@field("Query.relay")
def _relay(_parent: object, _session: HubSession) -> object:
    return _parent or {}


@field("Query.resource")
def _resource(_parent: object, session: HubSession, url: str) -> Any:  # noqa: ANN401 whatever has an address
    """Return the user, repository, issue or pull request at an address; null for other addresses."""
    parts = url.removeprefix(SITE).strip("/").split("/")
    if not url.startswith(f"{SITE}/") or len(parts) not in (1, 2, 4):
        return None
    if len(parts) == 1:
        return session.state.user(parts[0])
    repository = session.state.repository(parts[0], parts[1])
    if repository is None or not session.may(repository, "read") or len(parts) == 2:  # noqa: PLR2004 owner and name
        return repository if repository is not None and session.may(repository, "read") else None
    is_subject = parts[2] in ("issues", "pull") and parts[3].isascii() and parts[3].isdecimal()
    return session.state.subject(repository, int(parts[3])) if is_subject else None


@field("Query.node")
def _node(_parent: object, session: HubSession, id: str) -> Any:  # noqa: A002, ANN401 GitHub's name, any node
    return node_of(session, id)


@field("Query.nodes")
def _nodes(_parent: object, session: HubSession, ids: list[str]) -> list[Any]:
    return [_node_or_error(session, id_) for id_ in ids]


def _node_or_error(session: HubSession, id_: str) -> Any:  # noqa: ANN401 any node
    try:
        return node_of(session, id_)
    except HubError as error:
        return error  # which graphql-core reports for this item alone


def node_of(session: HubSession, id_: str) -> Any:  # noqa: ANN401 any node
    """Return what has a global id.

    Raises:
        HubError: there is nothing, or it may not be read.
    """
    record = session.state.by_node(id_)
    if record is not None and not isinstance(record, EventRecord) and may_read(session, record):
        return record
    node = git_node(session, id_)
    if node is None:
        raise _missing(f"a node with the global id of '{id_}'")
    return node


@field("Query.rateLimit")
def _rate_limit(_parent: object, session: HubSession, dryRun: bool | None = None) -> Mapping[str, Any]:  # noqa: ARG001, N803
    use = session.hub.usage.of(session.user.login, "graphql")
    return {
        "cost": 1,
        "limit": use.limit,
        "nodeCount": 0,
        "remaining": use.remaining,
        "resetAt": datetime.datetime.fromtimestamp(use.reset, datetime.UTC),
        "used": use.used,
    }


@field("Query.meta")
def _meta(_parent: object, _session: HubSession) -> Mapping[str, Any]:
    return {"isPasswordAuthenticationVerifiable": False}


def _missing(what: str) -> HubError:
    return HubError(404, f"Could not resolve to {what}.", (), "NOT_FOUND")
