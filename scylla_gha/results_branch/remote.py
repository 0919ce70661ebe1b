"""Address of the results branch and git's login for it, with the command-line options that select them.

The token is passed to git in its environment only: arguments, files and messages never contain it. It is GitHub's, so
no other host receives it.
"""

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from scylla_gha import process
from scylla_gha.egress_proxy.addresses import is_loopback
from scylla_gha.errors import ConfigError

_TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")
_SERVER: Final = "https://github.com"
# Variables that git needs to reach a host: proxies, trusted certificates, ssh keys.
_WAYS: Final = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
                "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "SSH_AUTH_SOCK")  # fmt: skip
_OF_SSH: Final = re.compile(r"(ssh://[^-\s][^\s]*|[A-Za-z0-9_.]+@[A-Za-z0-9.-]+:[^\s]+)")


@dataclass(frozen=True, slots=True)
class GitRemote:
    """An address, and the environment variables that git needs to reach it."""

    url: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


def remote_from(named: str, environ: Mapping[str, str]) -> GitRemote:
    """Return the remote of an address or of a local repository's path.

    Raises:
        ConfigError: the address is not allowed.
    """
    if (folder := Path(named)).is_dir():
        return GitRemote(f"file://{folder.resolve()}")
    if named.startswith("file:///"):
        return GitRemote(named)
    ways = {name: environ[name] for name in _WAYS if name in environ}
    if _OF_SSH.fullmatch(named):
        return GitRemote(named, ways)
    parts = urlsplit(named)
    local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or local):
        raise ConfigError(f"--remote {_shown(named)}: neither a repository's folder, nor an https:// or ssh address")
    if "@" in parts.netloc:
        raise ConfigError(f"--remote {_shown(named)}: holds a user or a password, which would be written into files; "
                          f"leave it out, and set {_TOKENS[0]}")  # fmt: skip
    return GitRemote(named, {**ways, **_login(named, environ)})


def own_remote(environ: Mapping[str, str]) -> str | None:
    """Return the address of the workflow run's repository; None outside of Actions."""
    repository = environ.get("GITHUB_REPOSITORY")
    return f"{_server(environ)}/{repository}" if repository else None


def _server(environ: Mapping[str, str]) -> str:
    return (environ.get("GITHUB_SERVER_URL", "").strip() or _SERVER).rstrip("/")


def _login(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration with which git logs in to GitHub, and to no other host."""
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
    """Return an address without a user or password."""
    return re.sub(r"//[^/@]*@", "//***@", named)


BRANCH = "scylla-results"
remote_option = click.option("--remote", metavar="URL-OR-PATH",
                      help="Repository of the results branch; else that of the workflow run, or `origin`.")  # fmt: skip
branch_option = click.option("--branch", default=BRANCH, show_default=True, metavar="NAME", help="The results branch.")


def chosen_remote(named: str | None) -> GitRemote:
    """Return the named remote, else the workflow run's repository, else `origin` of the current repository.

    Raises:
        ConfigError: there is none, or its address is not allowed.
    """
    return remote_from(named or own_remote(os.environ) or _origin(), os.environ)


def _origin() -> str:
    done = process.capture(["git", "config", "--get", "remote.origin.url"])
    found = done.stdout.decode(errors="replace").strip()
    if done.code or not found:
        raise ConfigError("--remote: say where the results branch is; this folder is in no repository with an `origin`")
    return found
