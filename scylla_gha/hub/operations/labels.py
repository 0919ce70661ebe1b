"""Labels: those of a repository, and those that an issue or pull request has. Names ignore case."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.operations.subjects import NO_RIGHTS, require_triage, require_writable
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.records import IssueRecord, LabelRecord, PullRequestRecord, RepositoryRecord

DEFAULT_COLOR: Final = "ededed"
# GitHub's, which every new repository has, with colour and description.
DEFAULT_LABELS: Final = {
    "bug": ("d73a4a", "Something isn't working"),
    "documentation": ("0075ca", "Improvements or additions to documentation"),
    "duplicate": ("cfd3d7", "This issue or pull request already exists"),
    "enhancement": ("a2eeef", "New feature or request"),
    "good first issue": ("7057ff", "Good for newcomers"),
    "help wanted": ("008672", "Extra attention is needed"),
    "invalid": ("e4e669", "This doesn't seem right"),
    "question": ("d876e3", "Further information is requested"),
    "wontfix": ("ffffff", "This will not be worked on"),
}
_LONGEST_NAME: Final = 50
_LONGEST_DESCRIPTION: Final = 100
_COLOR: Final = re.compile(r"[0-9a-fA-F]{6}")


def find_label(session: HubSession, repository: RepositoryRecord, name: str) -> LabelRecord | None:
    """Return the label with a name, whose case is ignored; None if there is none."""
    wanted = name.casefold()
    labels = session.state.where(LabelRecord, repository=repository.id)
    return next((label for label in labels if label.name.casefold() == wanted), None)


def create_label(
    session: HubSession,
    repository: RepositoryRecord,
    name: str,
    color: str = DEFAULT_COLOR,
    description: str | None = None,
) -> LabelRecord:
    """Add a label to a repository, in which the user must have write access.

    Raises:
        HubError: 403; 422 if a field is wrong, or there is a label with this name.
    """
    session.require(repository, "write", NO_RIGHTS)
    _check_label(session, repository, name, color, description)
    state = session.state
    record = LabelRecord(id=state.new_id(), created_at=state.now(), repository=repository.id, name=name.strip(),
                         color=color.lower(), description=description or None)  # fmt: skip
    return state.create(session.user, record)


def add_default_labels(session: HubSession, repository: RepositoryRecord) -> None:
    """Give a new repository GitHub's default labels; these are writes of GitHub itself."""
    state = session.state
    for name, (color, description) in DEFAULT_LABELS.items():
        state.create(0, LabelRecord(id=state.new_id(), created_at=state.now(), repository=repository.id, name=name,
                                    color=color, description=description))  # fmt: skip


def edit_label(
    session: HubSession,
    label: LabelRecord,
    name: str | None = None,
    color: str | None = None,
    description: str | None = None,
) -> LabelRecord:
    """Change a label; None stays as it is, and an empty description removes it.

    Raises:
        HubError: 403; 422 if a field is wrong, or another label has this name.
    """
    repository = session.state.need(RepositoryRecord, label.repository)
    session.require(repository, "write", NO_RIGHTS)
    new_name = label.name if name is None else name.strip()
    new_color = label.color if color is None else color
    new_description = label.description if description is None else description or None
    _check_label(session, repository, new_name, new_color, new_description, label)
    return session.state.update(
        session.user, label, name=new_name, color=new_color.lower(), description=new_description
    )


def delete_label(session: HubSession, label: LabelRecord) -> None:
    """Remove a label from a repository and from all that has it, which does not count as an update of that.

    Raises:
        HubError: 403.
    """
    repository = session.state.need(RepositoryRecord, label.repository)
    session.require(repository, "write", NO_RIGHTS)
    kinds: tuple[type[IssueRecord], ...] = (IssueRecord, PullRequestRecord)
    for kind in kinds:
        for subject in session.state.where(kind, repository=repository.id):
            if label.id in subject.labels:
                rest = tuple(id_ for id_ in subject.labels if id_ != label.id)
                session.state.update(session.user, subject, labels=rest, updated_at=subject.updated_at)
    session.state.delete(session.user, label)


def labels_named(session: HubSession, repository: RepositoryRecord, names: Sequence[str]) -> tuple[int, ...]:
    """Return the ids of labels by name; those that the repository has not are created, as GitHub's REST API does.

    Raises:
        HubError: 403 if one is unknown and the user has no write access; 422 if a new one's name is wrong.
    """
    known = [find_label(session, repository, name) for name in names]
    if not all(known):
        require_writable(session, repository)
        _require_creation(session, repository)
    for name, label in zip(names, known, strict=True):
        if label is None:
            _check_label(session, repository, name, DEFAULT_COLOR, None)
    labels = [find_label(session, repository, name) or create_label(session, repository, name) for name in names]
    return tuple(dict.fromkeys(label.id for label in labels))


def set_labels(session: HubSession, subject: IssueRecord, labels: Iterable[int]) -> None:
    """Give an issue or pull request exactly these labels, and note each change in its timeline.

    Raises:
        HubError: 403 if the user has not the role triage.
    """
    require_triage(session, subject)
    wanted = tuple(dict.fromkeys(labels))
    current = session.state.subject_by_id(subject.id) or subject
    session.state.update(session.user, current, labels=wanted)
    changes = [("unlabeled", id_) for id_ in current.labels if id_ not in wanted]
    changes += [("labeled", id_) for id_ in wanted if id_ not in current.labels]
    for event, id_ in changes:
        label = session.state.need(LabelRecord, id_)
        add_event(session, subject, event, label=label.name, color=label.color)


def _require_creation(session: HubSession, repository: RepositoryRecord) -> None:
    if not session.may(repository, "write"):
        entry = {"resource": "Repository", "field": "label", "code": "unauthorized"}
        raise HubError(403, "You do not have permission to create labels on this repository.", (entry,))


def _check_label(
    session: HubSession,
    repository: RepositoryRecord,
    name: str,
    color: str,
    description: str | None,
    own: LabelRecord | None = None,
) -> None:
    if not name.strip():
        raise invalid("Label", "name", "missing_field")
    if len(name.strip()) > _LONGEST_NAME:
        raise invalid("Label", "name", "custom", f"name is too long (maximum is {_LONGEST_NAME} characters)")
    if not _COLOR.fullmatch(color):
        raise invalid("Label", "color")
    if len(description or "") > _LONGEST_DESCRIPTION:
        message = f"description is too long (maximum is {_LONGEST_DESCRIPTION} characters)"
        raise invalid("Label", "description", "custom", message)
    other = find_label(session, repository, name.strip())
    if other is not None and (own is None or other.id != own.id):
        raise invalid("Label", "name", "already_exists")
