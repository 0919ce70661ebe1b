"""Requests of GitHub's GraphQL interface and their answers: data, and errors that concern single fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from github.GithubException import RateLimitExceededException

from scylla_gha.errors import GitHubError
from scylla_gha.model.printable_text import one_line

_LIMITED: Final = "RATE_LIMITED"
_MOST_CHARACTERS: Final = 300
_LIMIT_STATUS: Final = 403


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """One request, which may be repeated as it is.

    Attributes:
        document: the query or mutation.
        what: the operation in words, for messages: `read the state`.
        needs: the permission that it needs, in a workflow's notation.
        variables: of the document.
    """

    document: str
    what: str
    needs: str
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldError:
    """Error of one field of the document; `kind` is GitHub's, such as NOT_FOUND."""

    name: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class GraphQLResponse:
    """Data of an answer, and errors of fields that are null in it."""

    data: Mapping[str, Any]
    errors: tuple[FieldError, ...] = ()


def graphql_response(request: GraphQLRequest, headers: Mapping[str, Any], body: Mapping[str, Any]) -> GraphQLResponse:
    """Return the answer to a request.

    Raises:
        RateLimitExceededException: GitHub's limit is reached, which this interface answers with status 200.
        GitHubError: nothing was done: the document is refused as a whole.
    """
    errors = body.get("errors") or []
    if any(error.get("type") == _LIMITED for error in errors):
        raise RateLimitExceededException(_LIMIT_STATUS, dict(body), dict(headers))
    fields = tuple(
        FieldError(str((error.get("path") or [""])[0]), str(error.get("type") or ""),
                   one_line(str(error.get("message")))[:_MOST_CHARACTERS])
        for error in errors
    )  # fmt: skip
    if body.get("data") is None:
        reasons = "; ".join(error.message for error in fields) or "no data in the answer"
        raise GitHubError(f"cannot {request.what}: GitHub's GraphQL refuses it: {reasons}")
    return GraphQLResponse(body["data"], fields)
