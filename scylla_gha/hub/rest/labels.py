"""Labels of a repository, of an issue or pull request, and of a milestone's issues."""

from collections.abc import Iterable

from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.operations.labels import (
    DEFAULT_COLOR,
    create_label,
    delete_label,
    edit_label,
    find_label,
    labels_named,
    set_labels,
)
from scylla_gha.hub.operations.milestones import find_milestone, milestone_subjects
from scylla_gha.hub.operations.subjects import find_subject, require_triage
from scylla_gha.hub.records import IssueRecord, LabelRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.issue_present import label_json

_REPOSITORY = "/repos/{owner}/{repo}/labels"
_SUBJECT = "/repos/{owner}/{repo}/issues/{issue_number}/labels"


@route("GET", _REPOSITORY)
def list_labels(request: RestRequest) -> RestAnswer:
    """List the labels of a repository."""
    labels = request.session.state.where(LabelRecord, repository=request.repository().id)
    return request.page(labels, lambda label: label_json(request.session, label))


@route("POST", _REPOSITORY)
def post_label(request: RestRequest) -> RestAnswer:
    """Create a label."""
    label = create_label(
        request.session,
        request.repository(),
        request.needed("name", str),
        request.optional("color", str) or DEFAULT_COLOR,
        request.optional("description", str),
    )
    body = label_json(request.session, label)
    return RestAnswer(201, body, headers={"Location": body["url"]})


@route("GET", _REPOSITORY + "/{name}")
def get_label(request: RestRequest) -> RestAnswer:
    """Return a label."""
    return RestAnswer(200, label_json(request.session, _label(request)))


@route("PATCH", _REPOSITORY + "/{name}")
def patch_label(request: RestRequest) -> RestAnswer:
    """Change a label. gh sends the new name as `name` too."""
    label = _label(request)
    description = "" if request.has("description") and request.body["description"] is None else None
    edited = edit_label(
        request.session,
        label,
        request.optional("new_name", str) or request.optional("name", str),
        request.optional("color", str),
        request.optional("description", str) if description is None else description,
    )
    return RestAnswer(200, label_json(request.session, edited))


@route("DELETE", _REPOSITORY + "/{name}")
def remove_label(request: RestRequest) -> RestAnswer:
    """Delete a label of a repository."""
    delete_label(request.session, _label(request))
    return RestAnswer(204)


def _label(request: RestRequest) -> LabelRecord:
    label = find_label(request.session, request.repository(), request.params["name"])
    if label is None:
        raise not_found()
    return label


@route("GET", _SUBJECT)
def list_subject_labels(request: RestRequest) -> RestAnswer:
    """List the labels of an issue."""
    return _answer(request, _subject(request))


@route("POST", _SUBJECT)
def add_subject_labels(request: RestRequest) -> RestAnswer:
    """Add labels to an issue; those that are unknown are created."""
    subject = _subject(request)
    require_triage(request.session, subject)
    labels = labels_named(request.session, request.repository(), _names(request))
    return _set(request, subject, (*subject.labels, *labels))


@route("PUT", _SUBJECT)
def put_subject_labels(request: RestRequest) -> RestAnswer:
    """Replace the labels of an issue; those that are unknown are created."""
    subject = _subject(request)
    require_triage(request.session, subject)
    return _set(request, subject, labels_named(request.session, request.repository(), _names(request)))


@route("DELETE", _SUBJECT)
def clear_subject_labels(request: RestRequest) -> RestAnswer:
    """Remove all labels from an issue."""
    set_labels(request.session, _subject(request), ())
    return RestAnswer(204)


@route("DELETE", _SUBJECT + "/{name}")
def remove_subject_label(request: RestRequest) -> RestAnswer:
    """Remove a label from an issue; 404 if it has not this label."""
    subject = _subject(request)
    require_triage(request.session, subject)
    label = find_label(request.session, request.repository(), request.params["name"])
    if label is None or label.id not in subject.labels:
        raise HubError(404, "Label does not exist")
    return _set(request, subject, (id_ for id_ in subject.labels if id_ != label.id))


@route("GET", "/repos/{owner}/{repo}/milestones/{milestone_number}/labels")
def list_milestone_labels(request: RestRequest) -> RestAnswer:
    """List the labels of the issues in a milestone."""
    milestone = find_milestone(request.session, request.repository(), request.number("milestone_number"))
    if milestone is None:
        raise not_found()
    labels = {id_ for subject in milestone_subjects(request.session, milestone) for id_ in subject.labels}
    records = [request.session.state.need(LabelRecord, id_) for id_ in sorted(labels)]
    return request.page(records, lambda label: label_json(request.session, label))


def names_of_labels(values: Iterable[object]) -> list[str]:
    """Return the names in a list of labels: texts, or objects that have a name.

    Raises:
        HubError: 422, one is something else.
    """
    names = [value.get("name") if isinstance(value, dict) else value for value in values]
    if not all(isinstance(name, str) for name in names):
        raise HubError(422, "Invalid request.\n\nFor 'properties/labels', an item is not a string.")
    return [str(name) for name in names]


def _names(request: RestRequest) -> list[str]:
    """Return the names that are sent: a list as `labels`, or the list itself."""
    values = request.body.get("", request.body.get("labels"))
    if not isinstance(values, list):
        raise HubError(422, 'Invalid request.\n\n"labels" wasn\'t supplied.')
    return names_of_labels(values)


def _subject(request: RestRequest) -> IssueRecord:
    return find_subject(request.session, request.repository(), request.number("issue_number"))


def _set(request: RestRequest, subject: IssueRecord, labels: Iterable[int]) -> RestAnswer:
    set_labels(request.session, subject, labels)
    return _answer(request, _subject(request))


def _answer(request: RestRequest, subject: IssueRecord) -> RestAnswer:
    labels = [request.session.state.need(LabelRecord, id_) for id_ in subject.labels]
    return request.page(labels, lambda label: label_json(request.session, label))
