"""Bare repository of the hub, read and written by git; what is known of a commit never changes, so it is kept."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.hub.git_diff import ChangedFile, parse_changes
from scylla_gha.hub.git_log import LOG_FORMAT, parse_log
from scylla_gha.hub.git_log import GitCommit as GitCommit  # noqa: PLC0414 it is imported from here
from scylla_gha.hub.git_log import GitSignature as GitSignature  # noqa: PLC0414 as above
from scylla_gha.system.git import run_git

NO_COMMIT: Final = "0" * 40
SECONDS: Final = 30.0
_READING: Final = frozenset(
    {"archive", "cat-file", "diff", "for-each-ref", "format-patch", "log", "ls-tree", "rev-list"}
)
_SUBMODULES: Final = "--ignore-submodules=none"  # whatever .gitmodules says
MOST_READ: Final = 16 * 1024 * 1024  # of one of these commands: a small pack can stand for any number of files
_MOST_KEPT: Final = 1024 * 1024
_CONFIG: Final = """\
[core]
\trepositoryformatversion = 0
\tbare = true
[receive]
\tfsckObjects = true
\tdenyDeleteCurrent = refuse
[transfer]
\tfsckObjects = true
\thideRefs = refs/hub
[uploadpack]
\tallowFilter = true
\tallowReachableSHA1InWant = true
[http]
\treceivepack = true
"""
_SHA: Final = re.compile(r"[0-9a-f]{40}")
_REF: Final = re.compile(r"refs/[A-Za-z0-9_-]+/[^\x00-\x20~^:?*\[\\\x7f]+")


@dataclass(frozen=True, slots=True)
class GitTreeEntry:
    """Entry of a tree: `kind` is blob, tree or commit; `size` is None but for a blob."""

    mode: str
    kind: str
    sha: str
    path: str
    size: int | None


@dataclass
class GitRepository:
    """Bare repository at a folder."""

    path: Path
    _refs: dict[str, str] | None = None
    _commits: dict[str, GitCommit] = field(default_factory=dict)
    _known: dict[tuple[str, ...], str | None] = field(default_factory=dict)
    _changes: dict[tuple[str, str], list[ChangedFile]] = field(default_factory=dict)

    @classmethod
    def create(cls, path: Path, *, borrowed: Path | None = None) -> "GitRepository":
        """Make an empty repository; it reads objects of `borrowed` as well, and never writes there."""
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (path / folder).mkdir(parents=True)
        (path / "HEAD").write_text("ref: refs/heads/main\n")
        (path / "config").write_text(_CONFIG)
        if borrowed is not None:
            (path / "objects/info/alternates").write_text(f"{borrowed.resolve() / 'objects'}\n")
            packed = borrowed / "packed-refs"
            if packed.exists():
                (path / "packed-refs").write_bytes(packed.read_bytes())
            (path / "HEAD").write_bytes((borrowed / "HEAD").read_bytes())
        return cls(path)

    def run(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Run git here and return its output.

        Raises:
            ToolError: it failed, or did not end in time.
        """
        most = MOST_READ if args[0] in _READING else None
        done = run_git(self.path, *args, stdin=stdin, env=env, seconds=SECONDS, most_bytes=most)
        if done.code:
            raise ToolError(f"git {args[0]}: {done.message}")
        return done.stdout

    def text(self, *args: str) -> str:
        """Run git here and return its output as text without the last line break."""
        return self.run(*args).decode(errors="replace").removesuffix("\n")

    # Refs

    def refs(self) -> Mapping[str, str]:
        """Return all refs with the objects that they name."""
        if self._refs is None:
            lines = self.text("for-each-ref", "--format=%(refname) %(objectname)").split("\n")  # U+2028 is no end
            self._refs = dict(line.split(" ", 1) for line in lines if line)
        return self._refs

    def forget_refs(self) -> None:
        """Read the refs again: another process has written some."""
        self._refs = None

    def ref(self, name: str) -> str | None:
        """Return what a full ref name names; None if there is no such ref."""
        return self.refs().get(name)

    def branch(self, name: str) -> str | None:
        """Return the tip of a branch; None if there is no such branch."""
        return self.ref(f"refs/heads/{name}")

    def branches(self) -> dict[str, str]:
        """Return the branches by name with their tips."""
        return self._below("refs/heads/")

    def tags(self) -> dict[str, str]:
        """Return the tags by name with the commits that they name in the end."""
        return {name: self.commit_of(sha) or sha for name, sha in self._below("refs/tags/").items()}

    def _below(self, prefix: str) -> dict[str, str]:
        return {name.removeprefix(prefix): sha for name, sha in self.refs().items() if name.startswith(prefix)}

    def set_ref(self, name: str, sha: str, old: str | None = None) -> bool:
        """Set a ref, or delete it if `sha` is NO_COMMIT; with `old`, only from there. Return whether it was done."""
        if not is_ref_name(name):
            return False
        verb = f"delete {name}" if sha == NO_COMMIT else f"update {name} {sha}"
        done = run_git(self.path, "update-ref", "--stdin", stdin=f"{verb} {old or ''}".strip().encode() + b"\n",
                       seconds=SECONDS)  # fmt: skip
        self.forget_refs()
        return done.code == 0

    # Commits

    def resolve(self, revision: str) -> str | None:
        """Return the commit of a branch, tag, full ref, or full or abbreviated SHA; None if there is none."""
        for name in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision, f"refs/{revision}"):
            if name in self.refs():
                return self.commit_of(self.refs()[name])
        return self.commit_of(revision) if re.fullmatch(r"[0-9a-f]{4,40}", revision) else None

    def commit_of(self, sha: str) -> str | None:
        """Return the commit that an object name stands for; None if it is no commit's."""
        if sha in self._commits:
            return sha
        done = run_git(self.path, "rev-parse", "--verify", "--quiet", f"{sha}^{{commit}}", seconds=SECONDS)
        return done.stdout.decode().strip() if done.code == 0 else None

    def commit(self, sha: str) -> GitCommit:
        """Return a commit.

        Raises:
            ToolError: there is no such commit.
        """
        if sha not in self._commits:
            self.log("-1", sha)
        return self._commits[sha]

    def log(self, *args: str) -> list[GitCommit]:
        """Return the commits that `git log` lists with these arguments."""
        listed = self.run("log", "-z", f"--format={LOG_FORMAT}", *args)
        commits = parse_log(listed.decode(errors="replace"))
        return [self._commits.setdefault(commit.sha, commit) for commit in commits]

    def _once(self, *key: str) -> str:
        """Return the output of git for objects that never change, which is run once."""
        if key not in self._known:
            text = self.text(*key)
            if len(text) > _MOST_KEPT:
                return text
            self._known[key] = text
        return str(self._known[key])

    def commits_between(self, base: str, head: str) -> list[GitCommit]:
        """Return the commits of `head` that `base` has not, the oldest first."""
        key = ("log", "--reverse", "--topo-order", f"{base}..{head}")
        if key not in self._known:
            self._known[key] = " ".join(commit.sha for commit in self.log(*key[1:]))
        return [self.commit(sha) for sha in str(self._known[key]).split()]

    def merge_base(self, commit: str, other: str) -> str | None:
        """Return the best common ancestor; None if the histories have none."""
        key = ("merge-base", *sorted((commit, other)))
        if key not in self._known:
            done = run_git(self.path, *key, seconds=SECONDS)
            self._known[key] = done.stdout.decode().strip() or None
        return self._known[key]

    def is_ancestor(self, commit: str, other: str) -> bool:
        """Return whether a commit is another one, or an ancestor of it."""
        return self.merge_base(commit, other) == commit

    def ahead_behind(self, head: str, base: str) -> tuple[int, int]:
        """Return how many commits `head` has that `base` has not, and the other way round."""
        ahead, behind = self._once("rev-list", "--left-right", "--count", f"{head}...{base}").split()
        return int(ahead), int(behind)

    # Diffs and trees

    def diff(self, base: str, head: str) -> str:
        """Return the unified diff between two commits or trees."""
        return self._once("diff", "--no-color", "--no-ext-diff", "--no-textconv", _SUBMODULES, "-M", base, head)

    def format_patch(self, base: str, head: str) -> str:
        """Return the commits of `head` that `base` has not, as mails."""
        return self._once("format-patch", "--stdout", "--no-signature", f"{base}..{head}")

    def changed_files(self, base: str, head: str) -> list[ChangedFile]:
        """Return the files that differ between two commits or trees."""
        if (base, head) not in self._changes:
            raw = self.run("diff", "--raw", "--numstat", "-z", "--abbrev=40", _SUBMODULES, "-M", base, head)
            diff = self.diff(base, head)
            changes = list(parse_changes(raw.decode(errors="replace"), diff))
            if len(raw) + len(diff) > _MOST_KEPT:
                return changes
            self._changes[base, head] = changes
        return self._changes[base, head]

    def tree(self, revision: str, *, recursive: bool = False) -> list[GitTreeEntry]:
        """Return the entries of a tree, such as `<commit>:<folder>`.

        Raises:
            ToolError: there is no such tree.
        """
        args = ("ls-tree", "-z", "-l", *(("-r", "-t") if recursive else ()), revision)
        entries = []
        for line in self._once(*args).split("\x00"):
            if line:
                about, path = line.split("\t", 1)
                mode, kind, sha, size = about.split()
                entries.append(GitTreeEntry(mode, kind, sha, path, None if size == "-" else int(size)))
        return entries

    def kind_of(self, revision: str) -> str | None:
        """Return blob, tree, commit or tag; None if there is no such object."""
        done = run_git(self.path, "cat-file", "-t", revision, seconds=SECONDS)
        return done.stdout.decode().strip() if done.code == 0 else None

    def object_name(self, revision: str) -> str | None:
        """Return the full name of an object such as `<commit>:<path>`; None if there is none."""
        done = run_git(self.path, "rev-parse", "--verify", "--quiet", "--end-of-options", revision, seconds=SECONDS)
        return done.stdout.decode().strip() if done.code == 0 else None

    def content(self, revision: str) -> bytes | None:
        """Return the content of a blob, such as `<commit>:<path>`; None if there is none."""
        done = run_git(self.path, "cat-file", "blob", revision, seconds=SECONDS)
        return done.stdout if done.code == 0 else None


def is_sha(text: str) -> bool:
    """Return whether a text is a full object name."""
    return bool(_SHA.fullmatch(text))


@functools.cache
def is_ref_name(name: str) -> bool:
    """Return whether a text may be a ref of a repository here; git's own rules (git check-ref-format), and no more."""
    if not _REF.fullmatch(name) or len(name) > 250 or name.endswith(("/", ".")) or ".." in name or "@{" in name:  # noqa: PLR2004 names of files are limited to 255 bytes
        return False
    return not any(part.startswith(".") or part.endswith(".lock") or not part for part in name.split("/"))
