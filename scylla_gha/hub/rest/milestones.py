"""Milestones of a repository."""

import datetime
from typing import Any, cast

from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.operations.milestones import (
    NO_DATE,
    MilestoneState,
    create_milestone,
    delete_milestone,
    edit_milestone,
    find_milestone,
    milestone_subjects,
)
from scylla_gha.hub.records import MilestoneRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.issue_present import milestone_json

_ALL = "/repos/{owner}/{repo}/milestones"
_ONE = _ALL + "/{milestone_number}"
_LATEST = datetime.datetime.max.replace(tzinfo=datetime.UTC)


@route("GET", _ALL)
def list_milestones(request: RestRequest) -> RestAnswer:
    """List milestones, the open ones if the query does not say otherwise."""
    wanted = request.query.get("state") or "open"
    records = request.session.state.where(MilestoneRecord, repository=request.repository().id)
    shown = [record for record in records if wanted in ("all", record.state)]
    by_completeness = request.query.get("sort") == "completeness"
    shown.sort(
        key=lambda record: (_completeness(request, record),) if by_completeness else (record.due_on or _LATEST,),
        reverse=request.query.get("direction") == "desc",
    )
    return request.page(shown, lambda record: milestone_json(request.session, record))


def _completeness(request: RestRequest, milestone: MilestoneRecord) -> float:
    states = [subject.state for subject in milestone_subjects(request.session, milestone)]
    return states.count("closed") / len(states) if states else 0.0


@route("POST", _ALL)
def post_milestone(request: RestRequest) -> RestAnswer:
    """Create a milestone."""
    due_on = request.optional("due_on", str)
    milestone = create_milestone(
        request.session,
        request.repository(),
        request.needed("title", str),
        description=request.optional("description", str),
        due_on=timestamp(due_on, "Milestone", "due_on") if due_on else None,
        state=_state(request) or "open",
    )
    body = milestone_json(request.session, milestone) or {}
    return RestAnswer(201, body, headers={"Location": body["url"]})


@route("GET", _ONE)
def get_milestone(request: RestRequest) -> RestAnswer:
    """Return a milestone."""
    return _answer(request, _milestone(request))


@route("PATCH", _ONE)
def patch_milestone(request: RestRequest) -> RestAnswer:
    """Change a milestone."""
    due_on = request.optional("due_on", str)
    description = request.optional("description", str)
    edited = edit_milestone(
        request.session,
        _milestone(request),
        title=request.optional("title", str),
        description="" if description is None and request.has("description") else description,
        due_on=timestamp(due_on, "Milestone", "due_on") if due_on else NO_DATE if request.has("due_on") else None,
        state=_state(request),
    )
    return _answer(request, edited)


@route("DELETE", _ONE)
def remove_milestone(request: RestRequest) -> RestAnswer:
    """Delete a milestone."""
    delete_milestone(request.session, _milestone(request))
    return RestAnswer(204)


def _milestone(request: RestRequest) -> MilestoneRecord:
    milestone = find_milestone(request.session, request.repository(), request.number("milestone_number"))
    if milestone is None:
        raise not_found()
    return milestone


def _state(request: RestRequest) -> MilestoneState | None:
    state = request.optional("state", str)
    if state not in (None, "open", "closed"):
        entry: dict[str, Any] = {"value": state, "resource": "Milestone", "field": "state", "code": "invalid"}
        raise HubError(422, "Validation Failed", (entry,))
    return cast("MilestoneState | None", state)


def _answer(request: RestRequest, milestone: MilestoneRecord) -> RestAnswer:
    return RestAnswer(200, milestone_json(request.session, milestone))


def timestamp(text: str, resource: str, name: str) -> datetime.datetime:
    """Return a time that a request names in ISO 8601, in UTC if it names no zone.

    Raises:
        HubError: 422, it is none.
    """
    try:
        value = datetime.datetime.fromisoformat(text)
        return value.replace(tzinfo=value.tzinfo or datetime.UTC).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        entry = {"value": text, "resource": resource, "field": name, "code": "invalid"}
        raise HubError(422, "Validation Failed", (entry,)) from None
