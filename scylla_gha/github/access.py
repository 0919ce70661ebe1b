"""Where GitHub's API is and who asks it, by the variables that Actions and `gh` set."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from scylla_gha.errors import GitHubError
from scylla_gha.proxy.addresses import is_loopback

PUBLIC: Final = "https://api.github.com"
_TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")


@dataclass(frozen=True, slots=True)
class Access:
    """`name` is the variable that the token came from; without a token GitHub answers little, of public things."""

    api: str = PUBLIC
    token: str | None = field(default=None, repr=False)
    name: str = _TOKENS[0]


def access_from(environ: Mapping[str, str]) -> Access:
    """The access that an environment gives.

    Raises:
        GitHubError: the address would send the token in clear text over a network, or what is there is no token.
    """
    api = environ.get("GITHUB_API_URL", "").strip().rstrip("/") or PUBLIC
    parts = urlsplit(api)
    local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or local):
        raise GitHubError("GITHUB_API_URL must be an https:// address, or http:// of this machine; "
                          f"unset it for {PUBLIC}")  # fmt: skip
    name = next((each for each in _TOKENS if environ.get(each, "").strip()), None)
    if name is None:
        return Access(api)
    token = environ[name].strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise GitHubError(f"{name} holds characters that no token has, such as blanks; set it anew")
    return Access(api, token, name)
