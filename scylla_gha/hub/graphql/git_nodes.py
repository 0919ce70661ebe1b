"""Refs, commits, trees, blobs and tags as parents of resolvers, and their global ids."""

from dataclasses import dataclass
from typing import ClassVar, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_nodes import GitPrefix, git_node_id, parse_git_node
from scylla_gha.hub.git_store import GitCommit, is_sha
from scylla_gha.hub.operations.revisions import commit_at
from scylla_gha.hub.records import RepositoryRecord


@dataclass(frozen=True, slots=True)
class RefNode:
    """Ref by its full name, such as refs/heads/main."""

    graphql_type: ClassVar[str] = "Ref"
    repository: RepositoryRecord
    name: str

    @property
    def node_id(self) -> str:
        """Global id."""
        return git_node_id("REF", self.repository.id, self.name)


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """Object of git: `kind` is Commit, Tree, Blob or Tag. `path` is that of a tree or blob in its commit."""

    kind: str
    repository: RepositoryRecord
    sha: str

    @property
    def graphql_type(self) -> str:
        """Type in the schema."""
        return self.kind

    @property
    def node_id(self) -> str:
        """Global id."""
        return git_node_id(_PREFIXES[self.kind], self.repository.id, self.sha)


_PREFIXES: Final[dict[str, GitPrefix]] = {"Commit": "C", "Tree": "T", "Blob": "B", "Tag": "TA"}
_KINDS: Final[dict[str, str]] = {prefix: kind for kind, prefix in _PREFIXES.items()}


def commit_node(repository: RepositoryRecord, sha: str) -> ObjectNode:
    """Return a commit as a parent of resolvers."""
    return ObjectNode("Commit", repository, sha)


def commit_of(session: HubSession, node: ObjectNode) -> GitCommit:
    """Return the commit of a node."""
    return session.git(node.repository).commit(node.sha)


def object_node(session: HubSession, repository: RepositoryRecord, revision: str) -> ObjectNode | None:
    """Return the object that a revision such as HEAD, main:README.md or a SHA names; None if there is none."""
    git = session.git(repository)
    head, mark, path = revision.partition(":")
    sha = commit_at(session, repository, head)
    name = git.object_name(f"{sha}:{path}") if sha and mark else sha
    if name is None and is_sha(revision):
        name = git.object_name(f"{revision}^{{object}}")
    kind = git.kind_of(name) if name else None
    return ObjectNode(kind.capitalize(), repository, name) if name and kind else None


def git_node(session: HubSession, node: str) -> RefNode | ObjectNode | None:
    """Return the ref or object with a global id; None if there is none that the user may read."""
    parsed = parse_git_node(node)
    if parsed is None:
        return None
    prefix, id_, name = parsed
    repository = session.state.get(RepositoryRecord, id_)
    if repository is None or not session.may(repository, "read"):
        return None
    if prefix == "REF":
        return RefNode(repository, name) if session.git(repository).ref(name) else None
    kind = _KINDS[prefix]
    if not is_sha(name) or session.git(repository).kind_of(name) != kind.lower():
        return None
    return ObjectNode(kind, repository, name)
