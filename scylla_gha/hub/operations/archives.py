"""Archives of source code: the addresses that the API redirects to, and the files behind them.

See https://docs.github.com/rest/repos/contents#download-a-repository-archive-zip
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.refs import BRANCH, TAG
from scylla_gha.hub.records import RepositoryRecord

_VERSION: Final = re.compile(r"v(?=\d)")


@dataclass(frozen=True, slots=True)
class SourceArchive:
    """Archive of a commit's files; `title` is the name of its folder, and of the file without its ending."""

    title: str
    content: bytes


def archive_address(session: HubSession, repository: RepositoryRecord, form: str, ref: str) -> str:
    """Return path and query of an archive; that of a private repository has a token, so it needs no credentials.

    Args:
        session: whose user may read the repository.
        repository: the repository.
        form: "zip" or "tar.gz".
        ref: branch, tag or commit; "" for the default branch. It need not exist.
    """
    refs, name = session.git(repository).refs(), ref or repository.default_branch
    full = next((full for full in (f"{BRANCH}{name}", f"{TAG}{name}") if full in refs), name)
    token = f"?token={_key(session, repository)}" if repository.private else ""
    return f"/{session.state.full_name(repository)}/legacy.{form}/{quote(full)}{token}"


def _key(session: HubSession, repository: RepositoryRecord) -> str:
    return hmac.new(session.hub.link_key, str(repository.id).encode(), hashlib.sha256).hexdigest()[:32].upper()


def may_download(session: HubSession, repository: RepositoryRecord, token: str) -> bool:
    """Return whether the user may read the repository, or has an address with its token."""
    return session.may(repository, "read") or hmac.compare_digest(token.encode(), _key(session, repository).encode())


def source_archive(
    session: HubSession, repository: RepositoryRecord, form: str, ref: str, *, by_commit: bool
) -> SourceArchive | None:
    """Return the files of a revision as an archive; None if there is no such revision.

    `by_commit`: it is named by owner, repository and commit, as the API does it; otherwise by repository and ref.
    """
    git = session.git(repository)
    sha = git.resolve(ref)
    if sha is None:
        return None
    owner, _, name = session.state.full_name(repository).partition("/")
    title = f"{owner}-{name}-{sha[:7]}" if by_commit else f"{name}-{_short_name(git.refs(), ref)}"
    return SourceArchive(title, git.run("archive", f"--format={form}", f"--prefix={title}/", sha))


def _short_name(refs: Mapping[str, str], ref: str) -> str:
    """Return a ref as names of archives have it: without `refs/heads/`, and a tag such as v1.2 without its v."""
    is_tag = ref.startswith(TAG) or (f"{TAG}{ref}" in refs and f"{BRANCH}{ref}" not in refs)
    short = ref.removeprefix(BRANCH).removeprefix(TAG)
    return (_VERSION.sub("", short, count=1) if is_tag and _VERSION.match(short) else short).replace("/", "-")
