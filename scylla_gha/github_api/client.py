"""Client of GitHub's REST and GraphQL API for one repository, with pauses, a request limit, paging and retries.

PyGithub's retries repeat every POST, so a comment is written twice if the first answer is lost, and never repeat PATCH.
So they are switched off: before an object is created again, it is searched for, and all other requests are repeated.
"""

import io
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar

import click
from github import Auth, Github
from github.GithubException import GithubException, RateLimitExceededExceedsMaxWait, RateLimitExceededException
from pydantic import BaseModel
from requests.exceptions import RequestException, SSLError
from urllib3.exceptions import HTTPError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GitHubError
from scylla_gha.github_api.access import ApiRequestError, GitHubAccess, access_from, explain_error
from scylla_gha.model import one_line
from scylla_gha.retry_after import decimal_number, retry_after_seconds

_LIMITED: Final = "RATE_LIMITED"
_MOST_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """GraphQL request that can be repeated safely.

    Attributes:
        document: the query or mutation.
        what: the operation, for messages: `read the state`.
        needs: the permission that it needs, as in a workflow: `issues: write`.
        variables: variables of the document.
    """

    document: str
    what: str
    needs: str
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldError:
    """Error of one field of the document; `kind` is GitHub's error type, such as NOT_FOUND."""

    name: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class GraphQLResponse:
    """Data of an answer, and the errors of its failed fields, which are null."""

    data: Mapping[str, Any]
    errors: tuple[FieldError, ...] = ()


def graphql_response(request: GraphQLRequest, headers: Mapping[str, Any], body: Mapping[str, Any]) -> GraphQLResponse:
    """Parse the answer to a GraphQL request.

    Raises:
        RateLimitExceededException: GitHub's limit is reached; GraphQL reports it with status 200.
        GitHubError: GitHub refused the whole document and did nothing.
    """
    errors = body.get("errors") or []
    if any(error.get("type") == _LIMITED for error in errors):
        raise RateLimitExceededException(HTTPStatus.FORBIDDEN, dict(body), dict(headers))
    fields = tuple(
        FieldError(
            str((error.get("path") or [""])[0]),
            str(error.get("type") or ""),
            one_line(str(error.get("message")))[:_MOST_CHARACTERS],
        )
        for error in errors
    )
    if body.get("data") is None:
        reasons = "; ".join(error.message for error in fields) or "no data in the answer"
        raise GitHubError(f"cannot {request.what}: GitHub's GraphQL API refused it: {reasons}")
    return GraphQLResponse(body["data"], fields)


for _logger in ("github", "urllib3"):  # would log each retry to standard error, which RetryPolicy already reports
    logging.getLogger(_logger).setLevel(logging.ERROR)

PAGE: Final = 100  # entries per page, GitHub's maximum
_SECONDARY_LIMIT_PAUSE: Final = 60.0  # seconds if GitHub names no time; it then asks for at least a minute
_SHOWN_PAUSE: Final = 2.0  # seconds; shorter pauses are not reported
_LIMITS: Final = {403, 429}

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """REST request.

    Attributes:
        method: HTTP method.
        path: relative to the repository, or to the API's root if it begins with two slashes.
        what: the operation, for messages: `comment on #7`.
        needs: the permission that it needs, as in a workflow: `issues: write`.
        body: JSON body; None: no body.
        query: query parameters.
    """

    method: str
    path: str
    what: str
    needs: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(slots=True)
class RetryPolicy:
    """Remaining `seconds` for all pauses of the clients that share it, and a function that reports long pauses."""

    report: Callable[[str], None]
    seconds: float = 600.0
    sleep: Callable[[float], None] = time.sleep

    def pause(self, wait: float, status: int) -> None:
        """Wait, and report it if it is long.

        Args:
            wait: seconds.
            status: HTTP status of the answer; 0: there was no answer.

        Raises:
            RateLimitExceededExceedsMaxWait: the wait is longer than the remaining seconds.
        """
        if wait > self.seconds:
            raise RateLimitExceededExceedsMaxWait(status, wait=wait)
        self.seconds -= wait
        if wait > _SHOWN_PAUSE:
            reason = f"GitHub answered {status}" if status else "no answer from GitHub"
            self.report(f"{reason}; retrying in {wait:.0f} s")
        self.sleep(wait)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of a client.

    Attributes:
        between_writes: seconds between writes; GitHub asks for at least one, a local server needs none.
        backoff: seconds before the first retry if GitHub names no time; doubled for each later retry.
        max_calls: maximum requests of one client.
        timeout: maximum seconds for one answer.
        attempts: maximum attempts per request.
    """

    between_writes: float = 1.0
    backoff: float = 1.0
    max_calls: int = 300
    timeout: int = 30
    attempts: int = 4


class GitHubRepository:
    """Client of one repository, `OWNER/REPO`. Every method can raise GitHubError; `calls` counts requests."""

    def __init__(
        self, access: GitHubAccess, repository: str, retries: RetryPolicy, limits: RequestLimits | None = None
    ) -> None:
        self.access, self.repository, self.calls = access, repository, 0
        self._retries, self._limits = retries, limits or RequestLimits()
        self._requester = Github(
            auth=Auth.Token(access.token) if access.token else None,
            base_url=access.api,
            retry=None,
            timeout=self._limits.timeout,
            seconds_between_requests=None,
            seconds_between_writes=self._limits.between_writes,
        ).requester

    def send(self, request: ApiRequest) -> None:
        """Send a request that can be repeated safely, and ignore the answer."""
        self._explained(request, lambda: self._once(request))

    def read(self, request: ApiRequest, kind: type[R]) -> R:
        """Return the answer to a request that can be repeated safely."""
        return self.read_with_headers(request, kind)[1]

    def read_with_headers(self, request: ApiRequest, kind: type[R]) -> tuple[Mapping[str, Any], R]:
        """Return headers and answer of a request that can be repeated safely."""

        def attempt() -> tuple[Mapping[str, Any], R]:
            headers, data = self._once(request)
            return headers, kind.model_validate(data)

        return self._explained(request, attempt)

    def find(self, request: ApiRequest, kind: type[R], *missing: int) -> R | None:
        """Return the answer, or None if its HTTP status is one of `missing`."""
        try:
            return self.read(request, kind)
        except ApiRequestError as error:
            if error.status in missing:
                return None
            raise

    def create(self, request: ApiRequest, kind: type[R], search: Callable[[], R | None]) -> R:
        """Create an object exactly once.

        Args:
            request: request that creates it.
            kind: type of the answer.
            search: returns the object that an earlier attempt created, if its answer was lost.
        """
        return self._explained(request, lambda: kind.model_validate(self._once(request)[1] or {}), search)

    def pages(self, request: ApiRequest, kind: type[R], key: str = "") -> Iterator[R]:
        """Yield the items of all pages of a list.

        Args:
            request: the request, without page parameters.
            kind: type of an item.
            key: key of the list if the answer is an object; empty: the answer is the list.
        """
        for page in range(1, self._limits.max_calls + 2):
            query = {**request.query, "per_page": PAGE, "page": page}

            def attempt(query: Mapping[str, str | int] = query) -> tuple[str, list[R]]:
                headers, data = self._once(request, query)
                items = [kind.model_validate(item) for item in (data[key] if key else data)]
                return str(headers.get("link", "")), items

            link, items = self._explained(request, attempt)
            yield from items
            if 'rel="next"' not in link:
                return

    def graphql(self, request: GraphQLRequest) -> GraphQLResponse:
        """Return the answer to a GraphQL request; it contains the errors of single fields."""

        def attempt() -> GraphQLResponse:
            self._count(request.what)
            body = {"query": request.document, "variables": dict(request.variables)}
            address = self._requester.graphql_url
            return graphql_response(request, *self._requester.requestJsonAndCheck("POST", address, input=body))

        with explain_error(self.access, self.repository, request.what, request.needs):
            return self._retried(attempt, None)

    def upload(self, address: str, content: bytes, content_type: str, request: ApiRequest) -> None:
        """Upload a file to an address that GitHub gave; `request` has the method, the query and texts for messages."""

        def attempt() -> None:
            self._count(request.what)
            self._requester.requestMemoryBlobAndCheck(
                request.method, address, dict(request.query), {"Content-Type": content_type}, io.BytesIO(content)
            )

        self._explained(request, attempt)

    def _explained(
        self, request: ApiRequest, attempt: Callable[[], T], search: Callable[[], T | None] | None = None
    ) -> T:
        with explain_error(self.access, self.repository, request.what, request.needs):
            return self._retried(attempt, search)

    def _once(self, request: ApiRequest, query: Mapping[str, str | int] | None = None) -> tuple[dict[str, Any], Any]:
        self._count(request.what)
        path = request.path[1:] if request.path.startswith("//") else f"/repos/{self.repository}{request.path}"
        return self._requester.requestJsonAndCheck(
            request.method,
            path,
            parameters=dict(query or request.query) or None,
            input=None if request.body is None else dict(request.body),
        )

    def _count(self, what: str) -> None:
        if self.calls >= self._limits.max_calls:
            raise GitHubError(
                f"{self.repository}: cannot {what}: stopped after {counted(self.calls, 'request')}, the limit of one "
                "command; perhaps a list has too many pages"
            )
        self.calls += 1

    def _retried(self, attempt: Callable[[], T], search: Callable[[], T | None] | None) -> T:
        for number in range(self._limits.attempts):
            try:
                return attempt()
            except (GithubException, RequestException, HTTPError) as error:
                wait, may_be_done = self._wait(error, number)
                if wait is None or number == self._limits.attempts - 1:
                    raise
                self._retries.pause(wait, error.status if isinstance(error, GithubException) else 0)
                existing = search() if search and may_be_done else None
                if existing is not None:
                    return existing
        raise AssertionError("the last attempt returns or raises")

    def _wait(self, error: Exception, number: int) -> tuple[float | None, bool]:
        """Return the seconds before a retry (None: do not retry), and whether GitHub may have done the request."""
        backoff = self._limits.backoff * 2**number
        if not isinstance(error, GithubException):
            return None if isinstance(error, SSLError) else backoff, True
        if _is_rate_limit(error):
            return _requested_pause(error), False
        if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            after = retry_after_seconds(error.headers or {})
            return (backoff if after is None else after), True
        return None, False


def _is_rate_limit(error: GithubException) -> bool:
    headers = error.headers or {}
    is_announced = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    return error.status in _LIMITS and (
        is_announced or error.status == HTTPStatus.TOO_MANY_REQUESTS or isinstance(error, RateLimitExceededException)
    )


def _requested_pause(error: GithubException) -> float:
    """Return the pause that GitHub asks for, in seconds."""
    headers = error.headers or {}
    if (after := retry_after_seconds(headers)) is not None:
        return after
    reset = decimal_number(headers.get("x-ratelimit-reset", ""))
    if headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        return max(0.0, reset - time.time()) + 1
    return _SECONDARY_LIMIT_PAUSE


@contextmanager
def open_repository() -> Iterator[GitHubRepository]:
    """Open a client of GITHUB_REPOSITORY from Actions' environment variables; report the number of requests at the end.

    Raises:
        ConfigError: GITHUB_REPOSITORY or the token is not set.
    """
    name, access = os.environ.get("GITHUB_REPOSITORY", ""), access_from(os.environ)
    if not name:
        raise ConfigError("GITHUB_REPOSITORY is not set; set it to OWNER/REPO")
    if access.token is None:
        raise ConfigError("GITHUB_TOKEN is not set; in a step of Actions, set `env: GITHUB_TOKEN: ${{ github.token }}`")
    limits = RequestLimits(between_writes=0.0) if access.is_local else RequestLimits()
    repository = GitHubRepository(access, name, RetryPolicy(lambda text: click.echo(text, err=True)), limits)
    try:
        yield repository
    finally:
        click.echo(f"{repository.calls} API calls", err=True)
