"""Start state of a scenario: a commit, made once from a fixture folder or fetched once, then copied per trial.

A fixture becomes one commit with fixed author, dates and modes, so its hash depends on its content alone and can be
pinned. A remote repository has one bare mirror, into which pinned commits are fetched without history.

The harness's own git directories are apart from the agent's. Their `info/attributes`, which outranks every
`.gitattributes`, removes all attributes, so that no filter, line-end conversion or "binary" mark can hide a change.
"""

import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pathspec

from scylla_gha import process
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.git import run_git
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.prepare.tools import locked
from scylla_gha.prepare.tree_manifest import TreeManifest, scan_tree

NO_ATTRIBUTES: Final = (
    "* !text !eol !crlf !ident !filter !diff !merge !whitespace !working-tree-encoding !export-subst !export-ignore\n"
)
_FETCH_SECONDS: Final = 1800.0
_REPOSITORY_VARIABLES: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
                                     "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_PREFIX"})  # fmt: skip
_COMMIT_DATE: Final = "2026-01-01T00:00:00+00:00"
_COMMIT_IDENTITY: Final = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Maintainer"), ("EMAIL", "maintainer@example.com"), ("DATE", _COMMIT_DATE))
}


def git(
    git_dir: Path, *args: str, work_tree: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> bytes:
    """Run git on the harness's own git directory and return its standard output.

    Raises:
        FixtureError: git reports an error.
    """
    result = run_git(git_dir, *args, work_tree=work_tree, env=env, stdin=stdin)
    if result.code:
        raise FixtureError(f"git {args[0]} in {work_tree or git_dir} failed: {result.message}")
    return result.stdout


def init(git_dir: Path) -> None:
    """Make an empty git directory without attributes, from which any commit can be fetched."""
    git_dir.mkdir(parents=True)
    git(git_dir, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1")
    git(git_dir, "config", "uploadpack.allowAnySHA1InWant", "true")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text(NO_ATTRIBUTES)


def fetch(git_dir: Path, url: str, commit: str) -> None:
    """Fetch one commit without its history, with the user's own git configuration (proxies, credentials).

    Raises:
        FixtureError: the repository cannot be reached, or has no such commit.
    """
    argv = ["git", f"--git-dir={git_dir}", "fetch", "--quiet", "--no-tags", "--depth=1", url, commit]
    # This process may run inside a git hook, whose variables point git at another repository.
    env = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    result = process.capture(argv, env={**env, "GIT_TERMINAL_PROMPT": "0"}, seconds=_FETCH_SECONDS)
    if result.code:
        raise FixtureError(f"{url}: cannot fetch commit {commit}: {result.message}; check source.repo and source.hash")


@dataclass(frozen=True, slots=True)
class StartState:
    """Commit ready to be copied: the harness's git directory, and a clone with its own `.git` for the agent."""

    commit: str
    git_dir: Path
    clone: Path
    manifest: TreeManifest
    ignored: Callable[[str], bool]

    def holds(self, text: bytes) -> bool:
        """Return True if a file of the commit holds this text; of several lines, only the longest is searched."""
        line = os.fsdecode(max(text.splitlines(), key=len, default=b""))
        try:
            git(self.git_dir, "grep", "--quiet", "--text", "--fixed-strings", "-e", line, self.commit)
        except FixtureError:  # git's exit code without a match
            return False
        return True


def commit_of(fixture: Path) -> str:
    """Return the hash of a fixture folder as a commit."""
    with tempfile.TemporaryDirectory() as folder:
        git_dir = Path(folder) / "git"
        init(git_dir)
        return _commit(git_dir, fixture)


def changed_fixture(source: FixtureSource, fixture: Path) -> str | None:
    """Return a message if a fixture's files are not the pinned commit, or None; the cache is not asked."""
    commit = commit_of(fixture)
    return None if commit == source.hash else _changed(fixture, commit, source.hash)


def start_state(source: FixtureSource, fixture: Path | None, cache: Path) -> StartState:
    """Return the start state of a scenario, made if it is not cached, after a check that it is the pinned tree.

    Args:
        source: what the scenario pins.
        fixture: the fixture's folder, if the source is one.
        cache: the folder of cached start states.

    Raises:
        FixtureError: the content is not the pinned one, or cannot be fetched.
    """
    return _start(source.hash, source.repo or "", fixture, cache)


@functools.cache
def _start(commit: str, repo: str, fixture: Path | None, cache: Path) -> StartState:
    folder = cache / "starts" / commit
    if fixture is not None and fixture.is_dir() and (actual := commit_of(fixture)) != commit:
        raise FixtureError(_changed(fixture, actual, commit))
    with locked(folder):
        if folder.exists() and not _is_whole(folder, commit):
            shutil.rmtree(folder)  # the cache was changed, so it is not trusted
        if not folder.exists():
            _make(folder, commit, repo, fixture, cache)
    clone = folder / "clone"
    manifest = scan_tree(clone)
    return StartState(commit, folder / "git", clone, manifest, _ignore_rules(clone, manifest))


def _make(target: Path, commit: str, repo: str, fixture: Path | None, cache: Path) -> None:
    new = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    for stale in target.parent.glob(f"{target.name}.*.tmp"):  # of a killed process, since a live one waits for the lock
        shutil.rmtree(stale, ignore_errors=True)
    try:
        init(new / "git")
        if fixture is not None:
            _commit_pinned(new / "git", fixture, commit)
        else:
            fetch(_mirror(repo, cache), repo, commit)
            fetch(new / "git", str(_mirror(repo, cache)), commit)
        _clone(new / "git", commit, new / "clone")
        if not _is_whole(new, commit):
            raise FixtureError(f"{repo or fixture}: the checked-out files are not those of commit {commit}")
        new.replace(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _commit_pinned(git_dir: Path, fixture: Path, commit: str) -> None:
    actual = _commit(git_dir, fixture)
    if actual != commit:
        raise FixtureError(_changed(fixture, actual, commit))


def _changed(fixture: Path, actual: str, commit: str) -> str:
    return (f"{fixture}: this fixture is commit {actual}, but the scenario pins {commit}; "
            "undo the change to the fixture, or set source.hash to the new commit on purpose")  # fmt: skip


def _commit(git_dir: Path, folder: Path) -> str:
    git(git_dir, "add", "--all", ".", work_tree=folder)
    tree = git(git_dir, "write-tree").decode().strip()
    commit = git(git_dir, "commit-tree", "-m", "Initial commit", tree, env=_COMMIT_IDENTITY).decode().strip()
    git(git_dir, "update-ref", "refs/heads/main", commit)
    return commit


def _clone(git_dir: Path, commit: str, clone: Path) -> None:
    """Make the agent's repository: on branch main at the commit, with an index and no remote."""
    own = clone / ".git"
    init(own)
    git(own, "config", "core.bare", "false")
    git(own, "config", "--unset", "uploadpack.allowAnySHA1InWant")
    fetch(own, str(git_dir), commit)
    git(own, "update-ref", "refs/heads/main", commit)
    git(own, "read-tree", commit, work_tree=clone)
    git(own, "checkout-index", "--all", "--force", "--index", work_tree=clone)
    git(own, "repack", "-adq")
    git(own, "prune-packed", "--quiet")
    (own / "FETCH_HEAD").unlink(missing_ok=True)
    # Every trial copies and removes these folders, which costs time.
    for unused in ("info", "logs", "objects/info", "refs/tags", "branches"):
        shutil.rmtree(own / unused, ignore_errors=True)


def _mirror(repo: str, cache: Path) -> Path:
    mirror = cache / "mirrors" / hashlib.sha256(repo.encode()).hexdigest()[:16]
    with locked(mirror):
        if not mirror.exists():
            init(mirror)
    return mirror


def _is_whole(folder: Path, commit: str) -> bool:
    try:
        tree = git(folder / "git", "rev-parse", f"{commit}^{{tree}}").decode().strip()
    except (FixtureError, ToolError):  # no such commit, or no git directory
        return False
    return scan_tree(folder / "clone").tree == tree


def _ignore_rules(clone: Path, manifest: TreeManifest) -> Callable[[str], bool]:
    """Return the base's ignore rules; the agent's later rules must not hide its files."""
    rules: list[tuple[str, pathspec.GitIgnoreSpec]] = []
    # As in git, the rules nearest to a file decide.
    for path in sorted(manifest.entries, key=lambda path: -path.count("/")):
        if path.rpartition("/")[2] == ".gitignore" and not (clone / path).is_symlink():
            lines = (clone / path).read_text(errors="replace").splitlines()
            rules.append((path.removesuffix(".gitignore"), pathspec.GitIgnoreSpec.from_lines(lines)))
    tracked = {*manifest.entries, *_folders(manifest)}

    def ignored(path: str) -> bool:
        if path in tracked:
            return False  # tracked files are never ignored
        verdicts = (spec.check_file(path[len(top) :]).include for top, spec in rules if path.startswith(top))
        return next((verdict for verdict in verdicts if verdict is not None), False)

    return ignored


def _folders(manifest: TreeManifest) -> Iterator[str]:
    """Return the folders that hold tracked files, each with a slash at its end."""
    for path in manifest.entries:
        while path := path.rpartition("/")[0]:
            yield f"{path}/"
