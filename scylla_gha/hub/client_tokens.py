"""Tokens that are made for one client of GitHub, and decide which client asked, whatever its User-Agent says."""

import secrets
import string
from http import HTTPStatus
from typing import Final, Literal, get_args

from scylla_gha.hub.errors import HubError

TokenClient = Literal["git", "gh", "mcp", "program"]
TOKEN_CLIENTS: Final[tuple[TokenClient, ...]] = get_args(TokenClient)
GIT: Final[TokenClient] = "git"
ANY_CLIENT, NO_TOKEN = "any", "none"
_CHARACTERS: Final = string.ascii_letters + string.digits
_CLASSIC: Final = 36  # characters behind "ghp_", as GitHub's classic tokens have
_FINE_GRAINED: Final = (22, 59)  # characters of the two parts behind "github_pat_", as in fine-grained tokens


def new_token(client: TokenClient | None = None) -> str:
    """Return a token in GitHub's form: a fine-grained one for git, which may not use the API, else a classic one."""
    if client == GIT:
        return "github_pat_" + "_".join(_random(size) for size in _FINE_GRAINED)
    return f"ghp_{_random(_CLASSIC)}"


def _random(size: int) -> str:
    return "".join(secrets.choice(_CHARACTERS) for _ in range(size))


def api_refusal() -> HubError:
    """Return GitHub's answer to a fine-grained token that has not the permission for what it asks."""
    return HubError(HTTPStatus.FORBIDDEN, "Resource not accessible by personal access token")


def counted_client(name: str, token: str, *, asks_api: bool) -> str:
    """Return under which name a request is counted.

    The name in its User-Agent counts on the API only with a token that a client of the API has. Others are counted
    apart, since anybody can send any name. git over HTTP gives no access to the API, so its name counts there.

    Args:
        name: from User-Agent, without version.
        token: client that the token was made for, or "any" or "none".
        asks_api: whether the request is one of REST or GraphQL.
    """
    if not asks_api:
        return name
    if token == NO_TOKEN:
        return f"{name} without a token"
    if token == GIT:
        return f"{name} with git's token"
    return f"{name} on the API" if name == GIT else name
