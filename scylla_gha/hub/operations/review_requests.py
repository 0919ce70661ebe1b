"""Requests for reviews of a pull request."""

from collections.abc import Sequence

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.pull_facts import owners_of_files, repository_of, submitted_reviews
from scylla_gha.hub.operations.subjects import NO_RIGHTS
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord


def request_reviews(
    session: HubSession, pull: PullRequestRecord, reviewers: Sequence[UserRecord], *, replace: bool = False
) -> PullRequestRecord:
    """Ask users for a review, beside those asked already or (`replace`) instead of them.

    See https://docs.github.com/rest/pulls/review-requests#request-reviewers-for-a-pull-request

    Raises:
        HubError: 403 without the role triage; 422 for the author, or who is not a collaborator.
    """
    repository = repository_of(session, pull)
    session.require(repository, "triage", NO_RIGHTS)
    for reviewer in reviewers:
        if reviewer.id == pull.author:
            raise HubError(422, "Review cannot be requested from pull request author.")
        if reviewer.id != repository.owner and reviewer.id not in dict(repository.permissions):
            raise not_a_collaborator(session, repository)
    new = tuple(dict.fromkeys(reviewer.id for reviewer in reviewers))
    current = () if replace else pull.requested_reviewers
    return set_reviewers(session, pull, (*current, *(id_ for id_ in new if id_ not in current)))


def not_a_collaborator(session: HubSession, repository: RepositoryRecord) -> HubError:
    """Return the answer for reviewers who have no role in a repository, or do not exist."""
    name = session.state.full_name(repository)
    return HubError(422, "Reviews may only be requested from collaborators. One or more of the users or teams you "
                         f"specified is not a collaborator of the {name} repository.")  # fmt: skip


def remove_review_requests(
    session: HubSession, pull: PullRequestRecord, reviewers: Sequence[UserRecord]
) -> PullRequestRecord:
    """Ask users no longer; who was not asked is passed over.

    Raises:
        HubError: 403 without the role triage.
    """
    session.require(repository_of(session, pull), "triage", NO_RIGHTS)
    removed = {reviewer.id for reviewer in reviewers}
    return set_reviewers(session, pull, tuple(id_ for id_ in pull.requested_reviewers if id_ not in removed))


def set_reviewers(session: HubSession, pull: PullRequestRecord, reviewers: tuple[int, ...]) -> PullRequestRecord:
    """Note each change in the timeline, and write the reviewers."""
    state = session.state
    for event, users in (
        ("review_requested", [id_ for id_ in reviewers if id_ not in pull.requested_reviewers]),
        ("review_request_removed", [id_ for id_ in pull.requested_reviewers if id_ not in reviewers]),
    ):
        for id_ in users:
            add_event(session, pull, event, reviewer=state.need(UserRecord, id_).login)
    return state.update(session.user, pull, requested_reviewers=reviewers)


def users_named(session: HubSession, repository: RepositoryRecord, logins: Sequence[str]) -> list[UserRecord]:
    """Return users by login.

    Raises:
        HubError: 422, there is no such user.
    """
    users = [session.state.user(login) for login in logins]
    if any(user is None for user in users):
        raise not_a_collaborator(session, repository)
    return [user for user in users if user is not None]


def request_code_owners(session: HubSession, pull: PullRequestRecord) -> PullRequestRecord:
    """Ask the code owners of the changed files for a review, unless they gave one or it is a draft.

    See https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
    """
    pull = session.state.need(PullRequestRecord, pull.id)
    if pull.draft or pull.state == "closed":
        return pull
    owners = set().union(*owners_of_files(session, pull).values())
    passed_over = {
        pull.author,
        *pull.requested_reviewers,
        *(review.author for review in submitted_reviews(session, pull)),
    }
    return set_reviewers(session, pull, (*pull.requested_reviewers, *sorted(owners - passed_over)))
