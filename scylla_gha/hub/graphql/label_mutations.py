"""Mutations of labels, and of the labels and assignees of issues and pull requests."""

from collections.abc import Iterable, Mapping
from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.graphql.issue_mutations import SUBJECTS
from scylla_gha.hub.graphql.mutations import mutation, node
from scylla_gha.hub.operations.assignees import set_assignees
from scylla_gha.hub.operations.labels import create_label, delete_label, edit_label, set_labels
from scylla_gha.hub.records import IssueRecord, LabelRecord, RepositoryRecord, UserRecord


@mutation("createLabel")
def _create_label(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    repository = node(session, values["repositoryId"], RepositoryRecord)
    label = create_label(session, repository, values["name"], values["color"], values.get("description"))
    return {"label": label}


@mutation("updateLabel")
def _update_label(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    label = node(session, values["id"], LabelRecord)
    edited = edit_label(session, label, values.get("name"), values.get("color"), values.get("description"))
    return {"label": edited}


@mutation("deleteLabel")
def _delete_label(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    delete_label(session, node(session, values["id"], LabelRecord))
    return {}


@mutation("addLabelsToLabelable")
def _add_labels(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["labelableId"], *SUBJECTS)
    return _labeled(session, subject, (*subject.labels, *_label_ids(session, subject, values["labelIds"])))


@mutation("removeLabelsFromLabelable")
def _remove_labels(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["labelableId"], *SUBJECTS)
    removed = _label_ids(session, subject, values["labelIds"])
    return _labeled(session, subject, [id_ for id_ in subject.labels if id_ not in removed])


@mutation("clearLabelsFromLabelable")
def _clear_labels(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return _labeled(session, node(session, values["labelableId"], *SUBJECTS), ())


def _label_ids(session: HubSession, subject: IssueRecord, nodes: Iterable[str]) -> tuple[int, ...]:
    labels = [node(session, id_, LabelRecord) for id_ in nodes]
    if any(label.repository != subject.repository for label in labels):
        raise HubError(422, "Labels must belong to the repository of the labelable")
    return tuple(label.id for label in labels)


def _labeled(session: HubSession, subject: IssueRecord, labels: Iterable[int]) -> dict[str, Any]:
    set_labels(session, subject, labels)
    return {"labelable": session.state.subject_by_id(subject.id)}


@mutation("addAssigneesToAssignable")
def _add_assignees(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["assignableId"], *SUBJECTS)
    return _assigned(session, subject, (*subject.assignees, *_user_ids(session, values["assigneeIds"])))


@mutation("removeAssigneesFromAssignable")
def _remove_assignees(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["assignableId"], *SUBJECTS)
    removed = _user_ids(session, values["assigneeIds"])
    return _assigned(session, subject, [id_ for id_ in subject.assignees if id_ not in removed])


@mutation("replaceActorsForAssignable")
def _replace_actors(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    subject = node(session, values["assignableId"], *SUBJECTS)
    ids = [*_user_ids(session, values.get("actorIds") or ())]
    for login in values.get("actorLogins") or ():
        user = session.state.user(login)
        if user is None:
            raise HubError(404, f"Could not resolve to a User with the login of '{login}'.")
        ids.append(user.id)
    return _assigned(session, subject, ids)


def _user_ids(session: HubSession, nodes: Iterable[str]) -> tuple[int, ...]:
    return tuple(node(session, id_, UserRecord).id for id_ in nodes)


def _assigned(session: HubSession, subject: IssueRecord, users: Iterable[int]) -> dict[str, Any]:
    set_assignees(session, subject, users)
    return {"assignable": session.state.subject_by_id(subject.id)}
