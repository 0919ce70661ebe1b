"""Assignees of issues and pull requests: up to ten, of those who may be.

See https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/assigning-issues-and-pull-requests-to-other-github-users
"""

from collections.abc import Iterable, Sequence
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.subjects import require_triage
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.records import CommentRecord, IssueRecord, RepositoryRecord, UserRecord

MOST_ASSIGNEES: Final = 10


def assignable_users(session: HubSession, repository: RepositoryRecord) -> list[UserRecord]:
    """Return those who may be assigned to anything in a repository: its owner and who has a role in it."""
    ids = [repository.owner, *dict(repository.permissions)]
    users = [session.state.need(UserRecord, id_) for id_ in dict.fromkeys(ids)]
    return sorted((user for user in users if user.kind != "Organization"), key=lambda user: user.login.casefold())


def is_assignable(
    session: HubSession, repository: RepositoryRecord, user: UserRecord, subject: IssueRecord | None = None
) -> bool:
    """Return whether a user may be assigned: those with a role, and to a subject those who commented on it."""
    if any(user.id == other.id for other in assignable_users(session, repository)):
        return True
    return subject is not None and bool(session.state.where(CommentRecord, subject=subject.id, author=user.id))


def assignees_named(
    session: HubSession, repository: RepositoryRecord, logins: Sequence[str], subject: IssueRecord | None = None
) -> tuple[int, ...]:
    """Return the ids of users to assign to a subject; None is one that does not exist yet.

    Raises:
        HubError: 422, one of them is unknown, or may not be assigned.
    """
    ids = []
    for login in logins:
        user = session.state.user(login)
        if user is None or not is_assignable(session, repository, user, subject):
            entry = {"value": login, "resource": "Issue", "field": "assignees", "code": "invalid"}
            raise HubError(422, "Validation Failed", (entry,))
        ids.append(user.id)
    return tuple(dict.fromkeys(ids))


def set_assignees(session: HubSession, subject: IssueRecord, assignees: Iterable[int]) -> None:
    """Assign exactly these users, at most the first ten who may be, and note each change in the timeline.

    Raises:
        HubError: 403 if the user has not the role triage.
    """
    require_triage(session, subject)
    repository = session.state.need(RepositoryRecord, subject.repository)
    current = session.state.subject_by_id(subject.id) or subject
    users = [session.state.need(UserRecord, id_) for id_ in dict.fromkeys(assignees)]
    able = [
        user.id for user in users
        if user.id in current.assignees or is_assignable(session, repository, user, subject)
    ]  # fmt: skip
    wanted = tuple(able[:MOST_ASSIGNEES])
    session.state.update(session.user, current, assignees=wanted)
    changes = [("unassigned", id_) for id_ in current.assignees if id_ not in wanted]
    changes += [("assigned", id_) for id_ in wanted if id_ not in current.assignees]
    for event, id_ in changes:
        add_event(session, subject, event, assignee=session.state.need(UserRecord, id_).login)
