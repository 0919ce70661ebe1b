"""Address and token of GitHub's API, read from the variables that Actions and `gh` set."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from scylla_gha.egress_proxy.addresses import is_loopback
from scylla_gha.errors import GitHubError

PUBLIC: Final = "https://api.github.com"
_TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")


@dataclass(frozen=True, slots=True)
class GitHubAccess:
    """API address and token; without a token, only public data can be read, at a low rate limit.

    Attributes:
        api: base URL of the REST API.
        token: None: requests are anonymous.
        name: the variable that the token came from.
    """

    api: str = PUBLIC
    token: str | None = field(default=None, repr=False)
    name: str = _TOKENS[0]


def access_from(environ: Mapping[str, str]) -> GitHubAccess:
    """Read address and token from an environment.

    Raises:
        GitHubError: the address would send the token in clear text over a network, or the token is malformed.
    """
    api = environ.get("GITHUB_API_URL", "").strip().rstrip("/") or PUBLIC
    parts = urlsplit(api)
    is_local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or is_local):
        raise GitHubError("GITHUB_API_URL must be an https:// address, or http:// of this machine; "
                          f"unset it for {PUBLIC}")  # fmt: skip
    name = next((variable for variable in _TOKENS if environ.get(variable, "").strip()), None)
    if name is None:
        return GitHubAccess(api)
    token = environ[name].strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise GitHubError(f"{name} contains a character that no token has, such as a space; set it again")
    return GitHubAccess(api, token, name)
