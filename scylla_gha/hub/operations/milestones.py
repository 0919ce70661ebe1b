"""Milestones of a repository."""

import datetime
from typing import Final, Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import invalid
from scylla_gha.hub.operations.subjects import NO_RIGHTS, require_triage
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.records import IssueRecord, MilestoneRecord, PullRequestRecord, RepositoryRecord

MilestoneState = Literal["open", "closed"]
NO_DATE: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)  # in a change: remove the date


def find_milestone(session: HubSession, repository: RepositoryRecord, number: int) -> MilestoneRecord | None:
    """Return the milestone with a number; None if there is none."""
    return session.state.first(MilestoneRecord, repository=repository.id, number=number)


def create_milestone(
    session: HubSession,
    repository: RepositoryRecord,
    title: str,
    *,
    description: str | None = None,
    due_on: datetime.datetime | None = None,
    state: MilestoneState = "open",
) -> MilestoneRecord:
    """Add a milestone to a repository, in which the user must have write access.

    Raises:
        HubError: 403; 422 if the title is empty, or another milestone has it.
    """
    session.require(repository, "write", NO_RIGHTS)
    _check_title(session, repository, title)
    records = session.state.where(MilestoneRecord, repository=repository.id)
    now = session.state.now()
    record = MilestoneRecord(
        id=session.state.new_id(), created_at=now, updated_at=now, repository=repository.id, title=title,
        number=max((record.number for record in records), default=0) + 1, creator=session.user.id, state=state,
        description=description or None, due_on=due_on, closed_at=now if state == "closed" else None,
    )  # fmt: skip
    return session.state.create(session.user, record)


def edit_milestone(
    session: HubSession,
    milestone: MilestoneRecord,
    *,
    title: str | None = None,
    description: str | None = None,
    due_on: datetime.datetime | None = None,
    state: MilestoneState | None = None,
) -> MilestoneRecord:
    """Change a milestone; None stays as it is, an empty description and NO_DATE remove what there is.

    Raises:
        HubError: 403; 422 if the title is empty, or another milestone has it.
    """
    repository = session.state.need(RepositoryRecord, milestone.repository)
    session.require(repository, "write", NO_RIGHTS)
    if title is not None:
        _check_title(session, repository, title, milestone)
    changes: dict[str, object] = {} if title is None else {"title": title}
    if description is not None:
        changes["description"] = description or None
    if due_on is not None:
        changes["due_on"] = None if due_on == NO_DATE else due_on
    if state is not None and state != milestone.state:
        changes |= {"state": state, "closed_at": session.state.now() if state == "closed" else None}
    return session.state.update(session.user, milestone, **changes)


def delete_milestone(session: HubSession, milestone: MilestoneRecord) -> None:
    """Remove a milestone, and from the issues and pull requests that are in it.

    Raises:
        HubError: 403.
    """
    repository = session.state.need(RepositoryRecord, milestone.repository)
    session.require(repository, "write", NO_RIGHTS)
    for subject in milestone_subjects(session, milestone):
        set_milestone(session, subject, None)
    session.state.delete(session.user, milestone)


def milestone_subjects(session: HubSession, milestone: MilestoneRecord) -> list[IssueRecord]:
    """Return the issues and pull requests in a milestone."""
    kinds: tuple[type[IssueRecord], ...] = (IssueRecord, PullRequestRecord)
    return [subject for kind in kinds for subject in session.state.where(kind, milestone=milestone.id)]


def set_milestone(session: HubSession, subject: IssueRecord, milestone: MilestoneRecord | None) -> None:
    """Put an issue or pull request into a milestone, or into none, and note it in the timeline.

    Raises:
        HubError: 403 if the user has not the role triage.
    """
    require_triage(session, subject)
    current = session.state.subject_by_id(subject.id) or subject
    before = session.state.get(MilestoneRecord, current.milestone)
    if before == milestone:
        return
    session.state.update(session.user, current, milestone=milestone.id if milestone else None)
    if before is not None:
        add_event(session, subject, "demilestoned", milestone=before.title)
    if milestone is not None:
        add_event(session, subject, "milestoned", milestone=milestone.title)


def _check_title(
    session: HubSession, repository: RepositoryRecord, title: str, own: MilestoneRecord | None = None
) -> None:
    if not title.strip():
        raise invalid("Milestone", "title", "missing_field")
    other = session.state.first(MilestoneRecord, repository=repository.id, title=title)
    if other is not None and (own is None or other.id != own.id):
        raise invalid("Milestone", "title", "already_exists")
