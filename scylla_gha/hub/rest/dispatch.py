"""Answers to REST requests: the route, its handler, and errors as GitHub words them."""

import hashlib
import importlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError, not_found
from scylla_gha.hub.rest import RestAnswer, RestRequest, find_route
from scylla_gha.hub.rest.documentation import DOCUMENTATION, documentation_url, operation_of_github

_TAKES_ANY_CONTENT: Final = ("POST /repos/{owner}/{repo}/releases/{release_id}/assets",)  # be it JSON or not
_MODULES: Final = (
    "accounts",
    "archives",
    "branches",
    "check_runs",
    "commits",
    "contents",
    "empty_lists",
    "git_data",
    "protection",
    "issue_comments",
    "issue_lists",
    "issues",
    "labels",
    "milestones",
    "pulls",
    "releases",
    "repositories",
    "review_comments",
    "reviews",
    "runs",
    "search",
    "timeline",
    "workflows",
)

_MOST_VALUES: Final = 1_000_000  # of a body in JSON; a tree of 100,000 files has 400,000


@dataclass(frozen=True, slots=True)
class RestOutcome:
    """Answer, the operation as GitHub writes it, and what was asked for outside the contract (None: nothing)."""

    answer: RestAnswer
    operation: str
    gap: str | None = None


def register() -> None:
    """Import the modules that register routes, once."""
    for name in _MODULES:
        importlib.import_module(f"scylla_gha.hub.rest.{name}")


def handle(
    session: HubSession, method: str, path: str, query: Mapping[str, str], content: bytes, headers: Mapping[str, str]
) -> RestOutcome:
    """Answer a request. `path` is as sent, with its percent signs; names of headers are in lower case."""
    matched = find_route("GET" if method == "HEAD" else method, path)
    if matched is None:
        return _unanswered(method, path)
    route, params = matched
    operation = f"{route.method} {route.template}"
    try:
        _check_characters(params, query)
        body = {} if operation in _TAKES_ANY_CONTENT else _json_of(content, headers)
        request = RestRequest(session, method, path, params, query, body, content, headers)
        answer = route.handler(request)
    except ContractGapError as error:
        return RestOutcome(failure(error, documentation_url(operation)), operation, operation)
    except HubError as error:
        return RestOutcome(failure(error, documentation_url(operation)), operation)
    return RestOutcome(_with_etag(method, answer, headers), operation)


def _unanswered(method: str, path: str) -> RestOutcome:
    """Answer a request without a route: a gap if GitHub has such an operation, else GitHub's own 404."""
    operation = f"{method} {path[:200]}"
    of_github = operation_of_github("GET" if method == "HEAD" else method, path)
    if of_github is None:
        return RestOutcome(failure(not_found()), operation)
    return RestOutcome(failure(ContractGapError(operation), documentation_url(of_github)), operation, operation)


def _check_characters(*parameters: Mapping[str, str]) -> None:
    """Refuse null bytes, which nothing that a path or a query names can have."""
    if any("\x00" in value for mapping in parameters for value in mapping.values()):
        raise HubError(400, "Bad Request")


def _json_of(content: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    kind = headers.get("content-type", "application/json").partition(";")[0]
    if not content or not (kind.endswith("json") or kind in ("text/plain", "application/x-www-form-urlencoded")):
        return {}
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > _MOST_VALUES:
        raise HubError(413, "Payload Too Large")
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise HubError(400, "Problems parsing JSON") from None
    if isinstance(body, list):
        return {"": body}  # a few operations take a list
    if not isinstance(body, dict):
        raise HubError(400, "Body should be a JSON object")
    return body


def failure(error: HubError, documentation: str = DOCUMENTATION) -> RestAnswer:
    """Return an error as GitHub answers it, with the address of the page about what was asked for."""
    body: dict[str, Any] = {"message": error.message, "documentation_url": documentation, "status": str(error.status)}
    if error.errors:
        body["errors"] = list(error.errors)
    return RestAnswer(error.status, body)


def _with_etag(method: str, answer: RestAnswer, headers: Mapping[str, str]) -> RestAnswer:
    """Give an answer to a GET its ETag, and answer 304 to a client that has it already."""
    if method not in ("GET", "HEAD") or answer.status != 200:  # noqa: PLR2004 HTTP
        return answer
    content = answer.content
    if content is None:
        content = json.dumps(answer.body, sort_keys=True, default=str).encode()
    etag = f'"{hashlib.sha256(content).hexdigest()}"'
    if etag in re.findall(r'"[^"]*"', headers.get("if-none-match", "")):  # of a list, weak or not
        return RestAnswer(304, headers={"ETag": f"W/{etag}"})
    return replace(answer, headers={**answer.headers, "ETag": f"W/{etag}"})
