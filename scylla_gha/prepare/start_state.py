"""Start state of a scenario: a commit, made once from a fixture folder or fetched once, then copied per trial.

A fixture becomes one commit with fixed author, dates and modes, so its hash depends on its content alone and can be
pinned. With GitHub state, it is dated when that history begins, since no commit may be older than its parent. A remote
repository has one bare mirror, into which pinned commits are fetched without history.
"""

import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config.github_fixture import begin_of_history, has_github
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.model.github_fixture import FIXTURE_FILE, FIXTURE_FOLDER
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.prepare.git_directory import clone_github, default_tip, fetch, git, init, own_commit, seed_name, tidy
from scylla_gha.prepare.tools import locked
from scylla_gha.prepare.tree_manifest import TreeManifest, scan_tree

_COMMIT_DATE: Final = "2026-01-01T00:00:00+00:00"  # of fixtures without GitHub state, which have one commit


@dataclass(frozen=True, slots=True)
class StartState:
    """Commit ready to be copied: the harness's git directory, and a clone with its own `.git` for the agent.

    With GitHub state, it is the tip of the default branch there, and the clone has that repository as its remote.
    """

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


def own_files_commit(fixture: Path, cache: Path) -> tuple[str, Path] | None:
    """Return the commit of the files of a fixture with GitHub state, where its history begins, and its git directory.

    None: the fixture has no files but those of its GitHub state.

    Raises:
        FixtureError: the fixture's GitHub has no commit.
    """
    if all(path.name in (FIXTURE_FILE, FIXTURE_FOLDER) for path in fixture.iterdir()):
        return None
    commit = commit_of(fixture)
    start = start_state(FixtureSource(fixture="served", hash=commit), fixture, cache)
    own = own_commit(start.git_dir, commit)
    return None if own is None else (own, start.git_dir)


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
    github = fixture if fixture is not None and has_github(fixture) else None
    folder = cache / "starts" / (commit if github is None else f"{commit}-{seed_name(github)}")
    if fixture is not None and fixture.is_dir() and (actual := commit_of(fixture)) != commit:
        raise FixtureError(_changed(fixture, actual, commit))
    with locked(folder):
        if folder.exists() and not _is_whole(folder, _tip(folder, commit, github)):
            shutil.rmtree(folder)  # the cache was changed, so it is not trusted
        if not folder.exists():
            _make(folder, commit, repo, fixture, cache)
    clone = folder / "clone"
    manifest = scan_tree(clone)
    tip = _tip(folder, commit, github)
    return StartState(tip, folder / "git", clone, manifest, _ignore_rules(clone, manifest))


def _tip(folder: Path, commit: str, github: Path | None) -> str:
    """Return the commit of a start state: the pinned one, or that of its GitHub's default branch."""
    return commit if github is None else default_tip(folder / "git") or commit


def _make(target: Path, commit: str, repo: str, fixture: Path | None, cache: Path) -> None:
    new = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    for stale in target.parent.glob(f"{target.name}.*.tmp"):  # of a killed process, since a live one waits for the lock
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
        if not _is_whole(new, commit):
            raise FixtureError(f"{repo or fixture}: the checked-out files are not those of commit {commit}")
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
    # The commits of the history are later: none may be older than its parent.
    date = begin_of_history(folder).isoformat(timespec="seconds") if of_github else _COMMIT_DATE
    git(git_dir, "add", "--all", "--", ".", *others, work_tree=folder)
    tree = git(git_dir, "write-tree").decode().strip()
    commit = git(git_dir, "commit-tree", "-m", "Initial commit", tree, env=_identity(date)).decode().strip()
    git(git_dir, "update-ref", "refs/heads/main", commit)
    return commit


def _identity(date: str) -> dict[str, str]:
    values = {"NAME": "Maintainer", "EMAIL": "maintainer@example.com", "DATE": date}
    return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in values.items()}


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
    tidy(own)
    shutil.rmtree(own / "refs" / "tags", ignore_errors=True)


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
    rules: list[tuple[str, PathPatterns]] = []
    # As in git, the rules nearest to a file decide.
    for path in sorted(manifest.entries, key=lambda path: -path.count("/")):
        if path.rpartition("/")[2] == ".gitignore" and not (clone / path).is_symlink():
            lines = (clone / path).read_text(errors="replace").splitlines()
            rules.append((path.removesuffix(".gitignore"), PathPatterns(lines)))
    tracked = {*manifest.entries, *_folders(manifest)}

    def ignored(path: str) -> bool:
        if path in tracked:
            return False  # tracked files are never ignored
        verdicts = (spec.verdict(path[len(top) :]) for top, spec in rules if path.startswith(top))
        return next((verdict for verdict in verdicts if verdict is not None), False)

    return ignored


def _folders(manifest: TreeManifest) -> Iterator[str]:
    """Return the folders that hold tracked files, each with a slash at its end."""
    for path in manifest.entries:
        while path := path.rpartition("/")[0]:
            yield f"{path}/"
