"""Search: the query language is that of `search`; each type of the schema has its own items."""

from collections.abc import Sequence
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql.connections import connection
from scylla_gha.hub.records import IssueRecord, RepositoryRecord, UserRecord
from scylla_gha.hub.search.accounts import parse_repository_query, search_repositories, search_users
from scylla_gha.hub.search.subjects import parse_subject_query, search_subjects

_MOST_RESULTS: Final = 1_000
_NONE: Final = {f"{kind}Count": lambda _: 0 for kind in ("code", "discussion", "wiki")}


def _count(kind: type) -> Any:  # noqa: ANN401 a function of the items
    return lambda items: sum(isinstance(item, kind) for item in items)


@connection(
    "Query.search",
    issueCount=_count(IssueRecord),
    repositoryCount=_count(RepositoryRecord),
    userCount=_count(UserRecord),
    **_NONE,
)
def _search(_: Any, session: HubSession, *, query: str, type: str) -> Sequence[Any]:  # noqa: A002, ANN401 the schema's name
    """List what matches; there are no discussions here."""
    if type.startswith("ISSUE"):
        return search_subjects(session, parse_subject_query(query))[:_MOST_RESULTS]
    if type == "REPOSITORY":
        return search_repositories(session, parse_repository_query(query))[:_MOST_RESULTS]
    return search_users(session, query)[:_MOST_RESULTS] if type == "USER" else ()
