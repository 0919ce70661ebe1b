"""Qualifiers that searches of all kinds have: repositories, owners and people."""

from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.records import RepositoryRecord, UserRecord
from scylla_gha.hub.search.query import SearchQuery, invalid_query

PLACES: Final = ("repo", "user", "org")


def searcher(session: HubSession) -> UserRecord:
    """Return who @me is.

    Raises:
        HubError: nobody is signed in.
    """
    if session.viewer is None:
        raise invalid_query("@me cannot be used by nobody.")
    return session.viewer


def is_login(session: HubSession, user: UserRecord, login: str) -> bool:
    """Return whether a user is meant by a login, which may be @me, or app/<name> for a bot."""
    if login == "@me":
        return user == searcher(session)
    wanted = login.casefold().removeprefix("@")
    if wanted.startswith("app/"):
        return user.kind == "Bot" and user.login.casefold().removesuffix("[bot]") == wanted.removeprefix("app/")
    return user.login.casefold() == wanted


def is_in_place(session: HubSession, repository: RepositoryRecord, name: str, value: str) -> bool:
    """Return whether a repository is in what repo:, user: or org: names, or as public or private as is: says."""
    if name == "is":
        return value.lower() == ("private" if repository.private else "public")
    if name == "repo":
        owner, _, title = value.partition("/")
        target = session.state.repository(owner, title)
        return target is not None and target.id == repository.id
    return is_login(session, session.state.need(UserRecord, repository.owner), value)


def readable_repositories(session: HubSession) -> list[RepositoryRecord]:
    """Return the repositories that the user may read."""
    return [repository for repository in session.state.where(RepositoryRecord) if session.may(repository, "read")]


def check_places(session: HubSession, query: SearchQuery) -> None:
    """Refuse, as the REST interface does, a search in places of which none exists.

    Raises:
        HubError: 422 in GitHub's words.
    """
    qualifiers = [(name, value) for name in PLACES for value in query.values(name)]
    repositories = readable_repositories(session)
    users = session.state.where(UserRecord)
    for name, value in qualifiers:
        if any(is_in_place(session, repository, name, value) for repository in repositories):
            return
        if name != "repo" and any(is_login(session, user, value) for user in users):
            return
    if qualifiers:
        raise invalid_query("The listed users and repositories cannot be searched either because the resources do not "
                            "exist or you do not have permission to view them.")  # fmt: skip
