"""Material of the four tasks: a clean copy of the user's code at a commit, its index, its tests, and its history."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError
from scylla_gha.mining.repository import (
    RepositoryCheckout,
    checkout_of,
    object_folder,
    resolved,
    uncommitted,
)
from scylla_gha.prepare.git_directory import git, init
from scylla_gha.readiness.recorded_tests import TestMap, TestRunner
from scylla_gha.readiness.source_code import CodeIndex, Language

_LINK: Final = "120000"
_SUBMODULE: Final = "160000"


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """Clean copy of the tracked files of a commit; the user's repository is only read.

    Attributes:
        root: folder of the files, without `.git`.
        git_dir: git directory of the harness, with the copy's tree.
        tree: hash of that tree.
        commit: the copied commit.
        notes: facts for the user in a sentence each: uncommitted changes, links and submodules that are left out.
    """

    root: Path
    git_dir: Path
    tree: str
    commit: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadinessMaterial:
    """All that items are made from; it is made once for a commit and passed to each task.

    Attributes:
        root: clean copy of the code base at the commit, tracked files only, without `.git`.
        tests: stable tests; without any, `tests.reason` says why.
        runner: runs tests on copies; None: they cannot be run.
        checkout: the user's repository, for its history; `checkout.head` is the measured commit.
        seed: seed of the sampling.
        wanted: anchors per dimension.
        language: main language of the code.
    """

    root: Path
    index: CodeIndex
    tests: TestMap
    runner: TestRunner | None
    checkout: RepositoryCheckout
    seed: int
    wanted: int
    language: Language


def repository_of(folder: Path) -> RepositoryCheckout:
    """Return the repository to measure.

    Raises:
        FixtureError: the folder is missing, is not the top folder of a repository, or has no commit.
    """
    if not folder.is_dir():
        raise FixtureError(f"{folder}: is not a folder; name the folder of a git repository")
    checkout = checkout_of(folder)
    if checkout.head is None:
        raise FixtureError(f"{checkout.root}: has no commit yet; commit your code, then measure it")
    return checkout


def at_revision(checkout: RepositoryCheckout, revision: str) -> RepositoryCheckout:
    """Return the repository with another measured commit.

    Raises:
        FixtureError: there is no such commit.
    """
    commit = resolved(checkout, revision)
    if commit is None:
        raise FixtureError(f"{checkout.root}: has no commit {revision!r}; name a branch, a tag or a hash")
    return RepositoryCheckout(checkout.root, checkout.git_dir, commit)


def working_copy(checkout: RepositoryCheckout, folder: Path) -> WorkingCopy:
    """Copy the tracked files of the measured commit into a new folder, without filters or hooks of the repository.

    Links that point out of the copy or to a folder around them, and submodules, are left out, which the notes say.

    Args:
        checkout: the repository; `head` is the commit.
        folder: a new folder; gets `code` and `git`.

    Raises:
        FixtureError: git cannot read the commit.
    """
    assert checkout.head is not None  # noqa: S101 repository_of and at_revision see to it
    root, git_dir = folder / "code", folder / "git"
    root.mkdir(parents=True)
    init(git_dir)
    alternates = git_dir / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_bytes(os.fsencode(object_folder(checkout)) + b"\n")
    git(git_dir, "read-tree", checkout.head)
    links, submodules = _special(git_dir)
    _write_files(git_dir, root, checkout)
    outside = [path for path in links if not _stays_inside(root, path)]
    for path in outside:
        (root / path).unlink()
    left_out = b"".join(os.fsencode(path) + b"\0" for path in (*outside, *submodules))
    git(git_dir, "update-index", "--force-remove", "-z", "--stdin", work_tree=root, stdin=left_out)
    tree = git(git_dir, "write-tree").decode().strip()
    for path in submodules:  # git makes their empty folders
        shutil.rmtree(root / path, ignore_errors=True)
    notes = [*_state(checkout), *_left_out(outside, submodules)]
    return WorkingCopy(root, git_dir, tree, checkout.head, tuple(notes))


def _write_files(git_dir: Path, root: Path, checkout: RepositoryCheckout) -> None:
    """Write the files of the index.

    Raises:
        FixtureError: git cannot, or the repository lacks objects.
    """
    try:
        git(git_dir, "checkout-index", "--all", "--force", work_tree=root)
    except FixtureError as error:
        if "unable to read" not in str(error):
            raise
        raise FixtureError(
            f"{checkout.root}: files of commit {checkout.head} are not in the repository, as in a partial clone; get "
            "them by `git checkout`, or clone it whole"
        ) from error


def copy_of_folder(folder: Path, target: Path, commit: str) -> WorkingCopy:
    """Return a changed copy (a twin) as a working copy of its own.

    Args:
        folder: the changed files.
        target: a new folder for the git directory.
        commit: the commit that was changed.
    """
    git_dir = target / "git"
    init(git_dir)
    git(git_dir, "add", "--all", "--force", "--", ".", work_tree=folder)
    return WorkingCopy(folder, git_dir, git(git_dir, "write-tree").decode().strip(), commit, ())


def _special(git_dir: Path) -> tuple[list[str], list[str]]:
    """Return the paths of links and of submodules in the index."""
    links, submodules = [], []
    for line in git(git_dir, "ls-files", "--stage", "-z").split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode = facts.split()[0].decode()
        if mode == _LINK:
            links.append(os.fsdecode(name))
        elif mode == _SUBMODULE:
            submodules.append(os.fsdecode(name))
    return links, submodules


def _stays_inside(root: Path, path: str) -> bool:
    link = root / path
    try:
        target = link.resolve()
    except (OSError, RuntimeError):  # a loop
        return False
    above = link.parent.resolve()
    is_loop = above == target or above.is_relative_to(target)  # test programs would follow it for ever
    return not link.readlink().is_absolute() and target.is_relative_to(root.resolve()) and not is_loop


def _state(checkout: RepositoryCheckout) -> list[str]:
    paths = uncommitted(checkout) if resolved(checkout, "HEAD") == checkout.head else []
    if not paths:
        return []
    changes = counted(len(paths), "path")
    return [f"{changes} with uncommitted changes, such as {paths[0]!r}: the last commit is measured"]


def _left_out(links: list[str], submodules: list[str]) -> list[str]:
    kinds = (
        ("link", links, "points out of the repository or to a folder around it"),
        ("submodule", submodules, "is another repository"),
    )
    return [
        f"{counted(len(paths), kind)} left out, such as {paths[0]!r}, which {reason}"
        for kind, paths, reason in kinds
        if paths
    ]
