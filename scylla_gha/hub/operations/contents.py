"""Changes of files on a branch by one commit, without a clone."""

from collections.abc import Sequence
from dataclasses import dataclass

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_objects import write_blob, write_commit, write_tree
from scylla_gha.hub.git_store import GitRepository, GitSignature, is_ref_name
from scylla_gha.hub.operations.git_data import check_message, check_path, check_storage
from scylla_gha.hub.operations.refs import BRANCH, DECLINED, RefRefusedError, change_ref
from scylla_gha.hub.records import RepositoryRecord


@dataclass(frozen=True, slots=True)
class FileChange:
    """New content of a file; None deletes it."""

    path: str
    content: bytes | None


@dataclass(frozen=True, slots=True)
class CommitText:
    """Message of a commit with its author and committer."""

    message: str
    author: GitSignature
    committer: GitSignature


def commit_changes(
    session: HubSession, repository: RepositoryRecord, branch: str, changes: Sequence[FileChange], text: CommitText
) -> str:
    """Commit changes on top of a branch, and return the commit; in an empty repository the branch is made.

    Raises:
        HubError: the user may not, the branch does not exist, a path is impossible, or protection refuses it.
    """
    session.require(repository, "write")
    git = session.git(repository)
    old = git.branch(branch)
    check_message(text.message)
    check_storage(git)
    if (old is None and git.branches()) or not is_ref_name(f"{BRANCH}{branch}"):
        raise HubError(404, f"Branch {branch[:250]} not found")
    entries = [_entry(git, old, change) for change in changes]
    tree = write_tree(git, old, entries)
    sha = write_commit(git, tree, [old] if old else [], text.message, text.author, text.committer)
    change_ref(session, repository, f"{BRANCH}{branch}", sha)
    return sha


def _entry(git: GitRepository, base: str | None, change: FileChange) -> tuple[str, str, str | None]:
    check_path(change.path, "path")
    if change.content is None:
        if base is None or git.kind_of(f"{base}:{change.path}") != "blob":
            raise HubError(404, "Not Found")
        return change.path, "100644", None
    folders = change.path.split("/")[:-1]
    above = ["/".join(folders[: at + 1]) for at in range(len(folders))]
    if base and any(git.kind_of(f"{base}:{folder}") == "blob" for folder in above):
        raise HubError(422, "A file exists where you're trying to create a subdirectory.")
    if base and git.kind_of(f"{base}:{change.path}") == "tree":
        raise HubError(422, f"{change.path} is a directory")
    return change.path, _mode(git, base, change.path), write_blob(git, change.content)


def _mode(git: GitRepository, base: str | None, path: str) -> str:
    """Return the mode of a file that stays executable if it was."""
    folder, _, name = path.rpartition("/")
    if base is None or git.kind_of(f"{base}:{folder}") != "tree":
        return "100644"
    modes = {entry.path: entry.mode for entry in git.tree(f"{base}:{folder}")}
    return "100755" if modes.get(name) == "100755" else "100644"


def commit_file(
    session: HubSession,
    repository: RepositoryRecord,
    branch: str,
    change: FileChange,
    sha: str | None,
    text: CommitText,
) -> tuple[str, bool]:
    """Commit a change of one file whose blob must be `sha` (None: there is no such file).

    Returns:
        The commit, and whether the file is new.

    Raises:
        HubError: 409, the file is another one, or protection refuses it; and as of `commit_changes`.
    """
    session.require(repository, "write")
    git = session.git(repository)
    tip = git.branch(branch)
    check_path(change.path, "path")
    is_file = tip is not None and git.kind_of(f"{tip}:{change.path}") == "blob"
    if is_file and sha is None:
        raise HubError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if not is_file and change.content is None:
        raise HubError(404, "Not Found")
    if sha is not None and (not is_file or git.object_name(f"{tip}:{change.path}") != sha):
        raise HubError(409, f"{change.path} does not match {sha[:40]}")
    verb = "delete" if change.content is None else "update" if is_file else "create"
    try:
        return commit_changes(session, repository, branch, [change], text), not is_file
    except RefRefusedError as error:
        if error.reason == DECLINED:
            raise HubError(409, f"Could not {verb} file: {error.message}") from None
        raise
