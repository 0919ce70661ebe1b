"""Comments on issues and pull requests, beside those in review threads."""

import re
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.subjects import (
    MOST_CHARACTERS,
    NO_RIGHTS,
    repository_of_subject,
    require_conversation,
    require_writable,
)
from scylla_gha.hub.operations.timeline import add_event, add_references, referenced_subjects
from scylla_gha.hub.records import CommentRecord, IssueRecord

_DUPLICATE: Final = re.compile(r"^duplicate of (?P<reference>\S{1,200})\s*$", re.IGNORECASE | re.MULTILINE)


def comments_of(session: HubSession, subject: IssueRecord) -> list[CommentRecord]:
    """Return the comments on an issue or pull request, without those of reviews."""
    return session.state.where(CommentRecord, subject=subject.id, thread=None, review=None)


def add_comment(session: HubSession, subject: IssueRecord, body: str) -> CommentRecord:
    """Comment on an issue or pull request.

    Raises:
        HubError: 403 if the conversation is locked; 422 if the body is empty or too long.
    """
    require_conversation(session, subject)
    check_comment(body)
    state, now = session.state, session.state.now()
    record = CommentRecord(id=state.new_id(), created_at=now, updated_at=now, subject=subject.id,
                           author=session.user.id, body=body)  # fmt: skip
    state.create(session.user, record)
    state.update(session.user, subject, updated_at=now)
    add_references(session, subject, body)
    _mark_duplicate(session, subject, body)
    return record


def _mark_duplicate(session: HubSession, subject: IssueRecord, body: str) -> None:
    """Mark a subject as a duplicate of what a comment says it is, if its author has write access.

    See https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/marking-issues-or-pull-requests-as-a-duplicate
    """
    repository = repository_of_subject(session, subject)
    match = _DUPLICATE.search(body)
    if match is None or not session.may(repository, "write"):
        return
    for canonical in referenced_subjects(session, repository, match["reference"]):
        if type(canonical) is type(subject) and canonical.id != subject.id:
            session.state.update(session.user, subject, duplicate_of=canonical.id)
            add_event(session, subject, "marked_as_duplicate", canonical=canonical.id)


def edit_comment(session: HubSession, comment: CommentRecord, body: str) -> CommentRecord:
    """Replace the text of a comment, as its author or with write access.

    Raises:
        HubError: 403; 422 if the body is empty or too long.
    """
    require_comment_rights(session, comment)
    check_comment(body)
    return session.state.update(session.user, comment, body=body)


def delete_comment(session: HubSession, comment: CommentRecord) -> None:
    """Remove a comment, as its author or with write access.

    Raises:
        HubError: 403.
    """
    require_comment_rights(session, comment)
    session.state.delete(session.user, comment)


def require_comment_rights(session: HubSession, comment: CommentRecord) -> None:
    """Require that the user is the comment's author or has write access.

    Raises:
        HubError: 403.
    """
    repository = repository_of_subject(session, comment.subject)
    require_writable(session, repository)
    if comment.author != session.user.id and not session.may(repository, "write"):
        raise HubError(403, NO_RIGHTS)


def check_comment(body: str, resource: str = "IssueComment") -> None:
    """Refuse a comment that is empty or too long.

    Raises:
        HubError: 422, in the words that GitHub has for comments.
    """
    message = "Body cannot be blank" if not body.strip() else ""
    if len(body) > MOST_CHARACTERS:
        message = f"Body is too long (maximum is {MOST_CHARACTERS} characters)"
    if message:
        entry = {"resource": resource, "code": "unprocessable", "field": "data", "message": message}
        raise HubError(422, "Validation Failed", (entry,))
