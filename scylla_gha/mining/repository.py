"""Read access to the user's git repository, which changes nothing in it."""

import os
import posixpath
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.errors import FixtureError
from scylla_gha.prepare.git_directory import git
from scylla_gha.system import process

LINK: Final = "120000"
SUBMODULE: Final = "submodule"
UNREADABLE_NAME: Final = "file with a name that is not UTF-8"
ESCAPING_LINK: Final = "link that leads out of the repository"
PLURALS: Final = {
    SUBMODULE: "submodules",
    UNREADABLE_NAME: "files with names that are not UTF-8",
    ESCAPING_LINK: "links that lead out of the repository",
}
_SUBMODULE_MODE: Final = "160000"
_PATCH: Final = ("-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
_RECORD: Final = "\x1e"
_FIELD: Final = "\x1f"
# Inside a git hook these variables point to the hook's repository
_INHERITED: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
# Programs that the repository's own configuration names are not started, and no missing object is fetched
_PASSIVE: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never")


@dataclass(frozen=True, slots=True)
class RepositoryCheckout:
    """A working tree; `head` is None before the first commit."""

    root: Path
    git_dir: Path
    head: str | None


@dataclass(frozen=True, slots=True)
class UserCommit:
    """A commit with exactly one parent."""

    sha: str
    parent: str
    message: str


@dataclass(frozen=True, slots=True)
class CommitFile:
    """A file or link of a commit."""

    mode: str
    sha: str
    size: int


@dataclass(frozen=True, slots=True)
class CommitTree:
    """Files of a commit by path.

    Attributes:
        blobs: files and links that a fixture can hold.
        left_out: kinds of the other entries by path: `SUBMODULE`, `UNREADABLE_NAME` or `ESCAPING_LINK`.
            Bytes of a path that are not UTF-8 are surrogates.
    """

    blobs: dict[str, CommitFile]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        return sum(blob.size for blob in self.blobs.values())


def checkout_of(folder: Path) -> RepositoryCheckout:
    """Open the repository with this top folder.

    Raises:
        FixtureError: the folder is not a repository, or lies inside one.
    """
    root = folder.resolve()
    answer = _ask(root, "rev-parse", "--show-toplevel", "--absolute-git-dir")
    if answer is None and _ask(root, "rev-parse", "--is-bare-repository") == "true":
        raise FixtureError(f"{root}: is a bare repository, which has no files; name the folder of a clone of it")
    if answer is None:
        raise FixtureError(f"{root}: is not a git repository; run `git init` there, or name the folder of a repository")
    top, git_dir = answer.splitlines()
    if Path(top).resolve() != root:
        raise FixtureError(
            f"{root}: lies inside the repository {top}; workflows belong into its top folder: name that one"
        )
    return RepositoryCheckout(root, Path(git_dir), _ask(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"))


def _ask(root: Path, *args: str, stdin: bytes = b"") -> str | None:
    env = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    argv = ["git", "-c", f"safe.directory={root}", *_PASSIVE, "-C", str(root), *args]
    done = process.capture(argv, env=env, stdin=stdin)
    return done.stdout.decode(errors="surrogateescape").strip() if done.code == 0 else None


def is_shallow(checkout: RepositoryCheckout) -> bool:
    """Return True if the clone is shallow, so older commits are missing."""
    return _ask(checkout.root, "rev-parse", "--is-shallow-repository") == "true"


def origin_of(checkout: RepositoryCheckout) -> str | None:
    """Return the address of the remote `origin`; None if it does not exist."""
    return _ask(checkout.root, "config", "--get", "remote.origin.url")


def published_commit(checkout: RepositoryCheckout) -> str | None:
    """Return the newest commit of the checkout that is also on a branch of `origin`, or None."""
    refs = _ask(checkout.root, "for-each-ref", "--format=%(objectname)", "refs/remotes/origin")
    if not checkout.head or not refs:
        return None
    unpublished = _ask(checkout.root, "rev-list", checkout.head, "--not", "--remotes=origin")
    if not unpublished:
        return checkout.head
    oldest = unpublished.splitlines()[-1]
    return _ask(checkout.root, "rev-parse", "--verify", "--quiet", f"{oldest}^1")


def resolved(checkout: RepositoryCheckout, revision: str) -> str | None:
    """Return the commit that a branch, tag or hash names, also as a branch of `origin`; None if there is none."""
    if revision.startswith("-"):
        return None
    for name in (revision, f"refs/remotes/origin/{revision}"):
        commit = _ask(checkout.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if commit:
            return commit
    return None


def uncommitted(checkout: RepositoryCheckout) -> list[str]:
    """Return the paths that differ from the last commit or are untracked; nothing is written, and no filter runs."""
    status = ("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")
    output = _ask(checkout.root, "--no-optional-locks", *_without_filters(checkout), *status)
    # The first state has its leading blank stripped
    return [line.lstrip().partition(" ")[2].lstrip() for line in output.split("\0") if line] if output else []


def check_out(checkout: RepositoryCheckout, commit: str, folder: Path) -> None:
    """Write the files of a commit into an empty folder; no filter runs, and the repository stays as it is."""
    with tempfile.TemporaryDirectory() as scratch:
        env, options = {"GIT_INDEX_FILE": f"{scratch}/index"}, _without_filters(checkout)
        git(checkout.git_dir, *options, "read-tree", commit, env=env)
        git(checkout.git_dir, *options, "checkout-index", "--all", "--quiet", work_tree=folder, env=env)


def _without_filters(checkout: RepositoryCheckout) -> list[str]:
    """Return git's options that switch off the filters in the repository's configuration."""
    names = _ask(
        checkout.root, "config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$"
    )
    return [part for name in (names or "").splitlines() for part in ("-c", f"{name}=")]


def merge_base(checkout: RepositoryCheckout, one: str, other: str) -> str | None:
    """Return the commit at which two commits branched off; None if they have no common history."""
    return _ask(checkout.root, "merge-base", one, other) or None


def commit_message(checkout: RepositoryCheckout, commit: str) -> str:
    """Return a commit's message."""
    return (_ask(checkout.root, "log", "-1", "--no-show-signature", "--format=%B", commit) or "").strip()


def object_folder(checkout: RepositoryCheckout) -> Path:
    """Return the folder of git's objects, which linked worktrees share."""
    folder = _ask(checkout.root, "rev-parse", "--git-path", "objects") or "objects"
    return (checkout.root / folder).resolve()


def commits(checkout: RepositoryCheckout, most: int) -> list[UserCommit]:
    """Return the latest commits of the branch, newest first, without merges and commits whose parent is missing."""
    if checkout.head is None:
        return []
    form = f"--format=%H{_FIELD}%P{_FIELD}%B{_RECORD}"
    plain = ("--no-merges", "--no-show-signature", f"--max-count={most}", form)
    log = git(checkout.git_dir, "log", *plain, checkout.head)
    rows = [record.strip("\n").split(_FIELD, 2) for record in log.decode(errors="replace").split(_RECORD)]
    return [UserCommit(row[0], row[1], row[2].strip()) for row in rows if len(row) == 3 and row[1]]  # noqa: PLR2004


def changed(checkout: RepositoryCheckout, commit: UserCommit) -> dict[str, str]:
    """Return the kind of change per path: A (added), M (modified), D (deleted), T (type changed)."""
    output = git(checkout.git_dir, "diff-tree", "-r", "-z", "--no-renames", "--name-status", commit.parent, commit.sha)
    parts = output.decode(errors="surrogateescape").split("\0")[:-1]
    return dict(zip(parts[1::2], parts[::2], strict=True))


def tree_of(checkout: RepositoryCheckout, commit: str) -> CommitTree:
    """Return the files of a commit."""
    blobs: dict[str, CommitFile] = {}
    left_out: dict[str, str] = {}
    for line in git(checkout.git_dir, "ls-tree", "-r", "-z", "--long", commit).split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, sha, size = facts.decode().split()
        path = name.decode(errors="surrogateescape")
        if mode == _SUBMODULE_MODE:
            left_out[path] = SUBMODULE
        elif any("\udc80" <= character <= "\udcff" for character in path):  # bytes that are not UTF-8
            left_out[path] = UNREADABLE_NAME
        else:
            blobs[path] = CommitFile(mode, sha, int(size))
    for path in _escaping_links(checkout, blobs):
        del blobs[path]
        left_out[path] = ESCAPING_LINK
    return CommitTree(blobs, left_out)


def _escaping_links(checkout: RepositoryCheckout, blobs: dict[str, CommitFile]) -> list[str]:
    """Return the paths of links whose target is absolute or above the repository's top folder."""
    links = {path: blob for path, blob in blobs.items() if blob.mode == LINK}
    targets = contents(checkout, list(links.values())) if links else []
    return [path for path, target in zip(links, targets, strict=True) if _leads_out(path, os.fsdecode(target))]


def _leads_out(link: str, target: str) -> bool:
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(link), target))
    return posixpath.isabs(target) or whole == ".." or whole.startswith("../")


def contents(checkout: RepositoryCheckout, blobs: list[CommitFile]) -> list[bytes]:
    """Return the contents of files, in one call of git."""
    names = "".join(f"{blob.sha}\n" for blob in blobs).encode()
    output = git(checkout.git_dir, "cat-file", "--batch", stdin=names)
    texts, at = [], 0
    for blob in blobs:
        start = output.index(b"\n", at) + 1
        texts.append(output[start : start + blob.size])
        at = start + blob.size + 1
    return texts


def patch_of(checkout: RepositoryCheckout, commit: UserCommit, paths: list[str]) -> bytes:
    """Return the commit's patch of these paths."""
    return git(checkout.git_dir, "diff-tree", "-r", *_PATCH, commit.parent, commit.sha, "--", *_literal(paths))


def _literal(paths: list[str]) -> list[str]:
    return [f":(literal){path}" for path in paths]


def patch_without_earlier_change(checkout: RepositoryCheckout, commit: UserCommit, paths: list[str]) -> bytes | None:
    """Return the commit's patch of these paths, which also reverts the newest earlier change to them.

    Returns None if there is no earlier change, or if it cannot be undone apart from the commit.
    """
    newest = ("--no-merges", "--max-count=1", "--no-show-signature", "--format=%H %P", commit.parent)
    hashes = git(checkout.git_dir, "log", *newest, "--", *_literal(paths)).decode().split()
    if len(hashes) != 2:  # noqa: PLR2004
        return None
    undo = git(checkout.git_dir, "diff-tree", "-r", "-R", *_PATCH, hashes[1], hashes[0], "--", *_literal(paths))
    with tempfile.TemporaryDirectory() as scratch:
        # New objects are written beside the repository's own
        objects = {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(object_folder(checkout)),
            "GIT_INDEX_FILE": f"{scratch}/index",
        }
        try:
            git(checkout.git_dir, "read-tree", commit.sha, env=objects)
            git(checkout.git_dir, "apply", "--cached", stdin=undo, env=objects)
        except FixtureError:  # later changes overlap with it
            return None
        diff = ("diff-index", "--cached", *_PATCH, commit.parent)
        return git(checkout.git_dir, *diff, "--", *_literal(paths), env=objects)


def ignored(checkout: RepositoryCheckout, paths: list[str]) -> list[str]:
    """Return the paths that a .gitignore of the repository excludes."""
    names = "".join(f"{path}\0" for path in paths).encode()
    output = _ask(checkout.root, "check-ignore", "-z", "--stdin", stdin=names)  # None: no path is excluded
    return output.split("\0")[:-1] if output else []
