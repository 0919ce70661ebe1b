"""What goes wrong between here and GitHub, as a message that says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from github.GithubException import (
    BadAttributeException,
    GithubException,
    IncompletableObject,
    RateLimitExceededExceedsMaxWait,
    RateLimitExceededException,
)
from requests.exceptions import RequestException, RetryError, SSLError
from urllib3.exceptions import HTTPError

from scylla_gha.errors import GitHubError
from scylla_gha.github.access import Access

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500
_MOST_WORDS: Final = 200
# What PyGithub raises at an answer of another form than GitHub's
_UNREADABLE: Final = (
    BadAttributeException, IncompletableObject,
    AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


class RefusedRequestError(GitHubError):
    """GitHub answered, and did not do it; `status` is its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Errand:
    """What is asked of GitHub, in words, and the permission that it takes, as a workflow writes it."""

    what: str
    needs: str


@contextmanager
def explained(access: Access, repository: str, errand: Errand | None = None) -> Iterator[None]:
    """Turn every failure of a request into a message; none holds the token.

    Args:
        access: by which it is asked.
        repository: of which.
        errand: None: something of the repository is read.

    Raises:
        GitHubError: there was one.
    """
    try:
        yield
    except _UNREADABLE:
        raise GitHubError(nonsense(access)) from None
    except RateLimitExceededException as error:
        raise GitHubError(_limited(error, access)) from None
    except GithubException as error:
        said = _refused(error, access, repository) if errand is None else _errand_refused(error, access, errand)
        raise RefusedRequestError(f"{repository}: {said}" if errand else said, error.status) from None
    except (RequestException, HTTPError) as error:
        raise GitHubError(_unreached(error, access)) from None


def nonsense(access: Access) -> str:
    """What to say of an answer that is none of GitHub's API."""
    return f"{access.api} does not answer as GitHub's API does; check GITHUB_API_URL"


def _limited(error: GithubException, access: Access) -> str:
    wait = error.wait if isinstance(error, RateLimitExceededExceedsMaxWait) else None
    when = "later"
    if wait is not None:
        when = f"after {(datetime.now(UTC) + timedelta(seconds=wait)):%H:%M} UTC, in {wait / 60:.0f} min"
    if error.status not in {_FORBIDDEN, _TOO_MANY}:
        return f"GitHub is out of order ({error.status or 'no answer'}); try again {when}"
    more = "" if access.token else ", or set GITHUB_TOKEN: with a token GitHub answers far more"
    return f"GitHub's rate limit is reached; try again {when}{more}"


def _refused(error: GithubException, access: Access, repository: str) -> str:
    said = _words(error)
    anew = f"set {access.name} to a token that may read the contents and pull requests of {repository}"
    if error.status == _UNAUTHORIZED:
        held = f"takes {access.name} for wrong or expired" if access.token else "wants a token"
        return f"GitHub {held} (401{said}); {anew}"
    if error.status == _FORBIDDEN:
        return f"{repository}: GitHub forbids it (403{said}); {anew}"
    if error.status == _NOT_FOUND:
        seen = "the token may not see it" if access.token else "it is private"
        return f"{repository}: GitHub knows no such repository, or {seen}; check the name, or {anew}"
    if error.status == _TOO_MANY:
        return _limited(error, access)
    return f"{repository}: GitHub answers {error.status}{said}; try again later"


def _errand_refused(error: GithubException, access: Access, errand: Errand) -> str:
    said = f"({error.status}{_words(error)})"
    if error.status == _UNAUTHORIZED:
        return f"cannot {errand.what}: GitHub takes {access.name} for wrong, expired or missing {said}"
    if error.status == _FORBIDDEN:
        return f"GitHub forbids to {errand.what} {said}; {access.name} needs the permission `{errand.needs}`"
    if error.status == _NOT_FOUND:
        return (f"cannot {errand.what}: GitHub knows no such thing, or {access.name} may not see it {said}; "
                f"it needs the permission `{errand.needs}`")  # fmt: skip
    if error.status == _TOO_MANY:
        return _limited(error, access)
    return f"cannot {errand.what} {said}" + ("; try again later" if error.status >= _SERVER_FAULT else "")


def _words(error: GithubException) -> str:
    """GitHub's own message, as far as it is fit to be printed."""
    text = str(error.data.get("message") or "") if isinstance(error.data, dict) else ""
    return f": {''.join(filter(str.isprintable, text))[:_MOST_WORDS]}" if text else ""


def _unreached(error: Exception, access: Access) -> str:
    if isinstance(error, RetryError):
        return f"{access.api} answered with an error at each of several tries; try again later ({_cause(error)})"
    if isinstance(error, SSLError):
        return f"{access.api}: its certificate is not trusted here ({_cause(error)}); check GITHUB_API_URL"
    return f"{access.api} cannot be reached ({_cause(error)}); check the network and GITHUB_API_URL, and try again"


def _cause(error: BaseException) -> str:
    """The innermost reason that the layers below give."""
    inner = error.args[0] if error.args else None
    reason = getattr(inner, "reason", None)
    if isinstance(reason, BaseException):
        return _cause(reason)
    return "".join(filter(str.isprintable, str(error)))[:_MOST_WORDS]
