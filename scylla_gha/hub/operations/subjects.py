"""Issues and pull requests alike: finding them, and who may do what with them.

Rights are those of https://docs.github.com/organizations/managing-user-access-to-your-organizations-repositories/managing-repository-roles/repository-roles-for-an-organization
"""

from typing import Final

from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    PullRequestRecord,
    RepositoryRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
)

NO_RIGHTS: Final = "Must have admin rights to Repository."
MOST_CHARACTERS: Final = 65_536
ISSUES_DISABLED: Final = "Issues are disabled for this repo"


def find_subject(session: HubSession, repository: RepositoryRecord, number: int) -> IssueRecord:
    """Return the issue or pull request with a number.

    Raises:
        HubError: 404 if the number was never taken; 410 if the issue was deleted, or issues are disabled.
    """
    subject = session.state.subject(repository, number)
    if subject is None and 0 < number <= repository.last_number:
        raise HubError(410, "This issue was deleted")
    if subject is None:
        raise not_found()
    if not isinstance(subject, PullRequestRecord) and not repository.has_issues:
        raise HubError(410, ISSUES_DISABLED)
    return subject


def repository_of(session: HubSession, record: HubRecord) -> RepositoryRecord | None:
    """Return the repository that a record belongs to; None for a user."""
    if isinstance(record, CommentRecord):
        return repository_of_subject(session, record.subject)
    if isinstance(record, ReviewRecord | ThreadRecord):
        return repository_of_subject(session, record.pull)
    if isinstance(record, RepositoryRecord):
        return record
    return session.state.get(RepositoryRecord, getattr(record, "repository", None))


def repository_of_subject(session: HubSession, subject: IssueRecord | int) -> RepositoryRecord:
    """Return the repository of an issue or pull request, which may be named by its id."""
    record = session.state.subject_by_id(subject) if isinstance(subject, int) else subject
    if record is None:
        raise not_found()
    return session.state.need(RepositoryRecord, record.repository)


def require_writable(session: HubSession, repository: RepositoryRecord) -> None:
    """Refuse a write of nobody, or to a repository that is archived or may not be read.

    Raises:
        HubError: 404, 401 or 403.
    """
    session.require(repository, "read")
    if session.viewer is None:
        raise HubError(401, "Requires authentication")
    if repository.archived:
        raise HubError(403, "Repository was archived so is read-only.")


def may_edit(session: HubSession, subject: IssueRecord) -> bool:
    """Return whether the user may edit and close: authors their own, and triage all."""
    return subject.author == session.user.id or may_triage(session, subject)


def may_triage(session: HubSession, subject: IssueRecord) -> bool:
    """Return whether the user may set labels, assignees and milestones."""
    return session.may(repository_of_subject(session, subject), "triage")


def require_edit(session: HubSession, subject: IssueRecord) -> None:
    """Require that the user is the author or has the triage role.

    Raises:
        HubError: 403.
    """
    require_writable(session, repository_of_subject(session, subject))
    if not may_edit(session, subject):
        raise HubError(403, NO_RIGHTS)


def require_triage(session: HubSession, subject: IssueRecord) -> None:
    """Refuse labels, assignees and milestones by who has not the role triage.

    Raises:
        HubError: 403.
    """
    session.require(repository_of_subject(session, subject), "triage", NO_RIGHTS)


def require_conversation(session: HubSession, subject: IssueRecord) -> None:
    """Refuse a comment to who may not write one; in a locked conversation only those with write access may.

    See https://docs.github.com/communities/moderating-comments-and-conversations/locking-conversations

    Raises:
        HubError: 403.
    """
    repository = repository_of_subject(session, subject)
    require_writable(session, repository)
    if subject.locked and not session.may(repository, "write"):
        raise HubError(403, "Unable to create comment because issue is locked.")


def association(session: HubSession, repository: RepositoryRecord, author: int) -> str:
    """Return what an author is to a repository, as GitHub's `author_association`."""
    if author == repository.owner:
        return "OWNER"
    if author not in dict(repository.permissions):
        return "NONE"
    owner = session.state.need(UserRecord, repository.owner)
    return "MEMBER" if owner.kind == "Organization" else "COLLABORATOR"
