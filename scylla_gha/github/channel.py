"""Requests that write to one repository: paced, counted, and tried again as GitHub asks for it.

PyGithub repeats POST blindly, so that a comment whose answer was lost is made twice, and PATCH never. Here nothing is
repeated below this module: what is made is searched for before it is made again, all else may be repeated as it is.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from github import Auth, Github
from github.GithubException import GithubException, RateLimitExceededException
from pydantic import BaseModel
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from scylla_gha.errors import GitHubError
from scylla_gha.github.access import Access
from scylla_gha.github.faults import Errand, explained
from scylla_gha.github.patience import Patience

PAGE: Final = 100  # GitHub's most
_TRIES: Final = 4
_BACKOFF: Final = 1.0  # seconds before the second try; each later pause is doubled
_SECONDARY: Final = 60.0  # GitHub asks for a minute at least where it names no time
_LIMITS: Final = {403, 429}
_SERVER_FAULT: Final = 500

T = TypeVar("T")
A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request; `path` is within the repository, or from the API's root where it begins with two slashes."""

    method: str
    path: str
    errand: Errand
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between writes, of which GitHub asks for one at least, and of the first pause before a repetition."""

    between_writes: float = 1.0
    backoff: float = _BACKOFF
    most_calls: int = 300


class Channel:
    """One repository, `OWNER/REPO`. All of it raises GitHubError, saying what to do; `calls` counts requests."""

    def __init__(self, access: Access, repository: str, patience: Patience, pace: Pace | None = None) -> None:
        self.access, self.repository, self.calls = access, repository, 0
        self._patience, self._pace = patience, pace or Pace()
        self._requester = Github(
            auth=Auth.Token(access.token) if access.token else None, base_url=access.api, retry=None, timeout=30,
            seconds_between_requests=None, seconds_between_writes=self._pace.between_writes,
        ).requester  # fmt: skip

    def send(self, ask: Ask) -> None:
        """Do what may be done twice, and take no notice of the answer."""
        with explained(self.access, self.repository, ask.errand):
            self._tried(lambda: self._once(ask), None)

    def read(self, ask: Ask, kind: type[A]) -> A:
        """The answer to what may be asked twice."""
        with explained(self.access, self.repository, ask.errand):
            return self._tried(lambda: kind.model_validate(self._once(ask)[1]), None)

    def create(self, ask: Ask, kind: type[A], search: Callable[[], A | None]) -> A:
        """Make what must not be made twice.

        Args:
            ask: the request.
            kind: of its answer.
            search: finds it where an earlier try made it and its answer was lost.
        """
        with explained(self.access, self.repository, ask.errand):
            return self._tried(lambda: kind.model_validate(self._once(ask)[1] or {}), search)

    def some(self, ask: Ask, kind: type[A]) -> list[A]:
        """The first page of a list."""
        with explained(self.access, self.repository, ask.errand):
            return self._tried(lambda: [kind.model_validate(one) for one in self._once(ask)[1]], None)

    def each(self, ask: Ask, kind: type[A], inside: str = "") -> Iterator[A]:
        """All that a list has, over all pages.

        Args:
            ask: the request, without a page.
            kind: of each.
            inside: the list's name, where the answer is an object that holds it.
        """
        page = 1
        while True:
            query = {**ask.query, "per_page": PAGE, "page": page}
            with explained(self.access, self.repository, ask.errand):
                headers, told = self._tried(lambda query=query: self._once(ask, query), None)  # type: ignore[misc]
                found = [kind.model_validate(one) for one in (told[inside] if inside else told)]
            yield from found
            if 'rel="next"' not in headers.get("link", ""):
                return
            page += 1

    def _once(self, ask: Ask, query: Mapping[str, str | int] | None = None) -> tuple[dict[str, Any], Any]:
        if self.calls >= self._pace.most_calls:
            raise GitHubError(f"{self.repository}: stopped after {self.calls} requests, when about to "
                              f"{ask.errand.what}: there are too many pages, or it goes round in circles")  # fmt: skip
        self.calls += 1
        path = ask.path[1:] if ask.path.startswith("//") else f"/repos/{self.repository}{ask.path}"
        return self._requester.requestJsonAndCheck(
            ask.method, path, parameters=dict(query or ask.query) or None,
            input=None if ask.body is None else dict(ask.body),
        )  # fmt: skip

    def _tried(self, attempt: Callable[[], T], search: Callable[[], T | None] | None) -> T:
        for number in range(_TRIES):
            try:
                return attempt()
            except (GithubException, RequestException, HTTPError) as error:
                wait, is_lost = self._wait(error, number)
                if wait is None or number == _TRIES - 1:
                    raise
                self._rest(wait, error)
                found = search() if search and is_lost else None
                if found is not None:
                    return found
        raise AssertionError("the last try returns or raises")

    def _wait(self, error: Exception, number: int) -> tuple[float | None, bool]:
        """Seconds before the next try, None where it would be in vain, and whether it may have been done."""
        backoff = self._pace.backoff * 2**number
        if not isinstance(error, GithubException):
            return backoff, True
        if _is_limit(error):
            return _asked_for(error), False
        return (backoff, True) if error.status >= _SERVER_FAULT else (None, False)

    def _rest(self, wait: float, error: Exception) -> None:
        self._patience.spend(wait, error.status if isinstance(error, GithubException) else 0)
        time.sleep(wait)


def _is_limit(error: GithubException) -> bool:
    headers = error.headers or {}
    told = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    return error.status in _LIMITS and (
        told or error.status == 429 or isinstance(error, RateLimitExceededException)  # noqa: PLR2004
    )


def _asked_for(error: GithubException) -> float:
    """The pause that GitHub asks for, in seconds."""
    headers = error.headers or {}
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if after.isdecimal():
        return float(after)
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - time.time()) + 1
    return _SECONDARY
