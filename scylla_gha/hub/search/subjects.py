"""Search for issues and pull requests: which match a query, and in which order."""

from collections.abc import Callable
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.records import IssueRecord, PullRequestRecord
from scylla_gha.hub.search.matchers import MATCHERS, SearchCandidate
from scylla_gha.hub.search.places import readable_repositories
from scylla_gha.hub.search.query import (
    SearchLeaf,
    SearchQuery,
    SearchText,
    contains_words,
    invalid_query,
    parse_query,
    words_of,
)
from scylla_gha.hub.search.ranges import is_range

_OUTSIDE: Final = frozenset({
    "project", "team", "team-review-requested", "parent-issue", "sub-issue", "blocked-by", "blocking", "has", "topic",
    "deployed", "deployed-at", "deployment",
})  # fmt: skip
_RANGES: Final = ("comments", "interactions", "reactions", "created", "updated", "closed", "merged")
_PEOPLE: Final = ("author", "assignee", "mentions", "commenter", "involves", "review-requested", "reviewed-by")


def parse_subject_query(text: str) -> SearchQuery:
    """Return a query for issues and pull requests.

    Raises:
        HubError: GitHub refuses it, or it is outside the contract.
    """
    query = parse_query(text, MATCHERS, _OUTSIDE)
    for name in _RANGES:
        for value in query.values(name):
            if not is_range(value):
                raise invalid_query(f"{value!r:.60} is not a range that {name}: takes.")
    return query


def search_subjects(session: HubSession, query: SearchQuery) -> list[IssueRecord]:
    """Return the issues and pull requests that match a query, in the order that it asks for."""
    state = session.state
    readable = {repository.id for repository in readable_repositories(session)}
    subjects = [*state.where(IssueRecord), *state.where(PullRequestRecord)]
    candidates = [SearchCandidate(session, subject) for subject in subjects if subject.repository in readable]
    matching = [candidate for candidate in candidates if query.matches(_checker(candidate, query))]
    return [candidate.subject for candidate in _sorted(matching, query)]


def _checker(candidate: SearchCandidate, query: SearchQuery) -> Callable[[SearchLeaf], bool]:
    def check(leaf: SearchLeaf) -> bool:
        if isinstance(leaf, SearchText):
            wanted = words_of(leaf.text)
            return any(contains_words(wanted, text) for text in candidate.text(query.fields))
        return any(MATCHERS[leaf.name](candidate, value) for value in leaf.values)

    return check


def _sorted(candidates: list[SearchCandidate], query: SearchQuery) -> list[SearchCandidate]:
    """Return candidates in order: by default the best match first, which is one of the title, then the newest."""
    name, _, direction = (query.sort or "relevance").partition("-")
    texts = [words_of(leaf.text) for leaf in query.leaves() if isinstance(leaf, SearchText)]

    def rank(candidate: SearchCandidate) -> tuple[object, ...]:
        subject = candidate.subject
        in_title = sum(contains_words(wanted, subject.title) for wanted in texts)
        first = {
            "created": subject.created_at.timestamp(),
            "updated": subject.updated_at.timestamp(),
            "comments": len(candidate.comments),
            "interactions": len(candidate.comments),
            "reactions": 0,
        }.get(name, in_title)
        return (first, subject.created_at, subject.number)

    return sorted(candidates, key=rank, reverse=direction != "asc")


def check_people(session: HubSession, query: SearchQuery) -> None:
    """Refuse, as the REST interface does, a search for people who do not exist.

    Raises:
        HubError: 422 in GitHub's words.
    """
    people = [value for value in query.values(*_PEOPLE) if not value.startswith(("app/", "@", "*"))]
    if any(session.state.user(value) is None for value in people):
        raise invalid_query("The listed users cannot be searched either because the users do not exist or you do not "
                            "have permission to view the users.")  # fmt: skip
