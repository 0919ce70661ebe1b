"""The toolkit that runs now: which repository on GitHub it came from, and at which commit.

A checkout says so by its remote `origin`. An installed distribution says so by `direct_url.json`, which installers
write for a Git address or a folder (packaging.python.org, "Recording the Direct URL Origin", read 2026-11-22).
"""

import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from scylla_gha.adoption.caller import Toolkit
from scylla_gha.adoption.repository import Checkout, checkout_of, origin_of, published_commit
from scylla_gha.config.extras import direct_url
from scylla_gha.config.library import toolkit_root
from scylla_gha.errors import FixtureError

_ADDRESS: Final = re.compile(
    r"(?:git\+)?(?:https://(?:[^@/]+@)?|(?:ssh://)?git@)(?P<host>[\w.-]+)[:/](?P<name>[\w-]+/[\w.-]+?)(?:\.git)?/?"
)


def host_and_name(address: str) -> tuple[str, str] | None:
    """Host and OWNER/NAME of a Git address by HTTPS or SSH; None for any other address."""
    match = _ADDRESS.fullmatch(address)
    return (match["host"], match["name"]) if match else None


def running_toolkit() -> Toolkit | None:
    """The toolkit that runs now, at its full commit; None if neither checkout nor distribution name a repository."""
    return toolkit_of_checkout(toolkit_root()) or toolkit_of_distribution(direct_url())


def toolkit_of_checkout(root: Path) -> Toolkit | None:
    """The repository that a folder is a checkout of, at the newest commit of it that `origin` has too."""
    checkout = _checkout(root)
    commit = published_commit(checkout) if checkout else None
    name = host_and_name(origin_of(checkout) or "") if checkout else None
    return Toolkit(name[1], commit) if name and commit else None


def toolkit_of_distribution(direct_url: dict[str, Any]) -> Toolkit | None:
    """The repository that a distribution was installed from, by its `direct_url.json`.

    Args:
        direct_url: the file's content; a `file:` address stands for the repository that its folder came from.
    """
    url = str(direct_url.get("url", ""))
    commit = dict(direct_url.get("vcs_info") or {}).get("commit_id")
    if url.startswith("file://"):
        folder = Path(unquote(urlsplit(url).path))
        checkout = _checkout(folder)
        name = host_and_name(origin_of(checkout) or "") if checkout else None
        return Toolkit(name[1], str(commit)) if name and commit else toolkit_of_checkout(folder)
    name = host_and_name(url)
    return Toolkit(name[1], str(commit)) if name and commit else None


def _checkout(folder: Path) -> Checkout | None:
    try:
        return checkout_of(folder) if folder.is_dir() else None
    except FixtureError:
        return None
