"""Search for issues, pull requests, code, commits, repositories, people and labels."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.records import IssueRecord, LabelRecord, RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, T, present, route
from scylla_gha.hub.rest.commit_json import commit as commit_json
from scylla_gha.hub.rest.issue_present import issue_json, label_json
from scylla_gha.hub.rest.repository_json import api_url, minimal_repository, site_url
from scylla_gha.hub.search.accounts import parse_repository_query, search_repositories, search_users
from scylla_gha.hub.search.code import (
    CodeMatch,
    CommitMatch,
    parse_code_query,
    parse_commit_query,
    search_code,
    search_commits,
    text_matches,
)
from scylla_gha.hub.search.places import check_places
from scylla_gha.hub.search.query import SearchQuery
from scylla_gha.hub.search.subjects import check_people, parse_subject_query, search_subjects

_MOST_RESULTS: Final = 1_000
_SCORE: Final = {"score": 1.0}


def _text(request: RestRequest) -> str:
    text = request.query.get("q", "")
    if not text.strip():
        raise HubError(422, "Validation Failed", ({"resource": "Search", "field": "q", "code": "missing"},))
    return text


def _query(request: RestRequest, parse: Callable[[str], SearchQuery]) -> SearchQuery:
    query = parse(_text(request))
    check_places(request.session, query)
    if sort := request.query.get("sort"):
        query = replace(query, sort=f"{sort}-{request.query.get('order') or 'desc'}")
    return query


def _results(request: RestRequest, items: Sequence[T], to_json: Callable[[T], dict[str, Any]]) -> RestAnswer:
    """Answer with a page of results; GitHub gives the first 1,000 of them, and counts all."""
    shown = request.page(items[:_MOST_RESULTS], lambda item: {**to_json(item), **_SCORE}, "items")
    return replace(shown, body={**shown.body, "total_count": len(items), "incomplete_results": False})


@route("GET", "/search/issues")
def get_subjects(request: RestRequest) -> RestAnswer:
    """Search for issues and pull requests."""
    query = _query(request, parse_subject_query)
    check_people(request.session, query)
    subjects = search_subjects(request.session, query)
    results = _results(request, subjects, lambda subject: _subject(request, subject))
    return replace(results, body={**results.body, "search_type": "lexical"})


def _subject(request: RestRequest, subject: IssueRecord) -> dict[str, Any]:
    body = issue_json(request.session, subject)
    return {**body, "body": body["body"] or ""}  # by GitHub's description never null here


@route("GET", "/search/repositories")
def get_repositories(request: RestRequest) -> RestAnswer:
    """Search for repositories."""
    query = _query(request, parse_repository_query)
    repositories = search_repositories(request.session, query)
    return _results(request, repositories, lambda repository: minimal_repository(request.session, repository))


@route("GET", "/search/users")
def get_users(request: RestRequest) -> RestAnswer:
    """Search for people and organizations."""
    return _results(request, search_users(request.session, _text(request)), present.user)


@route("GET", "/search/labels")
def get_labels(request: RestRequest) -> RestAnswer:
    """Search for labels of a repository, by parts of name and description."""
    session, text = request.session, _text(request).casefold()
    id_ = request.query.get("repository_id", "")
    repository = session.state.get(RepositoryRecord, int(id_)) if id_.isascii() and id_.isdecimal() else None
    if repository is None or not session.may(repository, "read"):
        raise not_found()
    labels = session.state.where(LabelRecord, repository=repository.id)
    shown = [label for label in labels if text in f"{label.name}\n{label.description or ''}".casefold()]
    return _results(request, shown, lambda label: label_json(session, label))


@route("GET", "/search/commits")
def get_commits(request: RestRequest) -> RestAnswer:
    """Search in the messages of commits."""
    matches = search_commits(request.session, _query(request, parse_commit_query))
    return _results(request, matches, lambda match: _commit(request, match))


def _commit(request: RestRequest, match: CommitMatch) -> dict[str, Any]:
    body = commit_json(request.session, match.repository, match.commit.sha)
    return {**body, "repository": minimal_repository(request.session, match.repository)}


@route("GET", "/search/code")
def get_code(request: RestRequest) -> RestAnswer:
    """Search in the files of default branches; with the matching lines for clients that accept them."""
    if request.session.viewer is None:
        raise HubError(401, "Requires authentication")
    query = _query(request, parse_code_query)
    with_lines = "text-match" in request.headers.get("accept", "")
    matches = search_code(request.session, query)
    return _results(request, matches, lambda match: _code(request, match, query if with_lines else None))


def _code(request: RestRequest, match: CodeMatch, query: SearchQuery | None) -> dict[str, Any]:
    session, file = request.session, match.file
    url, path = api_url(session, match.repository), quote(file.path)
    body = {
        "name": file.path.rpartition("/")[2],
        "path": file.path,
        "sha": file.sha,
        "url": f"{url}/contents/{path}?ref={match.commit}",
        "git_url": f"{url}/git/blobs/{file.sha}",
        "html_url": f"{site_url(session, match.repository)}/blob/{match.commit}/{path}",
        "repository": minimal_repository(session, match.repository),
    }
    if query is None:
        return body
    lines = [
        {
            "object_url": body["url"],
            "object_type": "FileContent",
            "property": "content",
            "fragment": line.fragment,
            "matches": [{"text": text, "indices": [start, end]} for text, start, end in line.words],
        }
        for line in text_matches(session, match, query)
    ]
    return {**body, "text_matches": lines}
