"""Address and token of GitHub's API, and error messages that say what to do; none contains the token."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from github.GithubException import GithubException, RateLimitExceededExceedsMaxWait, RateLimitExceededException
from requests.exceptions import RequestException, SSLError
from urllib3.exceptions import HTTPError

from scylla_gha.egress_proxy import is_loopback
from scylla_gha.errors import GitHubError
from scylla_gha.model import one_line

PUBLIC: Final = "https://api.github.com"
REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9_.-]+")  # OWNER/REPO
_TOKEN_VARIABLES: Final = ("GITHUB_TOKEN", "GH_TOKEN")
_MAX_CHARACTERS: Final = 200
# Raised by PyGithub and pydantic if the response does not have the expected form
_UNREADABLE: Final = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class GitHubAccess:
    """API address and token; without a token, only public data can be read, at a low rate limit.

    Attributes:
        api: base URL of the REST API.
        token: None if requests are anonymous.
        name: environment variable of the token.
    """

    api: str = PUBLIC
    token: str | None = field(default=None, repr=False)
    name: str = _TOKEN_VARIABLES[0]

    @property
    def is_local(self) -> bool:
        """True for a server on this machine; requests to it need no pauses."""
        return is_loopback(urlsplit(self.api).hostname or "")


def access_from(environ: Mapping[str, str]) -> GitHubAccess:
    """Read address and token from an environment.

    Raises:
        GitHubError: the address would send the token in clear text over a network, or the token is malformed.
    """
    api = environ.get("GITHUB_API_URL", "").strip().rstrip("/") or PUBLIC
    parts = urlsplit(api)
    is_local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or is_local):
        raise GitHubError(
            f"GITHUB_API_URL must be an https:// address, or http:// of this machine; unset it for {PUBLIC}"
        )
    name = next((variable for variable in _TOKEN_VARIABLES if environ.get(variable, "").strip()), None)
    if name is None:
        return GitHubAccess(api)
    token = environ[name].strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise GitHubError(f"{name} contains a character that no token has, such as a space; set it again")
    return GitHubAccess(api, token, name)


class ApiRequestError(GitHubError):
    """GitHub answered with an error; `status` is its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def explain_error(access: GitHubAccess, repository: str, what: str, needs: str) -> Iterator[None]:
    """Turn every failure of a request into an error that says what to do.

    Args:
        access: address and token.
        repository: OWNER/NAME.
        what: the operation, for messages, such as `comment on #7`.
        needs: the permission that it needs, as in a workflow: `issues: write`.

    Raises:
        ApiRequestError: GitHub answered with an error status.
        GitHubError: the rate limit is reached, GitHub cannot be reached, or the response is not GitHub's.
    """
    try:
        yield
    except _UNREADABLE:
        raise GitHubError(f"{access.api} does not answer as GitHub's API does; check GITHUB_API_URL") from None
    except RateLimitExceededException as error:
        raise GitHubError(_rate_limited(error, access)) from None
    except GithubException as error:
        message = f"{repository}: cannot {what}{_refused(error, access, needs)}"
        raise ApiRequestError(
            _rate_limited(error, access) if error.status == HTTPStatus.TOO_MANY_REQUESTS else message, error.status
        ) from None
    except (RequestException, HTTPError) as error:
        raise GitHubError(_unreachable(error, access)) from None


def _rate_limited(error: GithubException, access: GitHubAccess) -> str:
    wait = error.wait if isinstance(error, RateLimitExceededExceedsMaxWait) else None
    when = "later"
    if wait is not None:
        when = f"after {(datetime.now(UTC) + timedelta(seconds=wait)):%H:%M} UTC, in {wait / 60:.0f} min"
    if error.status not in {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}:
        return f"GitHub is unavailable ({error.status or 'no answer'}); try again {when}"
    hint = "" if access.token else ", or set GITHUB_TOKEN: the rate limit with a token is far higher"
    return f"GitHub's rate limit is reached; try again {when}{hint}"


def _refused(error: GithubException, access: GitHubAccess, permission: str) -> str:
    """Return the second half of the message: reason, status and what to do."""
    status = f"({error.status}{_github_message(error)})"
    token = f"{access.name} needs the permission `{permission}`" if permission else "set another one"
    if error.status == HTTPStatus.UNAUTHORIZED:
        reason = f"{access.name} is invalid or expired" if access.token else "GitHub requires a token"
        return f": {reason} {status}; {token}"
    if error.status == HTTPStatus.FORBIDDEN:
        return f": GitHub denied it {status}; {token}"
    if error.status == HTTPStatus.NOT_FOUND:
        hidden = f"{access.name} cannot see it" if access.token else "it is private"
        return f": not found, or {hidden} {status}; check the name; {token}"
    return f" {status}" + ("; try again later" if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR else "")


def _github_message(error: GithubException) -> str:
    """Return GitHub's error message, without control characters."""
    text = str(error.data.get("message") or "") if isinstance(error.data, dict) else ""
    return f": {one_line(text)[:_MAX_CHARACTERS]}" if text else ""


def _unreachable(error: Exception, access: GitHubAccess) -> str:
    if isinstance(error, SSLError):
        return f"{access.api}: its certificate is not trusted here ({_cause(error)}); check GITHUB_API_URL"
    return f"{access.api} cannot be reached ({_cause(error)}); check the network and GITHUB_API_URL, and try again"


def _cause(error: BaseException) -> str:
    """Return the innermost error's message."""
    inner = error.args[0] if error.args else None
    reason = getattr(inner, "reason", None)
    if isinstance(reason, BaseException):
        return _cause(reason)
    return one_line(str(error))[:_MAX_CHARACTERS]
