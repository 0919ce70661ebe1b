"""Find the toolkit that a repository's workflows call, and the toolkit that is running.

The running toolkit's repository and commit come from the remote `origin` of its checkout, or, if it is installed, from
`direct_url.json`, which installers write for a Git address or a folder (packaging.python.org, "Recording the Direct URL
Origin", read 2026-11-22), or from a release's metadata.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from scylla_gha.config.installed_packages import direct_url, source_url
from scylla_gha.config.library import toolkit_root
from scylla_gha.errors import FixtureError
from scylla_gha.mining.repository import RepositoryCheckout, checkout_of, origin_of, published_commit

CALLER: Final = "scylla.yml"  # main workflow that `init` writes; the other workflows start it
SKILLS: Final = "scylla-skills.yml"  # main workflow that `init --skills` writes
_TOOLKIT: Final = re.compile(r"([A-Za-z0-9-]+/[\w.-]+)@([\w./-]+)")
_CALL: Final = re.compile(
    r"^[^\S\n]*-?[^\S\n]*uses:\s*[\"']?([A-Za-z0-9-]+/[\w.-]+)/\.github/(?:workflows|actions)/[\w.-]+@([\w./-]+)",
    re.MULTILINE,
)
_ADDRESS: Final = re.compile(
    r"(?:git\+)?(?:https://(?:[^@/]+@)?|(?:ssh://)?git@)(?P<host>[\w.-]+)[:/](?P<name>[\w-]+/[\w.-]+?)(?:\.git)?/?"
)
_SOURCE: Final = re.compile(r"https://github\.com/([\w-]+/[\w.-]+)/tree/([0-9a-f]{40})")
_SHA: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Repository of the reusable workflows, at a tag, branch or commit."""

    repository: str
    ref: str

    @property
    def is_pinned(self) -> bool:
        """True if the ref is a full commit SHA, which cannot be moved."""
        return bool(_SHA.fullmatch(self.ref))

    @property
    def schemas(self) -> str:
        """Address of the JSON Schemas, for editors."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.ref}/config/schemas/"

    def __str__(self) -> str:
        """Return `OWNER/REPO@REF`, as in a workflow."""
        return f"{self.repository}@{self.ref}"


def toolkit_named(text: str) -> Toolkit | None:
    """Parse `OWNER/REPO@REF`; None if the text does not have that form."""
    match = _TOOLKIT.fullmatch(text)
    return Toolkit(match[1], match[2]) if match else None


def toolkits_called(text: str) -> list[Toolkit]:
    """Return the toolkits that a workflow calls on lines that are not comments."""
    return [Toolkit(repository, ref) for repository, ref in _CALL.findall(text)]


def toolkit_here(root: Path) -> Toolkit | None:
    """Return the toolkit that a repository's main workflows call; None if they call none."""
    paths = [root / ".github/workflows" / name for name in (CALLER, SKILLS)]
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file())
    return next((toolkit for text in texts for toolkit in toolkits_called(text)), None)


def host_and_name(address: str) -> tuple[str, str] | None:
    """Return host and OWNER/NAME of a Git address by HTTPS or SSH; None for any other address."""
    match = _ADDRESS.fullmatch(address)
    return (match["host"], match["name"]) if match else None


def running_toolkit() -> Toolkit | None:
    """Return the running toolkit at its commit; None if neither checkout nor distribution names a repository."""
    return (
        toolkit_of_checkout(toolkit_root()) or toolkit_of_distribution(direct_url()) or toolkit_of_release(source_url())
    )


def toolkit_of_checkout(root: Path, commit: str | None = None) -> Toolkit | None:
    """Return a checkout's repository at `commit`, or at its newest commit that `origin` has; None if unknown."""
    checkout, repository = _checkout(root), repository_of_checkout(root)
    if checkout is None or repository is None:
        return None
    commit = commit or published_commit(checkout)
    return Toolkit(repository, commit) if commit else None


def toolkit_of_distribution(direct_url: dict[str, Any]) -> Toolkit | None:
    """Return the repository from which a distribution was installed, by its `direct_url.json`; None if unknown.

    For a `file:` address, it is the origin of that folder.
    """
    url = str(direct_url.get("url", ""))
    commit = dict(direct_url.get("vcs_info") or {}).get("commit_id")
    if url.startswith("file://"):
        return toolkit_of_checkout(Path(unquote(urlsplit(url).path)), commit)
    name = host_and_name(url)
    return Toolkit(name[1], str(commit)) if name and commit else None


def toolkit_of_release(source: str) -> Toolkit | None:
    """Return the toolkit of the address that the release workflow writes into a wheel's metadata; None for others."""
    match = _SOURCE.fullmatch(source)
    return Toolkit(match[1], match[2]) if match else None


def repository_of_checkout(root: Path) -> str | None:
    """Return OWNER/NAME of a checkout's `origin`, even if no commit is published; None if unknown."""
    checkout = _checkout(root)
    name = host_and_name(origin_of(checkout) or "") if checkout else None
    return name[1] if name else None


def _checkout(root: Path) -> RepositoryCheckout | None:
    try:
        return checkout_of(root) if root.is_dir() else None
    except FixtureError:
        return None
