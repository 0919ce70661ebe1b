"""New objects in a repository of the hub: files, commits, merges and rebases, without a work tree."""

import datetime
from collections.abc import Sequence
from typing import Final

from scylla_gha.hub.git_store import NO_COMMIT, SECONDS, GitRepository, GitSignature
from scylla_gha.system.git import GitOutputError, run_git

_MOST_MERGED: Final = 64 * 1024 * 1024  # of a file that a merge writes
_NOBODY: Final = GitSignature("hub", "hub@localhost", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))


def write_blob(git: GitRepository, content: bytes) -> str:
    """Store a blob and return its name."""
    return git.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()


def write_tree(git: GitRepository, base: str | None, changes: Sequence[tuple[str, str, str | None]]) -> str:
    """Store a tree: `base` (None: an empty one) with entries (path, mode, object; None deletes the path).

    Raises:
        ToolError: a path or an object is invalid.
    """
    index = git.path / f"index-{len(git._known)}-{id(changes)}"
    env = {"GIT_INDEX_FILE": str(index)}
    try:
        git.run("read-tree", base or "--empty", env=env)
        lines = (f"{mode if sha else '0'} {sha or NO_COMMIT}\t{path}\x00" for path, mode, sha in changes)
        git.run("update-index", "-z", "--index-info", stdin="".join(lines).encode(), env=env)
        return git.run("write-tree", env=env).decode().strip()
    finally:
        index.unlink(missing_ok=True)


def write_commit(
    git: GitRepository, tree: str, parents: Sequence[str], message: str, author: GitSignature, committer: GitSignature
) -> str:
    """Store a commit and return its name. NUL, which git refuses in messages, is left out."""
    env = {**author.environment("AUTHOR"), **committer.environment("COMMITTER")}
    args = [part for parent in parents for part in ("-p", parent)]
    return git.run("commit-tree", tree, *args, stdin=message.replace("\0", "").encode(), env=env).decode().strip()


def merged_tree(git: GitRepository, ours: str, theirs: str, base: str | None = None) -> str | None:
    """Return the tree of a merge of two commits; None if they conflict.

    With `base`, that is what the changes count from: to cherry-pick a commit, give its parent; to revert one, give
    the commit itself, and its parent as `theirs`. (git before 2.40 takes no base, so both get it as a parent.)
    """
    key = ("merge-tree", ours, theirs, base or "")
    if key not in git._known:
        git._known[key] = _merge(git, ours, theirs, base)
    return git._known[key]


def _merge(git: GitRepository, ours: str, theirs: str, base: str | None) -> str | None:
    if base is not None:
        ours, theirs = (write_commit(git, git.commit(commit).tree, [base], "", _NOBODY, _NOBODY)
                        for commit in (ours, theirs))  # fmt: skip
    key = ("merge-tree", ours, theirs)
    if key not in git._known:
        done = run_git(git.path, "merge-tree", "--write-tree", ours, theirs, seconds=SECONDS, most_bytes=_MOST_MERGED)
        if done.code not in (0, 1):
            raise GitOutputError(f"git merge-tree: {done.message}")
        git._known[key] = None if done.code else done.stdout.decode().split("\n", 1)[0].strip()
    return git._known[key]


def rebased(git: GitRepository, base: str, head: str, committer: GitSignature) -> str | None:
    """Store the commits of `head` again upon `base` and return the last one; None if one conflicts."""
    fork = git.merge_base(base, head)
    tip = base
    for commit in git.commits_between(base, head) if fork else ():
        if len(commit.parents) != 1:
            continue  # merges are left out, as git rebase does
        tree = merged_tree(git, tip, commit.sha, commit.parents[0])
        if tree is None:
            return None
        if tree != git.commit(tip).tree:
            tip = write_commit(git, tree, [tip], commit.message, commit.author, committer)
    return tip


def fetch(git: GitRepository, other: GitRepository, *shas: str) -> None:
    """Copy commits of another repository of the hub."""
    git.run("-c", "protocol.file.allow=always", "-c", "uploadpack.allowAnySHA1InWant=true", "fetch", "--quiet",
             "--no-tags", "--no-write-fetch-head", str(other.path), *shas)  # fmt: skip
