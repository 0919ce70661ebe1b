"""Events and the timeline of issues and pull requests."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any, Final

from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import not_found
from scylla_gha.hub.git_store import GitCommit
from scylla_gha.hub.operations.comments import comments_of
from scylla_gha.hub.operations.pull_facts import pull_commits, submitted_reviews
from scylla_gha.hub.operations.subjects import find_subject, repository_of_subject
from scylla_gha.hub.operations.timeline import visible_events
from scylla_gha.hub.records import (
    CommentRecord,
    EventRecord,
    IssueRecord,
    PullRequestRecord,
    ReviewRecord,
)
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.commit_json import git_commit
from scylla_gha.hub.rest.issue_present import comment_json, issue_json, user_json
from scylla_gha.hub.rest.present import ids, time, user
from scylla_gha.hub.rest.pull_json import review_json
from scylla_gha.hub.rest.repository_json import api_url

_ALL: Final = "/repos/{owner}/{repo}/issues/events"
_ONE: Final = "/repos/{owner}/{repo}/issues/{issue_number}"
# Only the timeline has these, https://docs.github.com/rest/using-the-rest-api/issue-event-types
_TIMELINE_ONLY: Final = frozenset({"cross-referenced"})


@route("GET", _ALL)
def list_repository_events(request: RestRequest) -> RestAnswer:
    """List the events of all issues of a repository, the newest first."""
    repository = request.repository()
    events = [
        event
        for event in reversed(request.session.state.where(EventRecord))
        if repository_of_subject(request.session, event.subject).id == repository.id and _is_event(event)
    ]
    return request.page(events, lambda event: _whole_event(request.session, event))


@route("GET", _ALL + "/{event_id}")
def get_event(request: RestRequest) -> RestAnswer:
    """Return an event."""
    repository = request.repository()
    event = request.session.state.get(EventRecord, request.number("event_id"))
    if event is None or repository_of_subject(request.session, event.subject).id != repository.id:
        raise not_found()
    return RestAnswer(200, _whole_event(request.session, event))


@route("GET", _ONE + "/events")
def list_events(request: RestRequest) -> RestAnswer:
    """List the events of an issue, the oldest first."""
    subject = _subject(request)
    events = [event for event in request.session.state.where(EventRecord, subject=subject.id) if _is_event(event)]
    return request.page(events, lambda event: event_json(request.session, event))


@route("GET", _ONE + "/timeline")
def list_timeline(request: RestRequest) -> RestAnswer:
    """List events, comments, reviews and commits of an issue or pull request, the oldest first."""
    subject, session = _subject(request), request.session
    entries: list[tuple[datetime.datetime, HubRecord | GitCommit]] = [
        (record.created_at, record) for record in (*visible_events(session, subject), *comments_of(session, subject))
    ]
    if isinstance(subject, PullRequestRecord):
        entries += [
            (review.submitted_at or review.created_at, review) for review in submitted_reviews(session, subject)
        ]
        entries += [(commit.committer.date, commit) for commit in pull_commits(session, subject)]
    entries.sort(key=lambda entry: entry[0])
    return request.page(entries, lambda entry: _entry_json(session, subject, entry[1]))


def _subject(request: RestRequest) -> IssueRecord:
    return find_subject(request.session, request.repository(), request.number("issue_number"))


def _is_event(event: EventRecord) -> bool:
    return event.event not in _TIMELINE_ONLY


def _whole_event(session: HubSession, event: EventRecord) -> dict[str, Any]:
    subject = session.state.subject_by_id(event.subject)
    return {**event_json(session, event), "issue": issue_json(session, subject) if subject else None}


def event_json(session: HubSession, event: EventRecord) -> dict[str, Any]:
    """Return an event with what its kind has."""
    repository = repository_of_subject(session, event.subject)
    data = dict(event.data)
    base, commit = api_url(session, repository), data.get("to" if event.event == "head_ref_force_pushed" else "commit")
    return {
        **ids(event),
        "url": f"{base}/issues/events/{event.id}",
        "actor": user_json(session, event.actor),
        "event": event.event,
        "commit_id": commit,
        "commit_url": f"{base}/commits/{commit}" if commit else None,
        "created_at": time(event.created_at),
        "performed_via_github_app": None,
        **_details(session, event, data),
    }


def _details(session: HubSession, event: EventRecord, data: dict[str, str]) -> dict[str, Any]:
    """Return the fields that only some kinds of event have."""
    if (read := _DETAILS.get(event.event)) is not None:
        return read(data)
    actor = user_json(session, event.actor)
    if event.event in ("assigned", "unassigned"):
        return {"assignee": _login(session, data["assignee"]), "assigner": actor}
    if event.event in ("review_requested", "review_request_removed"):
        return {"requested_reviewer": _login(session, data["reviewer"]), "review_requester": actor}
    return {}


def _label(data: Mapping[str, str]) -> dict[str, Any]:
    return {"label": {"name": data["label"], "color": data["color"]}}


def _milestone(data: Mapping[str, str]) -> dict[str, Any]:
    return {"milestone": {"title": data["milestone"]}}


def _dismissed(data: Mapping[str, str]) -> dict[str, Any]:
    message = data.get("message")
    review = {"state": data.get("state", "").lower(), "review_id": int(data["review"]), "dismissal_message": message}
    return {"dismissed_review": review}


_DETAILS: Final[Mapping[str, Callable[[Mapping[str, str]], dict[str, Any]]]] = {
    "labeled": _label,
    "unlabeled": _label,
    "milestoned": _milestone,
    "demilestoned": _milestone,
    "renamed": lambda data: {"rename": {"from": data["from"], "to": data["to"]}},
    "locked": lambda data: {"lock_reason": data.get("reason")},
    "closed": lambda data: {"state_reason": data.get("reason")},
    "review_dismissed": _dismissed,
}


def _login(session: HubSession, login: str) -> dict[str, Any] | None:
    record = session.state.user(login)
    return None if record is None else user(record)


def _entry_json(session: HubSession, subject: IssueRecord, record: HubRecord | GitCommit) -> dict[str, Any]:
    repository = repository_of_subject(session, subject)
    if isinstance(record, GitCommit):
        return {"event": "committed", **git_commit(session, repository, record)}
    if isinstance(record, CommentRecord):
        return {"event": "commented", "actor": user_json(session, record.author), **comment_json(session, record)}
    if isinstance(record, ReviewRecord):
        return {"event": "reviewed", **review_json(session, record), "state": record.state.lower()}
    assert isinstance(record, EventRecord)  # noqa: S101 there are no others
    return event_json(session, record) if _is_event(record) else _cross_reference(session, record)


def _cross_reference(session: HubSession, event: EventRecord) -> dict[str, Any]:
    source = session.state.subject_by_id(int(dict(event.data)["source"]))
    return {
        "event": event.event,
        "actor": user_json(session, event.actor),
        "created_at": time(event.created_at),
        "updated_at": time(event.created_at),
        "source": {"type": "issue", **({"issue": issue_json(session, source)} if source else {})},
    }
