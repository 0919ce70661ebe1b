"""Lists of issues and pull requests: of a repository, and of the user over all repositories."""

from collections.abc import Iterable
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.comments import comments_of
from scylla_gha.hub.operations.labels import find_label
from scylla_gha.hub.operations.milestones import find_milestone
from scylla_gha.hub.operations.subjects import repository_of_subject
from scylla_gha.hub.records import IssueRecord, PullRequestRecord, RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.issue_present import issue_json
from scylla_gha.hub.rest.milestones import timestamp

_KINDS: Final[tuple[type[IssueRecord], ...]] = (IssueRecord, PullRequestRecord)
_STATES: Final = ("open", "closed", "all")


@route("GET", "/repos/{owner}/{repo}/issues")
def list_issues(request: RestRequest) -> RestAnswer:
    """List issues and pull requests of a repository; open ones, newest first, if the query does not say otherwise."""
    repository, query = request.repository(), request.query
    subjects = [
        record
        for kind in _KINDS
        if kind is PullRequestRecord or repository.has_issues
        for record in request.session.state.where(kind, repository=repository.id)
    ]
    subjects = _by_milestone(request, repository, subjects, query.get("milestone"))
    subjects = _by_assignee(request.session, subjects, query.get("assignee"))
    if creator := query.get("creator"):
        author = request.session.state.user(creator)
        subjects = [subject for subject in subjects if author is not None and subject.author == author.id]
    if mentioned := query.get("mentioned"):
        subjects = [subject for subject in subjects if f"@{mentioned}".casefold() in (subject.body or "").casefold()]
    return _page(request, subjects)


@route("GET", "/issues", "/user/issues")
def list_user_issues(request: RestRequest) -> RestAnswer:
    """List issues and pull requests of the user in all repositories that the user may read."""
    viewer, state = request.user, request.session.state
    subjects = [
        record
        for kind in _KINDS
        for record in state.where(kind)
        if request.session.may(repository_of_subject(request.session, record), "read")
    ]
    wanted, mention = request.query.get("filter") or "assigned", f"@{viewer.login}".casefold()
    groups = {
        "assigned": [subject for subject in subjects if viewer.id in subject.assignees],
        "created": [subject for subject in subjects if subject.author == viewer.id],
        "mentioned": [subject for subject in subjects if mention in (subject.body or "").casefold()],
        "subscribed": [subject for subject in subjects if viewer.id in (subject.author, *subject.assignees)],
    }
    return _page(request, groups.get(wanted, subjects))


def _by_milestone(
    request: RestRequest, repository: RepositoryRecord, subjects: list[IssueRecord], value: str | None
) -> list[IssueRecord]:
    if value is None:
        return subjects
    if value in ("*", "none"):
        return [subject for subject in subjects if (subject.milestone is None) == (value == "none")]
    number = int(value) if value.isascii() and value.isdecimal() else 0
    milestone = find_milestone(request.session, repository, number)
    if milestone is None:
        raise _unknown("milestone", value)
    return [subject for subject in subjects if subject.milestone == milestone.id]


def _by_assignee(session: HubSession, subjects: list[IssueRecord], value: str | None) -> list[IssueRecord]:
    if value is None:
        return subjects
    if value in ("*", "none"):
        return [subject for subject in subjects if (not subject.assignees) == (value == "none")]
    user = session.state.user(value)
    if user is None:
        raise _unknown("assignee", value)
    return [subject for subject in subjects if user.id in subject.assignees]


def _unknown(name: str, value: str) -> HubError:
    return HubError(
        422, "Validation Failed", ({"value": value, "resource": "Issue", "field": name, "code": "invalid"},)
    )


def _page(request: RestRequest, subjects: Iterable[IssueRecord]) -> RestAnswer:
    """Answer with what is left after the filters that all lists have, in the order that is asked for."""
    query, session = request.query, request.session
    state = query.get("state") or "open"
    if state not in _STATES:
        raise _unknown("state", state)
    since = timestamp(query["since"], "Issue", "since") if query.get("since") else None
    names = [name for name in (query.get("labels") or "").split(",") if name]
    chosen = [
        subject
        for subject in subjects
        if state in ("all", subject.state)
        and (since is None or subject.updated_at >= since)
        and all(_has_label(session, subject, name) for name in names)
    ]

    def key(subject: IssueRecord) -> tuple[Any, ...]:
        values = {"updated": subject.updated_at, "comments": len(comments_of(session, subject))}
        return (values.get(query.get("sort", ""), subject.created_at), subject.id)

    chosen.sort(key=key, reverse=query.get("direction") != "asc")
    return request.page(chosen, lambda subject: issue_json(session, subject))


def _has_label(session: HubSession, subject: IssueRecord, name: str) -> bool:
    label = find_label(session, repository_of_subject(session, subject), name)
    return label is not None and label.id in subject.labels
