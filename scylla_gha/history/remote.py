"""Where the results branch is, and who asks for it.

The token goes to git in its environment alone: arguments, files and messages never hold it. It is GitHub's, so no
other host is sent it.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scylla_gha.errors import ConfigError
from scylla_gha.proxy.addresses import is_loopback

_TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")
_SERVER: Final = "https://github.com"
# What git needs of the caller to reach a host: ways through proxies, trusted certificates, keys of ssh.
_WAYS: Final = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
                "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "SSH_AUTH_SOCK")  # fmt: skip
_OF_SSH: Final = re.compile(r"(ssh://[^-\s][^\s]*|[A-Za-z0-9_.]+@[A-Za-z0-9.-]+:[^\s]+)")


@dataclass(frozen=True, slots=True)
class Remote:
    """An address, and what git needs in its environment to speak to it."""

    url: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


def remote_from(named: str, environ: Mapping[str, str]) -> Remote:
    """The remote of an address or of a local repository's path.

    Raises:
        ConfigError: the address is none that may be used.
    """
    if (folder := Path(named)).is_dir():
        return Remote(f"file://{folder.resolve()}")
    if named.startswith("file:///"):
        return Remote(named)
    ways = {name: environ[name] for name in _WAYS if name in environ}
    if _OF_SSH.fullmatch(named):
        return Remote(named, ways)
    parts = urlsplit(named)
    local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or local):
        raise ConfigError(f"--remote {_shown(named)}: neither a repository's folder, nor an https:// or ssh address")
    if "@" in parts.netloc:
        raise ConfigError(f"--remote {_shown(named)}: holds a user or a password, which would be written into files; "
                          f"leave it out, and set {_TOKENS[0]}")  # fmt: skip
    return Remote(named, {**ways, **_login(named, environ)})


def own_remote(environ: Mapping[str, str]) -> str | None:
    """The address of the repository that a workflow run belongs to; None elsewhere."""
    repository = environ.get("GITHUB_REPOSITORY")
    return f"{_server(environ)}/{repository}" if repository else None


def _server(environ: Mapping[str, str]) -> str:
    return (environ.get("GITHUB_SERVER_URL", "").strip() or _SERVER).rstrip("/")


def _login(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The configuration that makes git log in to GitHub, and to nobody else."""
    server = _server(environ)
    token = next((environ[name].strip() for name in _TOKENS if environ.get(name, "").strip()), "")
    if not token or not url.startswith(f"{server}/"):
        return {}
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{server}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
    }


def _shown(named: str) -> str:
    """An address without what may be a password in it."""
    return re.sub(r"//[^/@]*@", "//***@", named)
