"""Issues: reading, creating, editing, closing, locking, assigning. Pull requests are issues here too."""

from typing import Any, Final, Literal, cast

from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.operations.assignees import assignable_users, assignees_named, is_assignable, set_assignees
from scylla_gha.hub.operations.issues import (
    NO_MILESTONE,
    ClosingReason,
    LockReason,
    SubjectChanges,
    check_new_issue,
    check_text,
    close_issue,
    create_issue,
    edit_subject,
    lock_subject,
    reopen_issue,
    unlock_subject,
)
from scylla_gha.hub.operations.labels import labels_named
from scylla_gha.hub.operations.milestones import find_milestone
from scylla_gha.hub.operations.pull_states import close_pull, reopen_pull
from scylla_gha.hub.operations.subjects import find_subject, may_triage, require_edit, require_writable
from scylla_gha.hub.records import IssueRecord, PullRequestRecord, RepositoryRecord, UserRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.issue_present import issue_json
from scylla_gha.hub.rest.labels import names_of_labels
from scylla_gha.hub.rest.present import user

_ALL: Final = "/repos/{owner}/{repo}/issues"
_ONE: Final = _ALL + "/{issue_number}"
_REASONS: Final = ("completed", "not_planned", "duplicate", "reopened")
_LOCK_REASONS: Final = ("off-topic", "too heated", "resolved", "spam")


@route("POST", _ALL)
def post_issue(request: RestRequest) -> RestAnswer:
    """Create an issue."""
    repository, title = request.repository(), _title(request)
    if title is None:
        raise HubError(422, 'Invalid request.\n\n"title" wasn\'t supplied.')
    check_new_issue(request.session, repository, title, request.optional("body", str))
    changes = _changes(request, repository, title)
    body = issue_json(request.session, create_issue(request.session, repository, changes))
    return RestAnswer(201, body, headers={"Location": body["url"]})


@route("GET", _ONE)
def get_issue(request: RestRequest) -> RestAnswer:
    """Return an issue or pull request."""
    return _answer(request, _subject(request))


@route("PATCH", _ONE)
def patch_issue(request: RestRequest) -> RestAnswer:
    """Change an issue or pull request; its state last."""
    subject, repository = _subject(request), request.repository()
    require_edit(request.session, subject)
    state = _one_of(request, "state", ("open", "closed"))
    reason = _one_of(request, "state_reason", _REASONS)
    canonical = _canonical(request) if reason == "duplicate" else None
    check_text(_title(request), request.optional("body", str))
    edit_subject(request.session, subject, _changes(request, repository, _title(request), subject))
    if state is not None and state != subject.state:
        _set_state(request, _subject(request), state, reason, canonical)
    return _answer(request, _subject(request))


def _set_state(
    request: RestRequest, subject: IssueRecord, state: str, reason: str | None, canonical: IssueRecord | None
) -> None:
    if isinstance(subject, PullRequestRecord):
        change = reopen_pull if state == "open" else close_pull
        change(request.session, subject)
    elif state == "open":
        reopen_issue(request.session, subject)
    else:
        closing = "completed" if reason in (None, "reopened") else reason
        close_issue(request.session, subject, cast("ClosingReason", closing), canonical)


def _canonical(request: RestRequest) -> IssueRecord | None:
    """Return the issue of which another is a duplicate; it has to be one that the user may read."""
    id_ = request.optional("duplicate_issue_id", int)
    if id_ is None:
        return None
    issue = request.session.state.get(IssueRecord, id_)
    owner = request.session.state.get(RepositoryRecord, issue.repository) if issue else None
    if issue is None or owner is None or not request.session.may(owner, "read"):
        entry = {"value": id_, "resource": "Issue", "field": "duplicate_issue_id", "code": "invalid"}
        raise HubError(422, "Validation Failed", (entry,))
    return issue


def _changes(
    request: RestRequest, repository: RepositoryRecord, title: str | None, subject: IssueRecord | None = None
) -> SubjectChanges:
    """Return what a body asks for; labels and the like are not even read of who may not set them."""
    body = request.optional("body", str)
    body = "" if body is None and request.has("body") else body
    if not request.session.may(repository, "triage"):
        return SubjectChanges(title=title, body=body)
    milestone = _milestone(request, repository)
    assignees = _assignees(request, repository, subject)
    labels = request.optional("labels", list)
    names = None if labels is None else names_of_labels(labels)
    return SubjectChanges(
        title=title,
        body=body,
        milestone=milestone,
        assignees=assignees,
        labels=None if names is None else labels_named(request.session, repository, names),
    )


def _title(request: RestRequest) -> str | None:
    value = request.body.get("title")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else request.optional("title", str)


def _milestone(request: RestRequest, repository: RepositoryRecord) -> int | None:
    """Return the id of the milestone whose number is sent; NO_MILESTONE for null; None for nothing."""
    if not request.has("milestone"):
        return None
    value = request.body["milestone"]
    if value is None or value == "":
        return NO_MILESTONE
    text = "" if isinstance(value, bool) else str(value)  # GitHub takes a number or a text of one
    number = int(text) if text.isdecimal() and len(text) < 10 else 0  # noqa: PLR2004 no repository has more
    milestone = find_milestone(request.session, repository, number)
    if milestone is None:
        entry = {"value": value, "resource": "Issue", "field": "milestone", "code": "invalid"}
        raise HubError(422, "Validation Failed", (entry,))
    return milestone.id


def _assignees(
    request: RestRequest, repository: RepositoryRecord, subject: IssueRecord | None
) -> tuple[int, ...] | None:
    logins = request.texts("assignees")
    if logins is None and request.has("assignee"):
        login = request.optional("assignee", str)
        logins = [login] if login else []
    return None if logins is None else assignees_named(request.session, repository, logins, subject)


def _one_of(request: RestRequest, name: str, allowed: tuple[str, ...]) -> str | None:
    value = request.optional(name, str)
    if value is not None and value not in allowed:
        raise HubError(422, f"Invalid request.\n\n{value} is not a member of {list(allowed)}.")
    return value


@route("PUT", _ONE + "/lock")
def lock_issue(request: RestRequest) -> RestAnswer:
    """Lock the conversation of an issue or pull request."""
    reason = _one_of(request, "lock_reason", _LOCK_REASONS)
    lock_subject(request.session, _subject(request), cast("LockReason | None", reason))
    return RestAnswer(204)


@route("DELETE", _ONE + "/lock")
def unlock_issue(request: RestRequest) -> RestAnswer:
    """Unlock the conversation of an issue or pull request."""
    unlock_subject(request.session, _subject(request))
    return RestAnswer(204)


@route("GET", "/repos/{owner}/{repo}/assignees")
def list_assignees(request: RestRequest) -> RestAnswer:
    """List the users who may be assigned."""
    return request.page(assignable_users(request.session, request.repository()), user)


@route("GET", "/repos/{owner}/{repo}/assignees/{assignee}")
def check_assignee(request: RestRequest) -> RestAnswer:
    """Answer whether a user may be assigned: 204, else 404."""
    return _check_assignee(request, None)


@route("GET", _ONE + "/assignees/{assignee}")
def check_subject_assignee(request: RestRequest) -> RestAnswer:
    """Answer whether a user may be assigned to an issue: 204, else 404."""
    return _check_assignee(request, _subject(request))


def _check_assignee(request: RestRequest, subject: IssueRecord | None) -> RestAnswer:
    candidate = request.session.state.user(request.params["assignee"])
    if candidate is None or not is_assignable(request.session, request.repository(), candidate, subject):
        raise not_found()
    return RestAnswer(204)


@route("POST", _ONE + "/assignees")
def add_assignees(request: RestRequest) -> RestAnswer:
    """Assign users; those who may not be assigned are ignored, as all are of who may not assign."""
    subject = _subject(request)
    return _assigned(request, 201, (*subject.assignees, *(record.id for record in _users(request))))


@route("DELETE", _ONE + "/assignees")
def remove_assignees(request: RestRequest) -> RestAnswer:
    """Take users from the assignees; others are ignored."""
    removed = {record.id for record in _users(request)}
    return _assigned(request, 200, tuple(id_ for id_ in _subject(request).assignees if id_ not in removed))


def _users(request: RestRequest) -> list[UserRecord]:
    users = [request.session.state.user(login) for login in request.texts("assignees") or ()]
    return [record for record in users if record is not None]


def _assigned(request: RestRequest, status: Literal[200, 201], assignees: tuple[int, ...]) -> RestAnswer:
    subject = _subject(request)
    require_writable(request.session, request.repository())
    if may_triage(request.session, subject):
        set_assignees(request.session, subject, assignees)
    return _answer(request, _subject(request), status)


def _subject(request: RestRequest) -> IssueRecord:
    return find_subject(request.session, request.repository(), request.number("issue_number"))


def _answer(request: RestRequest, subject: IssueRecord, status: int = 200) -> RestAnswer:
    body: dict[str, Any] = issue_json(request.session, subject)
    return RestAnswer(status, body)
