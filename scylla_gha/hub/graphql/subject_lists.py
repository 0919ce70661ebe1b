"""Issues, pull requests, labels and milestones of a repository, of a label, and of a milestone."""

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.graphql import field
from scylla_gha.hub.graphql.connections import connection
from scylla_gha.hub.graphql.sorting import in_order, matching, with_states
from scylla_gha.hub.operations.milestones import milestone_subjects
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    RepositoryRecord,
    UserRecord,
)

_Holder = RepositoryRecord | LabelRecord | MilestoneRecord


def _held(holder: _Holder, session: HubSession, kind: type[Any]) -> list[Any]:
    if isinstance(holder, RepositoryRecord):
        return session.state.where(kind, repository=holder.id)
    subjects: list[Any] = session.state.where(kind, repository=holder.repository)
    if isinstance(holder, LabelRecord):
        return [subject for subject in subjects if holder.id in subject.labels]
    return [subject for subject in subjects if subject.milestone == holder.id]


@connection("Repository.issues", "Label.issues", "Milestone.issues")
def _issues(
    holder: _Holder,
    session: HubSession,
    *,
    states: list[str] | None = None,
    labels: list[str] | None = None,
    filterBy: Mapping[str, Any] | None = None,  # noqa: N803 GitHub's name
    orderBy: Mapping[str, str] | None = None,  # noqa: N803 GitHub's name
) -> list[IssueRecord]:
    issues = with_states(_labelled(session, _held(holder, session, IssueRecord), labels), states)
    for name, value in (filterBy or {}).items():
        issues = [issue for issue in issues if value is None or _passes(session, issue, name, value)]
    return in_order(issues, orderBy)


@connection("Repository.pullRequests", "Label.pullRequests", "Milestone.pullRequests")
def _pulls(  # noqa: PLR0913 arguments of GitHub
    holder: _Holder,
    session: HubSession,
    *,
    states: list[str] | None = None,
    labels: list[str] | None = None,
    headRefName: str | None = None,  # noqa: N803 GitHub's name
    baseRefName: str | None = None,  # noqa: N803 GitHub's name
    orderBy: Mapping[str, str] | None = None,  # noqa: N803 GitHub's name
) -> list[PullRequestRecord]:
    pulls = with_states(_labelled(session, _held(holder, session, PullRequestRecord), labels), states)
    kept_pulls = [
        pull for pull in pulls if headRefName in (None, pull.head_ref) and baseRefName in (None, pull.base_ref)
    ]
    return in_order(kept_pulls, orderBy)


def _labelled(session: HubSession, subjects: Iterable[Any], names: list[str] | None) -> list[Any]:
    """Return the issues or pull requests that have one of some labels."""
    if not names:
        return list(subjects)
    wanted = {name.casefold() for name in names}
    labels = {label.id for label in session.state.where(LabelRecord) if label.name.casefold() in wanted}
    return [subject for subject in subjects if labels.intersection(subject.labels)]


def _passes(session: HubSession, issue: IssueRecord, name: str, value: Any) -> bool:  # noqa: ANN401 of GitHub's IssueFilters
    tests: Mapping[str, Callable[[], bool]] = {
        "labels": lambda: bool(_labelled(session, [issue], value)),
        "states": lambda: bool(with_states([issue], value)),
        "since": lambda: issue.updated_at >= datetime.datetime.fromisoformat(value),
        "assignee": lambda: _is_by(session, issue.assignees, value),
        "createdBy": lambda: _is_by(session, (issue.author,), value),
        "milestone": lambda: _has_milestone(session, issue, value),
        "milestoneNumber": lambda: _has_milestone(session, issue, value),
        "mentioned": lambda: _mentions(session, issue, value),
        "viewerSubscribed": lambda: not value,  # false is the schema's default, and nobody subscribes
    }
    if name not in tests:
        raise ContractGapError(f"IssueFilters.{name}")
    return tests[name]()


def _mentions(session: HubSession, issue: IssueRecord, login: str) -> bool:
    texts = [issue.body, *(comment.body for comment in session.state.where(CommentRecord, subject=issue.id))]
    pattern = re.compile(rf"(?<![\w/@-])@{re.escape(login)}(?![\w-])", re.IGNORECASE)
    return any(pattern.search(text or "") for text in texts)


def _is_by(session: HubSession, users: tuple[int, ...], login: str) -> bool:
    if login == "*":
        return bool(users)
    user = session.state.user(login)
    return user is not None and user.id in users


def _has_milestone(session: HubSession, issue: IssueRecord, value: str) -> bool:
    milestone = session.state.get(MilestoneRecord, issue.milestone)
    if value == "*":
        return milestone is not None
    return milestone is not None and value in (str(milestone.number), milestone.title)


@field("Repository.issue")
def _issue(repository: RepositoryRecord, session: HubSession, number: int) -> IssueRecord:
    subject = session.state.subject(repository, number)
    if subject is None or isinstance(subject, PullRequestRecord):
        raise _missing(f"an Issue with the number of {number}")
    return subject


@field("Repository.pullRequest")
def _pull(repository: RepositoryRecord, session: HubSession, number: int) -> PullRequestRecord:
    subject = session.state.subject(repository, number)
    if not isinstance(subject, PullRequestRecord):
        raise _missing(f"a PullRequest with the number of {number}")
    return subject


@field("Repository.issueOrPullRequest")
def _subject(repository: RepositoryRecord, session: HubSession, number: int) -> IssueRecord:
    subject = session.state.subject(repository, number)
    if subject is None:
        raise _missing(f"an issue or pull request with the number of {number}")
    return subject


@field("Repository.discussion")
def _discussion(_repository: RepositoryRecord, _session: HubSession, number: int) -> None:
    raise _missing(f"a Discussion with the number of {number}")  # the hub has none


def _missing(what: str) -> HubError:
    return HubError(404, f"Could not resolve to {what}.", (), "NOT_FOUND")


@connection("Repository.labels")
def _labels(
    repository: RepositoryRecord, session: HubSession, *, query: str | None = None,
    orderBy: Mapping[str, str] | None = None,  # noqa: N803 GitHub's name
) -> list[LabelRecord]:  # fmt: skip
    labels = session.state.where(LabelRecord, repository=repository.id)
    return in_order(matching(labels, query, "name", "description"), orderBy)


@field("Repository.label")
def _label(repository: RepositoryRecord, session: HubSession, name: str) -> LabelRecord | None:
    labels = session.state.where(LabelRecord, repository=repository.id)
    return next((label for label in labels if label.name.casefold() == name.casefold()), None)


@connection("Repository.milestones")
def _milestones(
    repository: RepositoryRecord, session: HubSession, *, states: list[str] | None = None, query: str | None = None,
    orderBy: Mapping[str, str] | None = None,  # noqa: N803 GitHub's name
) -> list[MilestoneRecord]:  # fmt: skip
    milestones = session.state.where(MilestoneRecord, repository=repository.id)
    kept_milestones = [milestone for milestone in milestones if not states or milestone.state.upper() in states]
    return in_order(matching(kept_milestones, query, "title", "description"), orderBy)


@field("Repository.milestone")
def _milestone(repository: RepositoryRecord, session: HubSession, number: int) -> MilestoneRecord | None:
    return session.state.first(MilestoneRecord, repository=repository.id, number=number)


@field("Milestone.creator")
def _creator(milestone: MilestoneRecord, session: HubSession) -> UserRecord | None:
    return session.state.get(UserRecord, milestone.creator)


@field("Milestone.progressPercentage")
def _progress(milestone: MilestoneRecord, session: HubSession) -> float:
    subjects = milestone_subjects(session, milestone)
    closed = sum(subject.state == "closed" for subject in subjects)
    return 100 * closed / len(subjects) if subjects else 0.0


@field("Milestone.state")
def _state(milestone: MilestoneRecord, _session: HubSession) -> str:
    return milestone.state.upper()


@field("Milestone.closed")
def _is_closed(milestone: MilestoneRecord, _session: HubSession) -> bool:
    return milestone.state == "closed"


@field("Milestone.viewerCanClose", "Milestone.viewerCanReopen")
def _may_close(milestone: MilestoneRecord, session: HubSession) -> bool:
    return session.may(session.state.need(RepositoryRecord, milestone.repository), "write")
