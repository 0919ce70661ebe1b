"""Refs, commits, trees, blobs and tags."""

import base64
import datetime
from pathlib import PurePosixPath
from typing import Any, Final

from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_store import GitCommit, GitSignature, GitTreeEntry
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.addresses import repository_path
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.git_nodes import ObjectNode, commit_node, commit_of, object_node
from scylla_gha.hub.graphql.sorting import in_order
from scylla_gha.hub.operations.check_facts import checks_of
from scylla_gha.hub.operations.pull_facts import pull_commits
from scylla_gha.hub.operations.repository_facts import user_of
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord

_OBJECTS: Final = ("Commit", "Tree", "Blob", "Tag")
_EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_PREFIX: Final = 7  # characters of an abbreviated SHA

for _kind in _OBJECTS:
    attributes(_kind, id="node_id", oid="sha", repository="repository")
constants("Commit", signature=None, onBehalfOf=None, pushedDate=None, viewerSubscription="UNSUBSCRIBED",
          viewerCanSubscribe=False)  # fmt: skip
constants("Blob", isTruncated=False)
no_items("Commit.comments", "Commit.deployments", "Commit.submodules")


@field("Repository.object")
def _object(
    repository: RepositoryRecord, session: HubSession, expression: str | None = None, oid: str | None = None
) -> ObjectNode | None:
    revision = expression if expression is not None else oid
    return object_node(session, repository, revision) if revision else None


@field(*(f"{kind}.abbreviatedOid" for kind in _OBJECTS))
def _short(node: ObjectNode, _session: HubSession) -> str:
    return node.sha[:_PREFIX]


@field(*(f"{kind}.{name}" for kind in _OBJECTS for name in ("commitUrl",)), "Commit.url")
def _url(node: ObjectNode, session: HubSession) -> str:
    return SITE + _path(node, session)


@field(*(f"{kind}.commitResourcePath" for kind in _OBJECTS), "Commit.resourcePath")
def _path(node: ObjectNode, session: HubSession) -> str:
    return f"{repository_path(session, node.repository)}/commit/{node.sha}"


@field("Commit.treeUrl")
def _tree_url(node: ObjectNode, session: HubSession) -> str:
    return f"{SITE}{repository_path(session, node.repository)}/tree/{node.sha}"


@field("Commit.treeResourcePath")
def _tree_path(node: ObjectNode, session: HubSession) -> str:
    return f"{repository_path(session, node.repository)}/tree/{node.sha}"


@field("Commit.zipballUrl")
def _zip_url(node: ObjectNode, session: HubSession) -> str:
    return f"https://codeload.github.com{repository_path(session, node.repository)}/legacy.zip/{node.sha}"


@field("Commit.tarballUrl")
def _tar_url(node: ObjectNode, session: HubSession) -> str:
    return f"https://codeload.github.com{repository_path(session, node.repository)}/legacy.tar.gz/{node.sha}"


@field("Commit.message")
def _message(node: ObjectNode, session: HubSession) -> str:
    return commit_of(session, node).message


@field("Commit.messageHeadline")
def _headline(node: ObjectNode, session: HubSession) -> str:
    return commit_of(session, node).headline


@field("Commit.messageBody")
def _message_body(node: ObjectNode, session: HubSession) -> str:
    return commit_of(session, node).body


@field("Commit.authoredDate")
def _authored(node: ObjectNode, session: HubSession) -> datetime.datetime:
    return commit_of(session, node).author.date


@field("Commit.committedDate")
def _committed(node: ObjectNode, session: HubSession) -> datetime.datetime:
    return commit_of(session, node).committer.date


def actor_of(session: HubSession, signature: GitSignature) -> dict[str, Any]:
    """Return the author, committer or tagger that a signature names."""
    user = user_of(session, signature)
    return {
        "name": signature.name,
        "email": signature.email,
        "date": signature.date,
        "user": user if user is not None and user.kind == "User" else None,
        "avatarUrl": f"https://avatars.githubusercontent.com/u/{user.id if user else 0}?v=4",
    }


@field("Commit.author")
def _author(node: ObjectNode, session: HubSession) -> dict[str, Any]:
    return actor_of(session, commit_of(session, node).author)


@field("Commit.committer")
def _committer(node: ObjectNode, session: HubSession) -> dict[str, Any]:
    return actor_of(session, commit_of(session, node).committer)


@connection("Commit.authors")
def _authors(node: ObjectNode, session: HubSession) -> list[dict[str, Any]]:
    commit = commit_of(session, node)
    named_authors = [line.partition(":")[2].strip() for line in commit.body.splitlines()
                     if line.casefold().startswith("co-authored-by:")]  # fmt: skip
    others = [(text.partition("<")[0].strip(), text.partition("<")[2].rstrip(">")) for text in named_authors]
    signatures = [GitSignature(name, email, commit.author.date) for name, email in others]
    return [actor_of(session, signature) for signature in (commit.author, *signatures)]


@field("Commit.authoredByCommitter")
def _by_committer(node: ObjectNode, session: HubSession) -> bool:
    commit = commit_of(session, node)
    return commit.author.email == commit.committer.email


@field("Commit.committedViaWeb")
def _via_web(node: ObjectNode, session: HubSession) -> bool:
    return commit_of(session, node).committer.email == "noreply@github.com"


@connection("Commit.parents")
def _parents(node: ObjectNode, session: HubSession) -> list[ObjectNode]:
    return [commit_node(node.repository, sha) for sha in commit_of(session, node).parents]


@field("Commit.tree")
def _tree(node: ObjectNode, session: HubSession) -> ObjectNode:
    return ObjectNode("Tree", node.repository, commit_of(session, node).tree)


def _changes(session: HubSession, node: ObjectNode) -> list[Any]:
    parents = commit_of(session, node).parents
    return session.git(node.repository).changed_files(parents[0] if parents else _EMPTY_TREE, node.sha)


@field("Commit.additions")
def _additions(node: ObjectNode, session: HubSession) -> int:
    return sum(file.additions for file in _changes(session, node))


@field("Commit.deletions")
def _deletions(node: ObjectNode, session: HubSession) -> int:
    return sum(file.deletions for file in _changes(session, node))


@field("Commit.changedFiles", "Commit.changedFilesIfAvailable")
def _changed_files(node: ObjectNode, session: HubSession) -> int:
    return len(_changes(session, node))


@connection("Commit.history")
def _history(
    node: ObjectNode, session: HubSession, *, path: str | None = None, since: str | None = None,
    until: str | None = None, author: Any = None,  # noqa: ANN401 GitHub's CommitAuthor
) -> list[ObjectNode]:  # fmt: skip
    limits = [f"--{name}={value}" for name, value in (("since", since), ("until", until)) if value]
    commits: list[GitCommit] = session.git(node.repository).log(*limits, node.sha, "--", *([path] if path else []))
    if author:
        commits = [commit for commit in commits if _is_by(session, commit, author)]
    return [commit_node(node.repository, commit.sha) for commit in commits]


def _is_by(session: HubSession, commit: GitCommit, author: Any) -> bool:  # noqa: ANN401 GitHub's CommitAuthor
    if commit.author.email in (author.get("emails") or ()):
        return True
    user: UserRecord | None = user_of(session, commit.author)
    record = session.state.by_node(author["id"]) if author.get("id") else None
    return user is not None and record is not None and user.id == record.id


def _has(session: HubSession, pull: PullRequestRecord, sha: str) -> bool:
    return any(commit.sha == sha for commit in pull_commits(session, pull))


@connection("Commit.associatedPullRequests")
def _pulls(node: ObjectNode, session: HubSession, *, orderBy: Any = None) -> list[PullRequestRecord]:  # noqa: ANN401, N803
    pulls = session.state.where(PullRequestRecord, repository=node.repository.id)
    having = [pull for pull in pulls if node.sha == pull.merge_commit or _has(session, pull, node.sha)]
    return in_order(having, orderBy)


@field("Commit.statusCheckRollup")
def _rollup(node: ObjectNode, session: HubSession) -> ObjectNode | None:
    if not checks_of(session, node.repository.id, node.sha):
        return None
    return ObjectNode("StatusCheckRollup", node.repository, node.sha)


# Trees, blobs, tags


@field("Tree.entries")
def _entries(node: ObjectNode, session: HubSession) -> list[dict[str, Any]]:
    return [_entry(node.repository, entry) for entry in session.git(node.repository).tree(node.sha)]


def _entry(repository: RepositoryRecord, entry: GitTreeEntry, folder: str = "") -> dict[str, Any]:
    is_object = entry.kind in ("blob", "tree")
    return {
        "name": entry.path,
        "nameRaw": base64.b64encode(entry.path.encode()).decode(),
        "path": folder + entry.path,
        "type": entry.kind,
        "mode": int(entry.mode, 8),
        "oid": entry.sha,
        "size": entry.size or 0,
        "extension": PurePosixPath(entry.path).suffix,
        "isGenerated": False,
        "object": ObjectNode(entry.kind.capitalize(), repository, entry.sha) if is_object else None,
        "repository": repository,
        "submodule": None,
    }


@field("Commit.file")
def _file(node: ObjectNode, session: HubSession, path: str) -> dict[str, Any] | None:
    folder, _, name = path.rpartition("/")
    parent = object_node(session, node.repository, f"{node.sha}:{folder}")
    if parent is None or parent.kind != "Tree":
        return None
    entries = session.git(node.repository).tree(parent.sha)
    entry = next((entry for entry in entries if entry.path == name), None)
    return _entry(node.repository, entry, f"{folder}/" if folder else "") if entry else None


def _content(node: ObjectNode, session: HubSession) -> bytes:
    return session.git(node.repository).content(node.sha) or b""


@field("Blob.byteSize")
def _byte_size(node: ObjectNode, session: HubSession) -> int:
    return len(_content(node, session))


@field("Blob.isBinary")
def _is_binary(node: ObjectNode, session: HubSession) -> bool:
    return b"\x00" in _content(node, session)


@field("Blob.text")
def _text(node: ObjectNode, session: HubSession) -> str | None:
    content = _content(node, session)
    return None if b"\x00" in content else content.decode(errors="replace")
