"""Search for repositories and for people.

By https://docs.github.com/en/search-github/searching-on-github/searching-for-repositories and
https://docs.github.com/en/search-github/searching-on-github/searching-users. Nothing here has stars or followers.
"""

from collections.abc import Callable, Mapping
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.repository_facts import forks_of, languages, size_in_kilobytes
from scylla_gha.hub.records import RepositoryRecord, UserRecord
from scylla_gha.hub.search.places import PLACES, is_in_place, is_login, readable_repositories
from scylla_gha.hub.search.query import SearchLeaf, SearchQuery, SearchText, parse_query
from scylla_gha.hub.search.ranges import in_range, number_in_range

_REPOSITORY_OUTSIDE: Final = frozenset({
    "license", "good-first-issues", "help-wanted-issues", "mirror", "template", "followers", "has", "props",
})  # fmt: skip
_USER_OUTSIDE: Final = frozenset({"location", "language", "repos", "is", "fullname"})
RepositoryCheck = Callable[[HubSession, RepositoryRecord, str], bool]


def _is(session: HubSession, repository: RepositoryRecord, value: str) -> bool:
    return is_in_place(session, repository, "is", value)


_REPOSITORIES: Final[Mapping[str, RepositoryCheck]] = {
    "is": _is,
    "visibility": _is,
    "archived": lambda _, repository, value: repository.archived == (value == "true"),
    "fork": lambda _, repository, value: value == "true" or (repository.parent is not None) == (value == "only"),
    "topic": lambda _, repository, value: value.lower() in repository.topics,
    "topics": lambda _, repository, value: number_in_range(value, len(repository.topics)),
    "language": lambda session, repository, value: (
        value.casefold() in [name.casefold() for name in list(languages(session, repository))[:1]]
    ),
    "stars": lambda _session, _repository, value: number_in_range(value, 0),
    "forks": lambda session, repository, value: number_in_range(value, len(forks_of(session, repository))),
    "size": lambda session, repository, value: number_in_range(value, size_in_kilobytes(session, repository)),
    "created": lambda _, repository, value: in_range(value, repository.created_at),
    "pushed": lambda _, repository, value: in_range(value, repository.pushed_at),
}


def parse_repository_query(text: str) -> SearchQuery:
    """Return a query for repositories.

    Raises:
        HubError: it is invalid, or outside the contract.
    """
    return parse_query(text, (*PLACES, *_REPOSITORIES), _REPOSITORY_OUTSIDE)


def search_repositories(session: HubSession, query: SearchQuery) -> list[RepositoryRecord]:
    """Return the repositories that match; forks only if the query asks for them with `fork:`."""

    def matches(repository: RepositoryRecord) -> bool:
        wanted = repository.parent is None or bool(query.values("fork"))
        return wanted and query.matches(lambda leaf: _repository_matches(session, repository, leaf, query))

    repositories = [repository for repository in readable_repositories(session) if matches(repository)]
    name, _, direction = (query.sort or "relevance").partition("-")
    if name == "updated":
        repositories.sort(key=lambda repository: repository.updated_at, reverse=direction != "asc")
    elif name == "forks":
        repositories.sort(key=lambda repository: len(forks_of(session, repository)), reverse=direction != "asc")
    return repositories


def _repository_matches(
    session: HubSession, repository: RepositoryRecord, leaf: SearchLeaf, query: SearchQuery
) -> bool:
    if not isinstance(leaf, SearchText):
        if leaf.name in PLACES:
            return any(is_in_place(session, repository, leaf.name, value) for value in leaf.values)
        return any(_REPOSITORIES[leaf.name](session, repository, value) for value in leaf.values)
    texts = {
        "name": session.state.full_name(repository),
        "description": repository.description or "",
        "topics": " ".join(repository.topics),
    }
    fields = query.fields or frozenset(texts)
    return any(leaf.text.casefold() in text.casefold() for field, text in texts.items() if field in fields)


_USERS: Final[Mapping[str, Callable[[HubSession, UserRecord, str], bool]]] = {
    "type": lambda _, user, value: (user.kind == "Organization") == (value.lower() in ("org", "organization")),
    "user": is_login,
    "org": lambda session, user, value: user.kind == "Organization" and is_login(session, user, value),
    "created": lambda _, user, value: in_range(value, user.created_at),
    "followers": lambda _session, _user, value: number_in_range(value, 0),
}


def search_users(session: HubSession, text: str) -> list[UserRecord]:
    """Return the people and organizations that match a query, by parts of login, name and address.

    Raises:
        HubError: the query is invalid, or outside the contract.
    """
    query = parse_query(text, _USERS, _USER_OUTSIDE)
    users = [user for user in session.state.where(UserRecord) if user.kind != "Bot"]
    return [user for user in users if query.matches(lambda leaf, user=user: _user_matches(session, user, leaf, query))]  # type: ignore[misc]


def _user_matches(session: HubSession, user: UserRecord, leaf: SearchLeaf, query: SearchQuery) -> bool:
    if not isinstance(leaf, SearchText):
        return any(_USERS[leaf.name](session, user, value) for value in leaf.values)
    texts = {"login": user.login, "name": user.name or "", "email": user.email or ""}
    fields = query.fields or frozenset(texts)
    return any(leaf.text.casefold() in value.casefold() for field, value in texts.items() if field in fields)
