"""A user's repository as git tells of it: nothing of it is checked out, changed or configured."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha import proc
from scylla_gha.errors import FixtureError
from scylla_gha.seeding.git import git

LINK: Final = "120000"
_SUBMODULE: Final = "160000"
_RECORD: Final = "\x1e"
_FIELD: Final = "\x1f"
# git's variables point a hook's commands at its own repository
_INHERITED: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree; `head` is None where nothing was committed yet."""

    root: Path
    git_dir: Path
    head: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with exactly one parent, which is there."""

    sha: str
    parent: str
    message: str


@dataclass(frozen=True, slots=True)
class Blob:
    """A file or a link of a commit."""

    mode: str
    sha: str
    size: int


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a commit by path; `whole` is false where submodules or names that are no UTF-8 are left out."""

    blobs: dict[str, Blob]
    whole: bool

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(blob.size for blob in self.blobs.values())


def checkout_of(folder: Path) -> Checkout:
    """The repository whose top folder this is.

    Raises:
        FixtureError: it is none, or a folder inside of one.
    """
    root = folder.resolve()
    place = _ask(root, "rev-parse", "--show-toplevel", "--absolute-git-dir")
    if place is None:
        raise FixtureError(f"{root}: is no git repository; make it one by `git init`, or give the folder of one")
    top, git_dir = place.splitlines()
    if Path(top).resolve() != root:
        raise FixtureError(f"{root}: lies inside the repository {top}; workflows belong to its top: give that folder")
    return Checkout(root, Path(git_dir), _ask(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"))


def _ask(root: Path, *args: str) -> str | None:
    env = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    done = proc.capture(["git", "-c", f"safe.directory={root}", "-C", str(root), *args], env=env)
    return done.stdout.decode(errors="surrogateescape").strip() if done.code == 0 else None


def origin_of(checkout: Checkout) -> str | None:
    """The address of the remote `origin`; None where there is none."""
    return _ask(checkout.root, "config", "--get", "remote.origin.url")


def published_commit(checkout: Checkout) -> str | None:
    """The newest commit of the checkout that a branch of `origin` has too; None where there is none."""
    refs = _ask(checkout.root, "for-each-ref", "--format=%(objectname)", "refs/remotes/origin")
    if not checkout.head or not refs:
        return None
    unpublished = _ask(checkout.root, "rev-list", checkout.head, "--not", "--remotes=origin")
    if not unpublished:
        return checkout.head
    oldest = unpublished.splitlines()[-1]
    return _ask(checkout.root, "rev-parse", "--verify", "--quiet", f"{oldest}^1")


def commits(checkout: Checkout, most: int) -> list[Commit]:
    """The latest commits of the checked-out branch, newest first, without merges and those without a parent here."""
    if checkout.head is None:
        return []
    form = f"--format=%H{_FIELD}%P{_FIELD}%B{_RECORD}"
    told = git(checkout.git_dir, "log", "--no-merges", f"--max-count={most}", form, checkout.head)
    found = [each.strip("\n").split(_FIELD, 2) for each in told.decode(errors="replace").split(_RECORD)]
    return [Commit(each[0], each[1], each[2].strip()) for each in found if len(each) == 3 and each[1]]  # noqa: PLR2004


def changed(checkout: Checkout, commit: Commit) -> dict[str, str]:
    """What a commit did to which path: A (added), M (modified), D (deleted), T (another type)."""
    told = git(checkout.git_dir, "diff-tree", "-r", "-z", "--no-renames", "--name-status", commit.parent, commit.sha)
    parts = told.decode(errors="replace").split("\0")[:-1]
    return dict(zip(parts[1::2], parts[::2], strict=True))


def tree_of(checkout: Checkout, commit: str) -> Tree:
    """The files of a commit."""
    blobs: dict[str, Blob] = {}
    whole = True
    for line in git(checkout.git_dir, "ls-tree", "-r", "-z", "--long", commit).split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, sha, size = facts.decode().split()
        try:
            path = name.decode()
        except UnicodeDecodeError:
            whole = False
            continue
        if mode == _SUBMODULE:
            whole = False
        else:
            blobs[path] = Blob(mode, sha, int(size))
    return Tree(blobs, whole)


def contents(checkout: Checkout, blobs: list[Blob]) -> list[bytes]:
    """What is in them, in one call of git."""
    asked = "".join(f"{blob.sha}\n" for blob in blobs).encode()
    told = git(checkout.git_dir, "cat-file", "--batch", stdin=asked)
    found, at = [], 0
    for blob in blobs:
        start = told.index(b"\n", at) + 1
        found.append(told[start : start + blob.size])
        at = start + blob.size + 1
    return found


def patch_of(checkout: Checkout, commit: Commit, paths: list[str]) -> bytes:
    """The commit's change of these paths."""
    form = ("-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
    return git(checkout.git_dir, "diff-tree", "-r", *form, commit.parent, commit.sha, "--", *_literal(paths))


def _literal(paths: list[str]) -> list[str]:
    return [f":(literal){path}" for path in paths]


def ignored(checkout: Checkout, paths: list[str]) -> list[str]:
    """Those that the repository's own rules keep out of a commit."""
    asked = "".join(f"{path}\0" for path in paths).encode()
    argv = ["git", "-c", f"safe.directory={checkout.root}", "-C", str(checkout.root), "check-ignore", "-z", "--stdin"]
    env = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    return proc.capture(argv, env=env, stdin=asked).stdout.decode(errors="replace").split("\0")[:-1]
