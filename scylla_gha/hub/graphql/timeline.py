"""Timelines of issues and pull requests: events, comments, commits and reviews in the order of time."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql.addresses import path_of
from scylla_gha.hub.graphql.connections import connection
from scylla_gha.hub.graphql.git_nodes import RefNode, commit_node
from scylla_gha.hub.graphql.pulls import pull_commit_nodes
from scylla_gha.hub.operations.closing_keywords import closing_issues
from scylla_gha.hub.operations.comments import comments_of
from scylla_gha.hub.operations.pull_facts import submitted_reviews
from scylla_gha.hub.operations.timeline import visible_events
from scylla_gha.hub.records import (
    CommentRecord,
    EventRecord,
    IssueRecord,
    LabelRecord,
    PullRequestRecord,
    RepositoryRecord,
    ReviewRecord,
    UserRecord,
    node_id,
)

TYPES: Final[Mapping[str, str]] = {
    "assigned": "AssignedEvent",
    "automatic_base_change_succeeded": "AutomaticBaseChangeSucceededEvent",
    "base_ref_changed": "BaseRefChangedEvent",
    "base_ref_deleted": "BaseRefDeletedEvent",
    "closed": "ClosedEvent",
    "convert_to_draft": "ConvertToDraftEvent",
    "cross-referenced": "CrossReferencedEvent",
    "demilestoned": "DemilestonedEvent",
    "head_ref_deleted": "HeadRefDeletedEvent",
    "head_ref_force_pushed": "HeadRefForcePushedEvent",
    "head_ref_restored": "HeadRefRestoredEvent",
    "labeled": "LabeledEvent",
    "locked": "LockedEvent",
    "marked_as_duplicate": "MarkedAsDuplicateEvent",
    "merged": "MergedEvent",
    "milestoned": "MilestonedEvent",
    "ready_for_review": "ReadyForReviewEvent",
    "referenced": "ReferencedEvent",
    "renamed": "RenamedTitleEvent",
    "reopened": "ReopenedEvent",
    "review_dismissed": "ReviewDismissedEvent",
    "review_request_removed": "ReviewRequestRemovedEvent",
    "review_requested": "ReviewRequestedEvent",
    "unassigned": "UnassignedEvent",
    "unlabeled": "UnlabeledEvent",
    "unlocked": "UnlockedEvent",
    "unmarked_as_duplicate": "UnmarkedAsDuplicateEvent",
}
_SUBJECT_FIELDS: Final = ("assignable", "closable", "labelable", "lockable", "subject", "target", "duplicate")
_Item = tuple[datetime.datetime, str, Any]


@dataclass(frozen=True, slots=True)
class TimelineEntry(Mapping[str, Any]):
    """Event with the fields of its type in the schema; each is computed when it is asked for."""

    session: HubSession
    event: EventRecord
    subject: IssueRecord

    @property
    def graphql_type(self) -> str:
        """Type in the schema."""
        return TYPES[self.event.event]

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 whatever the schema says
        """Return a field."""
        if key in _SUBJECT_FIELDS:
            return self.subject
        return _FIELDS[key](self, dict(self.event.data))

    def __contains__(self, key: object) -> bool:
        """Return whether a field is known."""
        return key in _FIELDS or key in _SUBJECT_FIELDS

    def __iter__(self) -> Any:  # noqa: ANN401 an iterator of names
        """Yield the fields' names."""
        yield from (*_FIELDS, *_SUBJECT_FIELDS)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(_FIELDS) + len(_SUBJECT_FIELDS)

    @property
    def repository(self) -> RepositoryRecord:
        """Repository of the subject."""
        return self.session.state.need(RepositoryRecord, self.subject.repository)

    @property
    def path(self) -> str:
        """Path on the web site."""
        return f"{path_of(self.subject, self.session)}#event-{self.event.id}"


_Data = Mapping[str, str]


def _commit(name: str) -> Callable[[TimelineEntry, _Data], Any]:
    return lambda entry, data: commit_node(entry.repository, data[name]) if data.get(name) else None


def _login(name: str) -> Callable[[TimelineEntry, _Data], Any]:
    return lambda entry, data: entry.session.state.user(data.get(name, ""))


def _subject(name: str) -> Callable[[TimelineEntry, _Data], Any]:
    return lambda entry, data: entry.session.state.subject_by_id(int(data.get(name, 0)))


def _upper(name: str) -> Callable[[TimelineEntry, _Data], Any]:
    return lambda _entry, data: data[name].upper().replace("-", "_").replace(" ", "_") if data.get(name) else None


def _branch(name: str) -> Callable[[TimelineEntry, _Data], Any]:
    def ref(entry: TimelineEntry, data: _Data) -> RefNode | None:
        pull = entry.subject
        branch = data.get("ref") or getattr(pull, name)
        node = RefNode(entry.repository, f"refs/heads/{branch}")
        return node if entry.session.git(entry.repository).ref(node.name) else None

    return ref


def _label(entry: TimelineEntry, data: _Data) -> LabelRecord | dict[str, Any]:
    label = entry.session.state.first(LabelRecord, repository=entry.subject.repository, name=data.get("label"))
    return label or {"id": f"LA_deleted{entry.event.id}", "name": data.get("label"), "color": data.get("color")}


def _closer(entry: TimelineEntry, data: _Data) -> Any:  # noqa: ANN401 a commit or a pull request
    if data.get("pull"):
        return entry.session.state.get(PullRequestRecord, int(data["pull"]))
    return _commit("commit")(entry, data)


def _will_close(entry: TimelineEntry, data: _Data) -> bool:
    pull = entry.session.state.get(PullRequestRecord, int(data["source"]))
    return pull is not None and any(issue.id == entry.subject.id for issue in closing_issues(entry.session, pull))


def _is_elsewhere(entry: TimelineEntry, data: _Data) -> bool:
    source = _subject("source")(entry, data) or _subject("canonical")(entry, data)
    return source is not None and source.repository != entry.subject.repository


def _text(name: str) -> Callable[[TimelineEntry, _Data], Any]:
    return lambda _entry, data: data.get(name)


_FIELDS: Final[Mapping[str, Callable[[TimelineEntry, _Data], Any]]] = {
    "id": lambda entry, _: node_id(entry.event),
    "databaseId": lambda entry, _: entry.event.id,
    "createdAt": lambda entry, _: entry.event.created_at,
    "referencedAt": lambda entry, _: entry.event.created_at,
    "actor": lambda entry, _: entry.session.state.get(UserRecord, entry.event.actor),
    "resourcePath": lambda entry, _: entry.path,
    "url": lambda entry, _: SITE + entry.path,
    "pullRequest": lambda entry, _: entry.subject,
    "label": _label,
    "assignee": _login("assignee"),
    "user": _login("assignee"),
    "requestedReviewer": _login("reviewer"),
    "milestoneTitle": _text("milestone"),
    "currentTitle": _text("to"),
    "previousTitle": _text("from"),
    "currentRefName": _text("to"),
    "previousRefName": _text("from"),
    "newBase": _text("to"),
    "oldBase": _text("from"),
    "closer": _closer,
    "stateReason": _upper("reason"),
    "lockReason": _upper("reason"),
    "commit": _commit("commit"),
    "commitRepository": lambda entry, _: entry.repository,
    "beforeCommit": _commit("from"),
    "afterCommit": _commit("to"),
    "isCrossRepository": _is_elsewhere,
    "isDirectReference": lambda *_: True,
    "source": _subject("source"),
    "canonical": _subject("canonical"),
    "willCloseTarget": _will_close,
    "mergeRefName": lambda entry, _: getattr(entry.subject, "base_ref", ""),
    "mergeRef": _branch("base_ref"),
    "ref": _branch("head_ref"),
    "headRef": _branch("head_ref"),
    "headRefName": lambda entry, data: data.get("ref") or getattr(entry.subject, "head_ref", ""),
    "baseRefName": lambda entry, data: data.get("ref") or getattr(entry.subject, "base_ref", ""),
    "dismissalMessage": _text("message"),
    "previousReviewState": _upper("state"),
    "review": lambda entry, data: entry.session.state.get(ReviewRecord, int(data.get("review", 0))),
}


def timeline_items(session: HubSession, subject: IssueRecord) -> list[_Item]:
    """Return time, kind (as in the enum of timeline item types) and node of everything in a timeline, by time."""
    items: list[_Item] = []
    for event in visible_events(session, subject):
        if event.event in TYPES:
            entry = TimelineEntry(session, event, subject)
            items.append((event.created_at, _kind(entry.graphql_type), entry))
    items += [(comment.created_at, "ISSUE_COMMENT", comment) for comment in comments_of(session, subject)]
    if isinstance(subject, PullRequestRecord):
        items += [
            (r.submitted_at or r.created_at, "PULL_REQUEST_REVIEW", r) for r in submitted_reviews(session, subject)
        ]
        nodes = pull_commit_nodes(subject, session)
        items += [(_time_of(node), "PULL_REQUEST_COMMIT", node) for node in nodes]
    return sorted(items, key=lambda item: item[0])


def _kind(name: str) -> str:
    return "".join(f"_{letter}" if letter.isupper() and at else letter for at, letter in enumerate(name)).upper()


@connection(
    "Issue.timelineItems",
    "PullRequest.timelineItems",
    filteredCount=len,
    pageCount=len,
    updatedAt=lambda items: max((_time_of(item) for item in items), default=None),
)
def _timeline(
    subject: IssueRecord,
    session: HubSession,
    *,
    itemTypes: list[str] | None = None,  # noqa: N803 GitHub's name
    since: str | None = None,
    skip: int | None = None,
) -> list[Any]:
    start = datetime.datetime.fromisoformat(since) if since else None
    nodes = [
        node
        for time, kind, node in timeline_items(session, subject)
        if (not itemTypes or kind in itemTypes) and (start is None or time >= start)
    ]
    return nodes[skip or 0 :]


def _time_of(item: Any) -> datetime.datetime:  # noqa: ANN401 any item of a timeline
    if isinstance(item, TimelineEntry):
        return item.event.created_at
    if isinstance(item, ReviewRecord):
        return item.submitted_at or item.created_at
    if isinstance(item, CommentRecord):
        return item.created_at
    time: datetime.datetime = item.commit.committer.date
    return time
