"""JSON of commits and of the files that they change."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_diff import ChangedFile
from scylla_gha.hub.git_nodes import git_node_id
from scylla_gha.hub.git_store import GitCommit, GitSignature
from scylla_gha.hub.operations.repository_facts import user_of
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.rest.present import time, user
from scylla_gha.hub.rest.repository_json import api_url, site_url

UNSIGNED: Final = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def signature(who: GitSignature) -> dict[str, Any]:
    """Return name, address and time of an author or a committer."""
    return {"name": who.name, "email": who.email, "date": time(who.date)}


def short_commit(session: HubSession, repository: RepositoryRecord, sha: str) -> dict[str, Any]:
    """Return name and URL of a commit, as branches and tags have it."""
    return {"sha": sha, "url": f"{api_url(session, repository)}/commits/{sha}"}


def commit(session: HubSession, repository: RepositoryRecord, sha: str) -> dict[str, Any]:
    """Return a commit as lists have it."""
    record = session.git(repository).commit(sha)
    url, page = api_url(session, repository), site_url(session, repository)
    author, committer = user_of(session, record.author), user_of(session, record.committer)
    return {
        "sha": sha,
        "node_id": git_node_id("C", repository.id, sha),
        "commit": {
            "author": signature(record.author),
            "committer": signature(record.committer),
            "message": record.message,
            "tree": {"sha": record.tree, "url": f"{url}/git/trees/{record.tree}"},
            "url": f"{url}/git/commits/{sha}",
            "comment_count": 0,
            "verification": UNSIGNED,
        },
        "url": f"{url}/commits/{sha}",
        "html_url": f"{page}/commit/{sha}",
        "comments_url": f"{url}/commits/{sha}/comments",
        "author": user(author) if author else None,
        "committer": user(committer) if committer else None,
        "parents": [
            {"sha": parent, "url": f"{url}/commits/{parent}", "html_url": f"{page}/commit/{parent}"}
            for parent in record.parents
        ],
    }


def commit_files(session: HubSession, repository: RepositoryRecord, sha: str) -> Sequence[ChangedFile]:
    """Return the files that a commit changes against its first parent."""
    git = session.git(repository)
    parents = git.commit(sha).parents
    return git.changed_files(parents[0] if parents else EMPTY_TREE, sha)


def full_commit(session: HubSession, repository: RepositoryRecord, sha: str) -> dict[str, Any]:
    """Return a commit with its files, as it is answered by itself."""
    files = commit_files(session, repository, sha)
    additions, deletions = sum(file.additions for file in files), sum(file.deletions for file in files)
    return {
        **commit(session, repository, sha),
        "stats": {"total": additions + deletions, "additions": additions, "deletions": deletions},
        "files": [changed_file(session, repository, file, sha) for file in files],
    }


def changed_file(session: HubSession, repository: RepositoryRecord, file: ChangedFile, sha: str) -> dict[str, Any]:
    """Return a file of a diff whose new side is a commit."""
    url, page, path = api_url(session, repository), site_url(session, repository), quote(file.path)
    return {
        "sha": file.blob,
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": f"{page}/blob/{sha}/{quote(file.path, safe='')}",
        "raw_url": f"{page}/raw/{sha}/{quote(file.path, safe='')}",
        "contents_url": f"{url}/contents/{path}?ref={sha}",
        **({"patch": file.patch} if file.patch is not None else {}),
        **({"previous_filename": file.previous} if file.previous else {}),
    }


def git_commit(session: HubSession, repository: RepositoryRecord, record: GitCommit) -> dict[str, Any]:
    """Return a commit as an object of git."""
    url, page = api_url(session, repository), site_url(session, repository)
    return {
        "sha": record.sha,
        "node_id": git_node_id("C", repository.id, record.sha),
        "url": f"{url}/git/commits/{record.sha}",
        "html_url": f"{page}/commit/{record.sha}",
        "author": signature(record.author),
        "committer": signature(record.committer),
        "tree": {"sha": record.tree, "url": f"{url}/git/trees/{record.tree}"},
        "message": record.message,
        "parents": [
            {"sha": parent, "url": f"{url}/git/commits/{parent}", "html_url": f"{page}/commit/{parent}"}
            for parent in record.parents
        ],
        "verification": UNSIGNED,
    }
