"""Start state of a scenario: a commit, made once from a fixture folder or fetched once, then copied for each trial.

A fixture becomes one commit with fixed author, date and modes, so that its hash depends only on its content and can be
pinned. If the fixture has GitHub state, the commit has the date at which that history begins, since no commit may be
older than its parent. Pinned commits of a remote repository are fetched, without history, into one bare mirror of it.
The manifest of a folder proves that copies are equal: equal folders have the same tree id of git on any machine.
"""

import functools
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config.github_files import begin_of_history, has_github
from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.model.github_fixture import FIXTURE_FILE, FIXTURE_FOLDER
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.prepare.git_directory import (
    check_out,
    clone_github,
    default_tip,
    fetch,
    git,
    init,
    init_clone,
    own_commit,
    tidy,
)
from scylla_gha.prepare.tools import locked

_LINK: Final = "120000"
_EXECUTABLE: Final = "100755"
_FILE: Final = "100644"
_CHUNK_BYTES: Final = 1 << 20
_MAX_DEPTH: Final = 200  # levels of folders; far below what recursion, as in copying, allows
_MAX_PATH_BYTES: Final = 2_000  # of a folder's path; half of what Linux allows, since roots differ in length
_COMMIT_DATE: Final = "2026-01-01T00:00:00+00:00"  # of fixtures without GitHub state, which have one commit


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """File or symbolic link: git's mode and blob id, and its size in bytes."""

    mode: str
    blob: str
    size: int


class TooLargeError(Exception):
    """A folder exceeds a limit of bytes or files; `limit` is the limit's key in the experiment."""

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class TreeManifest:
    """Files and links by path; `skipped` has the other paths: sockets, devices, pipes, and unreadable entries."""

    entries: dict[str, TreeEntry]
    skipped: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all entries together."""
        return sum(entry.size for entry in self.entries.values())

    @property
    def paths(self) -> set[str]:
        """Paths of all files and links, and of the folders above them."""
        folders = {path[:at] for path in self.entries for at, letter in enumerate(path) if letter == "/"}
        return folders | self.entries.keys()

    @property
    def tree(self) -> str:
        """Id of the git tree that has these entries."""
        return _tree_id(self.entries)

    def changed(self, base: "TreeManifest") -> list[str]:
        """Return the sorted paths that were added, changed or deleted since `base`."""
        paths = self.entries.keys() | base.entries.keys()
        return sorted(path for path in paths if self.entries.get(path) != base.entries.get(path))


def scan_tree(
    folder: Path,
    ignored: Callable[[str], bool] = lambda _: False,
    max_bytes: int | None = None,
    max_files: int | None = None,
) -> TreeManifest:
    """List a folder without entries called `.git` (in any case), since git stores none of them.

    Args:
        folder: folder to list; parts that cannot be listed are skipped, since an agent can make them so.
        ignored: returns True for a path to leave out; a folder's path ends in a slash.
        max_bytes: maximum size of all files together. It is checked before a file is read, since an agent can quickly
            make a sparse file of a terabyte.
        max_files: maximum number of files and folders that are not ignored; None: no limit.

    Raises:
        TooLargeError: the folder exceeds `max_bytes` or `max_files`.
    """
    entries: dict[str, TreeEntry] = {}
    skipped: list[str] = []
    total = 0
    for path, item in _walk(folder, ignored, skipped, max_files):
        size = _size(item)
        total += size
        if max_bytes is not None and total > max_bytes:
            raise TooLargeError(f"more than {max_bytes / 1e6:.1f} MB", "limits.diff_mb")
        if (entry := _entry(item, size)) is None:
            skipped.append(path)
        else:
            entries[path] = entry
    return TreeManifest(entries, tuple(sorted(skipped)))


def _walk(
    folder: Path, ignored: Callable[[str], bool], skipped: list[str], max_files: int | None
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    stack, seen = [""], 0
    while stack:
        prefix = stack.pop()
        too_deep = prefix.count("/") > _MAX_DEPTH or len(os.fsencode(prefix)) > _MAX_PATH_BYTES
        if too_deep or (items := _listed(folder / prefix)) is None:
            skipped.append(prefix or "./")
            continue
        for item in items:
            path = prefix + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if item.name.lower() == ".git" or ignored(path + "/" if is_folder else path):
                continue
            seen += 1
            if max_files is not None and seen > max_files:
                raise TooLargeError(
                    f"more than {counted(max_files, 'file or folder', 'files and folders')}", "limits.diff_files"
                )
            if is_folder:
                stack.append(path + "/")
            else:
                yield path, item


def _listed(folder: Path) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except OSError:
        return None


def _size(item: os.DirEntry[str]) -> int:
    try:
        return item.stat(follow_symlinks=False).st_size
    except OSError:  # it was removed meanwhile, or its folder can only be listed
        return 0


def _entry(item: os.DirEntry[str], size: int) -> TreeEntry | None:
    try:
        if item.is_symlink():
            return _link(item, size)
        mode = item.stat(follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            return None
        return TreeEntry(_EXECUTABLE if mode & stat.S_IXUSR else _FILE, _file_blob(item.path, size), size)
    except OSError:
        return None


def _link(item: os.DirEntry[str], size: int) -> TreeEntry | None:
    if item.name.lower() == ".gitmodules":
        return None  # git refuses it
    target = os.fsencode(os.readlink(item.path))  # noqa: PTH115 a Path would write `./a` as `a`
    return TreeEntry(_LINK, _sha1(b"blob %d\0" % len(target) + target), size)


def _file_blob(path: str, size: int) -> str:
    hashed = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with open(path, "rb") as file:  # noqa: PTH123 a Path per file would double the time of a scan
        while chunk := file.read(_CHUNK_BYTES):
            hashed.update(chunk)
    return hashed.hexdigest()


def _sha1(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _tree_id(entries: dict[str, TreeEntry]) -> str:
    children: dict[str, dict[str, TreeEntry]] = {}
    lines: list[tuple[bytes, bytes]] = []
    for path, entry in entries.items():
        head, slash, rest = path.partition("/")
        if slash:
            children.setdefault(head, {})[rest] = entry
        else:
            name = os.fsencode(head)
            lines.append((name, b"%s %s\0" % (entry.mode.encode(), name) + bytes.fromhex(entry.blob)))
    for head, below in children.items():
        name = os.fsencode(head)
        # git sorts a folder as if its name ended in a slash
        lines.append((name + b"/", b"40000 %s\0" % name + bytes.fromhex(_tree_id(below))))
    content = b"".join(line for _, line in sorted(lines))
    return _sha1(b"tree %d\0" % len(content) + content)


@dataclass(frozen=True, slots=True)
class StartState:
    """Commit ready to be copied: the harness's git directory, and a clone with its own `.git` for the agent.

    If the fixture has GitHub state, the commit is the tip of the default branch there, and the clone has that
    repository as its remote. `ignored` tells whether the start state's rules ignore a path.
    """

    commit: str
    git_dir: Path
    clone: Path
    manifest: TreeManifest
    ignored: Callable[[str], bool]

    def holds(self, text: bytes) -> bool:
        """Return True if a file of the commit contains this text; if it has several lines, only search the longest."""
        line = os.fsdecode(max(text.splitlines(), key=len, default=b""))
        try:
            git(self.git_dir, "grep", "--quiet", "--text", "--fixed-strings", "-e", line, self.commit)
        except FixtureError:  # `git grep` fails if nothing matches
            return False
        return True


def commit_of(fixture: Path) -> str:
    """Return the hash of the commit that a fixture folder becomes."""
    with tempfile.TemporaryDirectory() as folder:
        git_dir = Path(folder) / "git"
        init(git_dir)
        return _commit(git_dir, fixture)


def changed_fixture(source: FixtureSource, fixture: Path) -> str | None:
    """Return a message if a fixture's files differ from the pinned commit; None if they are equal. No cache is used."""
    commit = commit_of(fixture)
    return None if commit == source.hash else _changed(fixture, commit, source.hash)


def own_files_commit(fixture: Path, cache: Path) -> tuple[str, Path] | None:
    """Return the commit at which the history of a fixture with GitHub state begins, and its git directory.

    It has the fixture's own files. Return None if the fixture has only the files of its GitHub state.

    Raises:
        FixtureError: the fixture's GitHub has no commit.
    """
    if all(path.name in (FIXTURE_FILE, FIXTURE_FOLDER) for path in fixture.iterdir()):
        return None
    commit = commit_of(fixture)
    start = start_state(FixtureSource(fixture="served", hash=commit), fixture, cache)
    files_commit = own_commit(start.git_dir, commit)
    return None if files_commit is None else (files_commit, start.git_dir)


def start_state(source: FixtureSource, fixture: Path | None, cache: Path) -> StartState:
    """Return the start state of a scenario, from the cache or newly made, after a check that it is the pinned tree.

    Args:
        source: the commit that the scenario pins, and its fixture or repository.
        fixture: the fixture's folder; None if the source is a remote repository.
        cache: root of the cache.

    Raises:
        FixtureError: the content is not the pinned one, or cannot be fetched.
    """
    return _start(source.hash, source.repo or "", fixture, cache)


@functools.cache
def _start(commit: str, repo: str, fixture: Path | None, cache: Path) -> StartState:
    github = fixture if fixture is not None and has_github(fixture) else None
    folder = cache / "starts" / (commit if github is None else f"{commit}-{_seed_digest(github)[:16]}")
    if fixture is not None and fixture.is_dir() and (actual := commit_of(fixture)) != commit:
        raise FixtureError(_changed(fixture, actual, commit))
    with locked(folder):
        if folder.exists() and not _has_files_of(folder, _tip(folder, commit, github)):
            shutil.rmtree(folder)  # the cache was changed, so it is not trusted
        if not folder.exists():
            _make(folder, commit, repo, fixture, cache)
    clone = folder / "clone"
    manifest = scan_tree(clone)
    tip = _tip(folder, commit, github)
    return StartState(tip, folder / "git", clone, manifest, _ignore_rules(clone, manifest))


def _seed_digest(fixture: Path) -> str:
    """Return a digest of a fixture's GitHub state and of the code that makes its GitHub."""
    from scylla_gha.hub.seeds import seed_digest

    return seed_digest(fixture, None)


def _tip(folder: Path, commit: str, github: Path | None) -> str:
    """Return the commit of a start state: the pinned commit, or the tip of its GitHub's default branch."""
    return commit if github is None else default_tip(folder / "git") or commit


def _make(target: Path, commit: str, repo: str, fixture: Path | None, cache: Path) -> None:
    new = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    # Left by killed processes, since a live process waits for the lock.
    for stale in target.parent.glob(f"{target.name}.*.tmp"):
        shutil.rmtree(stale, ignore_errors=True)
    try:
        init(new / "git")
        if fixture is not None:
            actual = _commit(new / "git", fixture)
            if actual != commit:
                raise FixtureError(_changed(fixture, actual, commit))
        else:
            fetch(_mirror(repo, cache), repo, commit)
            fetch(new / "git", str(_mirror(repo, cache)), commit)
        if fixture is not None and has_github(fixture):
            commit = clone_github(fixture, new, commit, cache)
        else:
            _clone(new / "git", commit, new / "clone")
        if not _has_files_of(new, commit):
            raise FixtureError(f"{repo or fixture}: the checked-out files differ from commit {commit}; try again")
        new.replace(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _changed(fixture: Path, actual: str, commit: str) -> str:
    return (
        f"{fixture}: this fixture is commit {actual}, but the scenario pins {commit}; "
        "undo the change to the fixture, or set source.hash to the new commit on purpose"
    )


def _commit(git_dir: Path, folder: Path) -> str:
    of_github = (FIXTURE_FILE, FIXTURE_FOLDER) if has_github(folder) else ()
    others = (f":(exclude){name}" for name in of_github)
    # The history's commits follow this one, and none may be older than its parent.
    date = begin_of_history(folder).isoformat(timespec="seconds") if of_github else _COMMIT_DATE
    git(git_dir, "add", "--all", "--", ".", *others, work_tree=folder)
    tree = git(git_dir, "write-tree").decode().strip()
    identity = {"NAME": "Maintainer", "EMAIL": "maintainer@example.com", "DATE": date}
    env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in identity.items()}
    commit = git(git_dir, "commit-tree", "-m", "Initial commit", tree, env=env).decode().strip()
    git(git_dir, "update-ref", "refs/heads/main", commit)
    return commit


def _clone(git_dir: Path, commit: str, clone: Path) -> None:
    """Make the agent's repository: on branch main at the commit, with an index and no remote."""
    clone_git = init_clone(clone)
    fetch(clone_git, str(git_dir), commit)
    git(clone_git, "update-ref", "refs/heads/main", commit)
    check_out(clone_git, commit, clone)
    tidy(clone_git)
    shutil.rmtree(clone_git / "refs" / "tags", ignore_errors=True)


def _mirror(repo: str, cache: Path) -> Path:
    mirror = cache / "mirrors" / hashlib.sha256(repo.encode()).hexdigest()[:16]
    with locked(mirror):
        if not mirror.exists():
            init(mirror)
    return mirror


def _has_files_of(folder: Path, commit: str) -> bool:
    try:
        tree = git(folder / "git", "rev-parse", f"{commit}^{{tree}}").decode().strip()
    except (FixtureError, ToolError):  # no such commit, or no git directory
        return False
    return scan_tree(folder / "clone").tree == tree


def _ignore_rules(clone: Path, manifest: TreeManifest) -> Callable[[str], bool]:
    """Return the start state's ignore rules, so that no rule that the agent writes can hide its files."""
    rules: list[tuple[str, PathPatterns]] = []
    # As in git, the rules in the nearest folder decide.
    for path in sorted(manifest.entries, key=lambda path: -path.count("/")):
        if path.rpartition("/")[2] == ".gitignore" and not (clone / path).is_symlink():
            lines = (clone / path).read_text(errors="replace").splitlines()
            rules.append((path.removesuffix(".gitignore"), PathPatterns(lines)))
    # Also the folders with tracked files, each with a slash at its end.
    tracked = {*manifest.entries, *(f"{folder}/" for folder in manifest.paths - manifest.entries.keys())}

    def ignored(path: str) -> bool:
        if path in tracked:
            return False  # tracked files are never ignored
        verdicts = (spec.verdict(path[len(top) :]) for top, spec in rules if path.startswith(top))
        return next((verdict for verdict in verdicts if verdict is not None), False)

    return ignored
