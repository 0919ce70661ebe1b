"""Timeline of issues and pull requests: entries of what was done to them.

Names of an entry's data, whose values are texts:
- labeled, unlabeled: label (name), color; milestoned, demilestoned: milestone (title); renamed: from, to
- assigned, unassigned: assignee (login); review_requested, review_request_removed: reviewer (login)
- closed: reason, and for what closed it pull (id) or commit (SHA); locked: reason
- marked_as_duplicate, unmarked_as_duplicate: canonical (id of an issue); cross-referenced: source (id of an issue)
- merged, referenced: commit (SHA); head_ref_deleted, head_ref_restored: ref; base_ref_changed: from, to
- head_ref_force_pushed: from, to (SHAs); review_dismissed: review (id), state, message
"""

import re
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.records import EventRecord, IssueRecord, RepositoryRecord

_REFERENCE: Final = re.compile(
    r"(?<![\w/#-])(?:https?://github\.com/)?(?:(?P<owner>[\w-]+)/(?P<name>[\w.-]+))?"
    r"(?:#|/(?:issues|pull)/|(?<![\w/])GH-)(?P<number>\d{1,9})\b",
    re.IGNORECASE,
)


def add_event(session: HubSession, subject: IssueRecord, event: str, **data: str | int | None) -> EventRecord:
    """Append an entry to a timeline; data that is None is left out."""
    pairs = tuple((name.rstrip("_"), str(value)) for name, value in data.items() if value is not None)
    state = session.state
    record = EventRecord(id=state.new_id(), created_at=state.now(), subject=subject.id, actor=session.user.id,
                         event=event, data=pairs)  # fmt: skip
    return state.create(session.user, record)


def referenced_subjects(session: HubSession, repository: RepositoryRecord, text: str) -> list[IssueRecord]:
    """Return what a text names (#1, GH-1, owner/name#1, a URL), as far as the user may read it."""
    subjects: dict[int, IssueRecord] = {}
    names = dict.fromkeys((match["owner"], match["name"], int(match["number"])) for match in _REFERENCE.finditer(text))
    for owner, name, number in names:
        target = session.state.repository(owner, name) if owner else repository
        if target is None or number > target.last_number or not session.may(target, "read"):
            continue
        subject = session.state.subject(target, number)
        if subject is not None:
            subjects[subject.id] = subject
    return list(subjects.values())


def add_references(session: HubSession, source: IssueRecord, text: str | None) -> None:
    """Note in the timelines of what a text names that `source` names them; once for each source.

    See https://docs.github.com/rest/using-the-rest-api/issue-event-types#cross-referenced
    """
    repository = session.state.need(RepositoryRecord, source.repository)
    for subject in referenced_subjects(session, repository, text or ""):
        known = session.state.where(EventRecord, subject=subject.id, event="cross-referenced")
        if subject.id != source.id and all(("source", str(source.id)) not in event.data for event in known):
            add_event(session, subject, "cross-referenced", source=source.id)


def visible_events(session: HubSession, subject: IssueRecord) -> list[EventRecord]:
    """Return the entries of a timeline without references from repositories that the user may not read."""
    return [
        event
        for event in session.state.where(EventRecord, subject=subject.id)
        if event.event != "cross-referenced" or _may_read_source(session, event)
    ]


def _may_read_source(session: HubSession, event: EventRecord) -> bool:
    source = session.state.subject_by_id(int(dict(event.data)["source"]))
    return source is not None and session.may(session.state.need(RepositoryRecord, source.repository), "read")
